//! [`Documents`]: the documents in a stream of bytes, however the bytes are split.

use super::ReplyError;
use super::json_end::JsonEnd;

/// The longest line or event that is read. A chunk of an answer has some hundred bytes, a whole answer with its
/// metadata some ten thousand.
const LONGEST: usize = 1 << 20;

/// Takes a body apart into the documents in it.
///
/// A document is the data of a server-sent event; or a JSON text that simply stands in the stream, which is how
/// some front ends report an error once events have begun. Lines end with LF or CRLF. Comments, other fields of
/// events and a byte order mark are passed over.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// Bytes of a line that has not ended.
    line: Vec<u8>,
    /// Of `line`, what has been searched for its end.
    searched: usize,
    /// The event under way: its data lines so far.
    data: Option<String>,
    /// The JSON text under way, which is no event.
    stray: Option<(String, JsonEnd)>,
    begun: bool,
}

impl Documents {
    /// Takes in the next bytes and appends the documents that are whole with them.
    ///
    /// # Errors
    ///
    /// [`ReplyError::NotUtf8`] or [`ReplyError::TooLong`]; what follows is of no use then.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<String>) -> Result<(), ReplyError> {
        self.line.extend_from_slice(bytes);
        let buffered = std::mem::take(&mut self.line);
        let mut rest = buffered.as_slice();
        let mut skip = std::mem::take(&mut self.searched);
        while let Some(end) = rest.iter().skip(skip).position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(skip + end);
            self.take_line(line, out)?;
            rest = after.get(1..).unwrap_or_default();
            skip = 0;
        }
        bounded(rest.len())?;
        self.line = rest.to_vec();
        self.searched = self.line.len();
        Ok(())
    }

    /// The body is over: appends a document that only lacks its line end. One that is not whole is dropped.
    ///
    /// # Errors
    ///
    /// [`ReplyError::NotUtf8`] or [`ReplyError::TooLong`].
    pub(crate) fn end(&mut self, out: &mut Vec<String>) -> Result<(), ReplyError> {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line, out)?;
        let whole = |data: &String| serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
        out.extend(self.data.take().filter(whole));
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<String>) -> Result<(), ReplyError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| ReplyError::NotUtf8)?;
        let line = if self.begun { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        self.begun = true;
        if self.stray.is_some() || line.trim_start().starts_with(['{', '[']) {
            return self.take_stray(line, out);
        }
        match line.split_once(':') {
            _ if line.is_empty() => out.extend(self.data.take()),
            Some(("data", data)) => self.take_data(data.strip_prefix(' ').unwrap_or(data))?,
            Some(_) | None => {}
        }
        Ok(())
    }

    fn take_data(&mut self, data: &str) -> Result<(), ReplyError> {
        match &mut self.data {
            Some(event) => {
                bounded(event.len() + data.len())?;
                event.push('\n');
                event.push_str(data);
            }
            None => self.data = Some(data.to_owned()),
        }
        Ok(())
    }

    fn take_stray(&mut self, line: &str, out: &mut Vec<String>) -> Result<(), ReplyError> {
        // Whatever event was under way is over.
        out.extend(self.data.take());
        let (text, end) = self.stray.get_or_insert_default();
        bounded(text.len() + line.len())?;
        text.push_str(line);
        text.push('\n');
        if end.reached(line) {
            out.extend(self.stray.take().map(|(text, _)| text));
        }
        Ok(())
    }
}

fn bounded(length: usize) -> Result<(), ReplyError> {
    if length > LONGEST { Err(ReplyError::TooLong { limit: LONGEST }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut documents, mut out) = (Documents::default(), Vec::new());
        for piece in pieces {
            documents.push(piece, &mut out).unwrap();
        }
        documents.end(&mut out).unwrap();
        out
    }

    #[track_caller]
    fn check(body: &str, expected: &[&str]) {
        assert_eq!(read(&[body.as_bytes()]), expected, "{body:?}");
    }

    #[test]
    fn events_are_read_as_different_servers_write_them() {
        check("data: {\"a\":1}\r\n\r\ndata: {\"b\":2}\r\n\r\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("data:{\"a\":1}\n\ndata:  x\n\n", &["{\"a\":1}", " x"]);
        check("\u{feff}data: 1\n\n", &["1"]);
        check(": keep-alive\n\nevent: message\nid: 7\nretry: 3\ndata: 1\n\n", &["1"]);
        check("data: {\ndata:  \"a\": 1}\n\n", &["{\n \"a\": 1}"]);
        check("data\n\ndata: [DONE]\n\n", &["[DONE]"]);
        check("<html>\n<p>data: no</p>\n", &[]);
        check("", &[]);
    }

    #[test]
    fn a_body_may_end_without_a_line_end_but_not_within_a_document() {
        check("data: {\"a\":1}\n\ndata: {\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]);
        check("data: {\"a\":1}\n\ndata: {\"b\":", &["{\"a\":1}"]);
        check("data: {\"a\":1}\n\n{\n \"error\": {", &["{\"a\":1}"]);
    }

    #[test]
    fn json_between_events_is_a_document_of_its_own() {
        let error =
            "{\n  \"error\": {\n    \"message\": \"a } \\\" {\",\n    \"code\": 503\n  }\n}\n";
        check(&format!("data: 1\r\n\r\n{}", error.replace('\n', "\r\n")), &["1", error]);
        check(&format!("data: 1\n{error}data: 2\n\n"), &["1", error, "2"]);
        check(&format!("[{error}]\n\n"), &[&format!("[{error}]\n")]);
        check(error.trim_end(), &[error]);
    }

    #[test]
    fn a_line_or_event_without_end_is_given_up() {
        let endless = [b'x'; 4096];
        for start in ["data: ", "data: 1\ndata: ", "{\"a\": \"", ": "] {
            let (mut documents, mut out) = (Documents::default(), Vec::new());
            documents.push(start.as_bytes(), &mut out).unwrap();
            let gave_up = (0..300).any(|_| documents.push(&endless, &mut out).is_err());
            assert!(gave_up && out.is_empty(), "{start:?}");
        }
        let (mut documents, mut out) = (Documents::default(), Vec::new());
        let line = [b"data: ".as_slice(), &endless, b"\n"].concat();
        assert!((0..300).any(|_| documents.push(&line, &mut out).is_err()) && out.is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let mut documents = Documents::default();
        let outcome = documents.push(b"data: \xff\n\n", &mut Vec::new());
        assert!(matches!(outcome, Err(ReplyError::NotUtf8)));
    }

    proptest! {
        #[test]
        fn documents_do_not_depend_on_how_the_bytes_are_split(
            body in "(data: ?\\{\"t\":\"[あé🙂a\\\\\"]{0,4}\"\\}|data: x|: c|\\{\\}|\\[\n|\\{|\\}|\"|\r|\r?\n|\r?\n\r?\n|\u{feff}){0,12}",
            cuts in prop::collection::vec(0_usize..200, 0..12),
        ) {
            let bytes = body.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
            let single: Vec<_> = bytes.chunks(1).collect();
            prop_assert_eq!(read(&single), read(&[bytes]));
        }
    }
}
