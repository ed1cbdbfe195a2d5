//! Faults of connections, as opposed to replies.

use std::error::Error;
use std::io;
use std::time::Duration;

use domain::{Fault, FaultKind};

use crate::{ErrorKind, UpstreamError};

/// The fault that a failed exchange is. Another try may be luckier at once, but for TLS: certificates do not mend
/// themselves.
pub(crate) fn fault_of(error: reqwest::Error) -> Fault {
    // The address may hold a user's name and password.
    let error = error.without_url();
    let kind = kind_of(&error);
    let fault = Fault::new(FaultKind::Error, UpstreamError::new(kind, None, &chain(&error)));
    if kind == ErrorKind::Tls { fault } else { fault.passing(Duration::ZERO) }
}

fn kind_of(error: &reqwest::Error) -> ErrorKind {
    if causes(error).any(is_tls) {
        ErrorKind::Tls
    } else if error.is_connect() || error.is_dns() {
        ErrorKind::Unreachable
    } else {
        ErrorKind::Broken
    }
}

/// TLS errors travel inside of I/O errors, perhaps several deep, which do not name them as their source.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| error.source())
}

/// All causes in one line, each said once.
fn chain(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = causes(error).map(ToString::to_string).collect();
    words.dedup();
    words.join(": ")
}
