//! Reading bodies, no further than is sane.

use bytes::{Bytes, BytesMut};
use domain::{Fault, FaultKind};
use reqwest::Response;

use crate::transport::fault_of;
use crate::{ErrorKind, UpstreamError};

/// Bytes of a whole reply. A hundred vectors of 3,072 numbers, one number a line, take some 9 MB.
const LONGEST: usize = 32 << 20;

/// Bytes of an error's words.
pub(crate) const LONGEST_ERROR: usize = 64 << 10;

/// The whole body; `heard` is told when some of it has come.
pub(crate) async fn whole(mut response: Response, mut heard: impl FnMut()) -> Result<Bytes, Fault> {
    let mut read = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(fault_of)? {
        heard();
        if read.len() + chunk.len() > LONGEST {
            return Err(too_large());
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read.freeze())
}

/// The body, or the first `most` bytes of it.
pub(crate) async fn fill(response: &mut Response, most: usize) -> Result<Bytes, Fault> {
    let mut read = BytesMut::new();
    while read.len() < most {
        let Some(chunk) = response.chunk().await.map_err(fault_of)? else { break };
        read.extend_from_slice(&chunk);
    }
    read.truncate(most);
    Ok(read.freeze())
}

fn too_large() -> Fault {
    let message = format!("the reply is larger than {} MiB", LONGEST >> 20);
    Fault::new(FaultKind::Error, UpstreamError::new(ErrorKind::TooLarge, None, &message))
}
