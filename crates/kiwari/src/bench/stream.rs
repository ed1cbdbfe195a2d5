//! [`Events`]: an event stream taken apart as it arrives, and held to what was promised of it.

use serde::Deserialize;
use thiserror::Error;

use super::reply::{Body, Reply};

/// A stream so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    name: String,
    data: String,
    /// The text so far.
    text: String,
    /// What `done` said.
    done: Option<Reply>,
}

/// A stream that breaks its grammar.
#[derive(Debug, Error)]
pub(crate) enum BrokenStream {
    #[error("event {name} cannot be read")]
    Unreadable { name: String, source: serde_json::Error },
    #[error("the stream ended without done")]
    Unfinished,
    #[error("event {0} came after done")]
    AfterDone(String),
    #[error("the streamed text is not the answer's")]
    OtherText,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

impl Events {
    /// Whether any text has come.
    pub(crate) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes what has arrived.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), BrokenStream> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(String::from_utf8_lossy(line.trim_ascii_end()).as_ref())?;
            }
        }
        Ok(())
    }

    /// The answer, once the stream has ended.
    pub(crate) fn finish(self) -> Result<Reply, BrokenStream> {
        self.done.ok_or(BrokenStream::Unfinished)
    }

    fn take_line(&mut self, line: &str) -> Result<(), BrokenStream> {
        if line.is_empty() {
            return self.take_event();
        }
        match line.split_once(':') {
            Some(("event", name)) => name.trim_start().clone_into(&mut self.name),
            Some(("data", data)) => self.data.push_str(data),
            // Comments keep the connection alive; other fields are none of ours.
            Some(_) | None => {}
        }
        Ok(())
    }

    fn take_event(&mut self) -> Result<(), BrokenStream> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if name.is_empty() {
            return Ok(());
        }
        if self.done.is_some() {
            return Err(BrokenStream::AfterDone(name));
        }
        let unreadable = |source| BrokenStream::Unreadable { name: name.clone(), source };
        match name.as_str() {
            "delta" => self.text.push_str(&text(&data).map_err(unreadable)?),
            "replace" => self.text = text(&data).map_err(unreadable)?,
            "done" => {
                let body = Body::read(data.as_bytes()).map_err(unreadable)?;
                if body.answer.text != self.text {
                    return Err(BrokenStream::OtherText);
                }
                self.done = Some(body.reply());
            }
            _ => {}
        }
        Ok(())
    }
}

fn text(data: &str) -> serde_json::Result<String> {
    serde_json::from_str::<Text>(data).map(|text| text.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::reply::tests::BODY;

    fn done() -> String {
        format!("event: done\ndata: {}\n\n", BODY.replace('\n', ""))
    }

    /// The stream in pieces of every size.
    #[track_caller]
    fn check(stream: &str, expected: Result<(), &str>) {
        for size in 1..60 {
            let mut events = Events::default();
            let mut pieces = stream.as_bytes().chunks(size);
            let taken = pieces.try_for_each(|piece| events.take(piece));
            let came = taken.and_then(|()| events.finish()).map(|reply| reply.kind);
            let came = came.as_deref().map_err(ToString::to_string);
            assert_eq!(came, expected.map(|()| "templated").map_err(str::to_owned), "{size}");
        }
    }

    #[test]
    fn sentences_add_up_to_the_answer() {
        let start = "event: sources\ndata: {\"citations\": []}\n\n: still here\n\n";
        let first = "event: delta\ndata: {\"text\": \"Say \\\"a\\\". \"}\n\n";
        let last = "event: delta\r\ndata: {\"text\": \"[1]\"}\r\n\r\n";
        check(&format!("{start}{first}{last}{}", done()), Ok(()));
        let other = BrokenStream::OtherText.to_string();
        check(&format!("{start}{first}{}", done()), Err(&other));
        let replace = "event: replace\ndata: {\"text\": \"Say \\\"a\\\". [1]\"}\n\n";
        check(&format!("{start}{first}{replace}{}", done()), Ok(()));
        check(&format!("{start}{first}{last}"), Err("the stream ended without done"));
        let twice = format!("{replace}{}{}", done(), done());
        check(&twice, Err("event done came after done"));
        check("event: delta\ndata: {}\n\n", Err("event delta cannot be read"));
    }
}
