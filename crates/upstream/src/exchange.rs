//! [`Exchange`]: a streamed reply under way.

use std::fmt;

use bytes::Bytes;
use deadline::{Deadline, OutOfTime};
use domain::Fault;
use reqwest::Response;

use crate::transport::fault_of;
use crate::watch::Ticket;

/// A streamed reply under way. Dropping it closes the connection, or resets the stream, at once, and counts
/// as giving it up: whoever decodes the reply is to say how it [`succeeded`](Self::succeeded) or
/// [`failed`](Self::failed). A connection is used again only if the reply was read to its end.
pub struct Exchange {
    /// `None` once the exchange has failed.
    open: Option<Open>,
    deadline: Deadline,
}

struct Open {
    response: Response,
    ticket: Ticket,
}

impl Exchange {
    pub(crate) fn new(response: Response, deadline: Deadline, ticket: Ticket) -> Self {
        Self { open: Some(Open { response, ticket }), deadline }
    }

    /// The next bytes of the body; `None` at its end, and ever after a fault.
    ///
    /// # Errors
    ///
    /// A [`Fault`], which is in the accounts already: the connection broke, or the deadline passed.
    ///
    /// # Cancel safety
    ///
    /// No bytes are lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let read = match self.deadline.remaining().is_zero() {
            // Else a far side that always has more would never be cut.
            true => Err(OutOfTime),
            false => self.deadline.run(open.response.chunk()).await,
        };
        match read {
            Ok(Ok(Some(bytes))) => {
                open.ticket.heard();
                Ok(Some(bytes))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(self.broke(fault_of(error))),
            Err(out_of_time) => Err(self.broke(out_of_time.into())),
        }
    }

    /// The reply was whole, says whoever decoded it.
    pub fn succeeded(self) {
        if let Some(open) = self.open {
            open.ticket.succeeded();
        }
    }

    /// The reply was none: an error inside a stream that began well, or nonsense.
    pub fn failed(self, fault: &Fault) {
        if let Some(open) = self.open {
            open.ticket.failed(fault);
        }
    }

    /// Closes the connection at once, not when the caller comes to drop this.
    fn broke(&mut self, fault: Fault) -> Fault {
        match self.open.take() {
            Some(open) => open.ticket.failed_with(fault),
            None => fault,
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("is_open", &self.open.is_some()).finish_non_exhaustive()
    }
}
