//! A generation as a stream, in any dialect, with whatever goes wrong in the middle of it.

use std::time::Duration;

use bytes::Bytes;

use crate::faults::{Fault, FaultKind};
use crate::generation::{Performance, is_midstream};
use crate::http::{Act, Outline, Step};

/// How a dialect writes the pieces of a stream.
pub(crate) trait Voice {
    fn content_type(&self) -> &'static str;
    /// What comes before everything else, at the moment of the first piece.
    fn opening(&self, performance: &Performance) -> Option<Bytes>;
    /// A piece; the last one may carry the ending.
    fn piece(&self, performance: &Performance, index: usize, is_last: bool) -> Bytes;
    /// What follows the last piece of a reply that ends in order.
    fn closing(&self, performance: &Performance) -> Option<Bytes>;
    /// An error in the middle: as an event, or as itself.
    fn error(&self, as_event: bool) -> Bytes;
    /// What breaks off in the middle of its JSON.
    fn torn(&self) -> Bytes;
}

/// The stream of `performance`, with what `fault` does to it.
pub(crate) fn stream(
    voice: &impl Voice,
    performance: &Performance,
    fault: Option<&Fault>,
) -> Outline {
    let kind = fault.map(|fault| fault.kind);
    let count = performance.pieces.len();
    let breaks = is_midstream(kind);
    let sent = match fault {
        Some(fault) if breaks => fault.after_chunks.min(count.saturating_sub(1)),
        _ => count,
    };
    let mut steps = Steps { steps: Vec::new(), written: performance.thoughts };
    let first = performance.first;
    if kind == Some(FaultKind::MalformedJson) {
        steps.send(first, voice.torn());
        return steps.outline(first, voice.content_type());
    }
    steps.extend(first, voice.opening(performance));
    for (index, piece) in performance.pieces.iter().take(sent).enumerate() {
        steps.written = performance.thoughts + piece.tokens;
        steps.send(piece.at, voice.piece(performance, index, index + 1 == count));
    }
    let then = performance.pieces.get(sent).map_or(performance.end, |piece| piece.at);
    match kind {
        Some(FaultKind::StallMidstream) => steps.push(then, Act::Stall),
        Some(FaultKind::ResetMidstream) => steps.push(then, Act::Break { reset: true }),
        Some(FaultKind::MidstreamClose) => steps.push(then, Act::Break { reset: false }),
        Some(FaultKind::MidstreamErrorRaw) => steps.send(then, voice.error(false)),
        Some(FaultKind::MidstreamErrorEvent) => steps.send(then, voice.error(true)),
        Some(FaultKind::EofWithoutFinish) => {}
        _ => steps.extend(then, voice.closing(performance)),
    }
    steps.outline(first, voice.content_type())
}

/// Steps being put together.
struct Steps {
    steps: Vec<Step>,
    written: u32,
}

impl Steps {
    fn push(&mut self, at: Duration, act: Act) {
        self.steps.push(Step { at, act });
    }

    fn send(&mut self, at: Duration, bytes: Bytes) {
        let tokens = self.written;
        self.push(at, Act::Send { bytes, tokens });
    }

    fn extend(&mut self, at: Duration, bytes: Option<Bytes>) {
        if let Some(bytes) = bytes {
            self.send(at, bytes);
        }
    }

    fn outline(self, after: Duration, content_type: &'static str) -> Outline {
        let (headers, decoding) = (Vec::new(), None);
        Outline { after, status: 200, content_type, headers, steps: self.steps, decoding }
    }
}
