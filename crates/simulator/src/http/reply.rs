//! What a reply will be, moment by moment, before any of it is sent.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use crate::faults::{Fault, FaultKind};
use crate::journal::Decoding;

pub(crate) const JSON: &str = "application/json; charset=UTF-8";
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const HTML: &str = "text/html; charset=UTF-8";

/// What happens to a call.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The connection is closed without a byte.
    Refuse,
    /// Nothing ever comes.
    Hang,
    Send(Outline),
}

/// A reply with its times, which count from the call's beginning.
#[derive(Debug)]
pub(crate) struct Outline {
    /// When status and headers leave.
    pub(crate) after: Duration,
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) steps: Vec<Step>,
    /// For a reply in one piece: how far it is before it is sent.
    pub(crate) decoding: Option<Decoding>,
}

/// One thing that happens to the body.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) act: Act,
}

#[derive(Debug)]
pub(crate) enum Act {
    /// Sends bytes, with which `tokens` in all have been written.
    Send { bytes: Bytes, tokens: u32 },
    /// Nothing happens any more.
    Stall,
    /// The connection (with HTTP/2 the stream) is given up: reset, or closed.
    Break { reset: bool },
}

impl Outline {
    /// A reply in one piece, sent `after` the call's beginning.
    pub(crate) fn whole(
        after: Duration,
        status: u16,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        let step = Step { at: after, act: Act::Send { bytes: body.into(), tokens: 0 } };
        let (headers, steps) = (Vec::new(), vec![step]);
        Self { after, status, content_type, headers, steps, decoding: None }
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).ok();
        self.headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        self
    }

    /// The same, of a generation that is decoded while nothing is sent.
    pub(crate) fn decoded(mut self, decoding: Decoding) -> Self {
        if let Some(Step { act: Act::Send { tokens, .. }, .. }) = self.steps.first_mut() {
            *tokens = decoding.tokens;
        }
        Self { decoding: Some(decoding), ..self }
    }

    /// This reply, one piece of JSON, after `fault`'s hand has been in it. Faults that are about an answer's
    /// content have had their way before.
    pub(crate) fn spoiled(mut self, fault: Option<&Fault>) -> Reply {
        let kind = fault.map(|fault| fault.kind);
        let then = match kind {
            Some(FaultKind::StallMidstream) => Some(Act::Stall),
            Some(FaultKind::ResetMidstream) => Some(Act::Break { reset: true }),
            Some(FaultKind::MidstreamClose) => Some(Act::Break { reset: false }),
            _ => None,
        };
        let is_torn = matches!(kind, Some(FaultKind::EofWithoutFinish | FaultKind::MalformedJson));
        if is_torn || then.is_some() {
            self.halve();
        }
        let at = self.after;
        self.steps.extend(then.map(|act| Step { at, act }));
        self.met_by(fault)
    }

    /// This reply, or what is left of it after a fault that spares no kind of reply.
    pub(crate) fn met_by(mut self, fault: Option<&Fault>) -> Reply {
        let Some(fault) = fault else { return Reply::Send(self) };
        self.postpone(fault.delay());
        if fault.kind == FaultKind::Refused {
            return Reply::Refuse;
        }
        if fault.kind == FaultKind::HangBeforeHeaders {
            return Reply::Hang;
        }
        if fault.kind == FaultKind::HangAfterHeaders {
            self.steps = vec![Step { at: self.after, act: Act::Stall }];
            self.decoding = None;
        }
        Reply::Send(self)
    }

    /// Everything happens later by `delay`.
    pub(crate) fn postpone(&mut self, delay: Duration) {
        self.after += delay;
        self.steps.iter_mut().for_each(|step| step.at += delay);
    }

    /// Cuts the only piece in the middle.
    fn halve(&mut self) {
        if let Some(Step { act: Act::Send { bytes, tokens }, .. }) = self.steps.first_mut() {
            bytes.truncate(bytes.len() / 2);
            *tokens /= 2;
        }
    }
}
