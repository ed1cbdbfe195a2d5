//! Bytes to text: UTF-8 where it is, a declared or recognised Japanese or other East Asian encoding where it is
//! not, and never a guess that would show garbled letters.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE,
};
use thiserror::Error;

use crate::problem::Note;

/// Text, and what was odd about its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Without byte order mark and NUL; lines end with `\n`.
    pub(crate) text: String,
    pub(crate) notes: Vec<Note>,
}

/// Bytes that are no text we can show.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum DecodeError {
    #[error("looks like {0}, not text")]
    Binary(&'static str),
    #[error("is not UTF-8 (it looks like {0}); save it as UTF-8")]
    Unreadable(&'static str),
}

/// A text with more NULs than one in this many bytes is binary.
const BYTES_PER_NUL: usize = 100;

/// So many broken places are taken for accidents in UTF-8 text; beyond them (and beyond one in
/// [`BYTES_PER_ACCIDENT`] bytes) the file is in another encoding.
const ACCIDENTS: usize = 16;
const BYTES_PER_ACCIDENT: usize = 1_000;

/// What HTML's own rule allows for a declaration of the encoding ("prescan a byte stream", 1,024 bytes).
const PRESCAN: usize = 1024;

/// Decodes a page; `declares` says whether its format can declare an encoding in a `<meta>` element.
///
/// # Errors
/// [`DecodeError`] when the bytes are binary or in an encoding that cannot be told for sure.
pub(crate) fn decode(bytes: &[u8], declares: bool) -> Result<Decoded, DecodeError> {
    if let Some(kind) = magic(bytes) {
        return Err(DecodeError::Binary(kind));
    }
    let mut notes = Vec::new();
    let text = match marked(bytes) {
        Some((encoding, rest)) => lenient(encoding, rest, &mut notes),
        None => unmarked(bytes, declares, &mut notes)?,
    };
    Ok(Decoded { text: tidy(&text, &mut notes), notes })
}

/// The kind of a file that tells it by its first bytes.
fn magic(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 7] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"%PDF-", "a PDF document"),
        (b"\x7fELF", "a program"),
    ];
    KINDS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, kind)| *kind)
}

/// The encoding a byte order mark names, and the bytes after the mark.
fn marked(bytes: &[u8]) -> Option<(&'static Encoding, &[u8])> {
    let (encoding, length) = Encoding::for_bom(bytes)?;
    let rest = bytes.get(length..)?;
    // FF FE at the head of ASCII text are broken bytes, not a mark: UTF-16 of any text has NULs or an even length.
    let plausible = encoding == UTF_8 || rest.len().is_multiple_of(2);
    plausible.then_some((encoding, rest))
}

fn unmarked(bytes: &[u8], declares: bool, notes: &mut Vec<Note>) -> Result<String, DecodeError> {
    let nuls = bytes.iter().filter(|&&byte| byte == 0).count();
    if nuls > bytes.len() / BYTES_PER_NUL && nuls > 2 {
        return Err(match utf16_without_mark(bytes) {
            Some(encoding) => DecodeError::Unreadable(encoding.name()),
            None => DecodeError::Binary("binary data"),
        });
    }
    match std::str::from_utf8(bytes) {
        // ISO-2022-JP is made of ASCII bytes, so it passes for UTF-8.
        Ok(_) if shifts_to_japanese(bytes) => {
            strict(ISO_2022_JP, bytes, notes).ok_or(DecodeError::Unreadable(ISO_2022_JP.name()))
        }
        Ok(text) => Ok(text.to_owned()),
        Err(_) => legacy(bytes, declares, notes),
    }
}

/// Which byte of each pair is NUL tells UTF-16 of mostly Latin text.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let nuls_at = |offset| bytes.iter().skip(offset).step_by(2).filter(|&&byte| byte == 0).count();
    let enough = bytes.len() / 4;
    match (nuls_at(0), nuls_at(1)) {
        (0, odd) if odd > enough => Some(UTF_16LE),
        (even, 0) if even > enough => Some(UTF_16BE),
        _ => None,
    }
}

/// Whether an escape sequence of ISO-2022-JP (RFC 1468) selects a Japanese character set.
fn shifts_to_japanese(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|window| matches!(window, b"\x1b$B" | b"\x1b$@"))
}

/// Bytes that are not UTF-8: as declared, as recognised, or UTF-8 with accidents.
fn legacy(bytes: &[u8], declares: bool, notes: &mut Vec<Note>) -> Result<String, DecodeError> {
    if declares
        && let Some(text) = declared(bytes).and_then(|encoding| strict(encoding, bytes, notes))
    {
        return Ok(text);
    }
    let guess = guess(bytes);
    // A multi-byte encoding that holds for the whole file is no coincidence; every byte string is valid in most of
    // the single-byte ones, so those are believed only where the page declares them.
    if [SHIFT_JIS, EUC_JP, EUC_KR, GBK, GB18030, BIG5].contains(&guess)
        && let Some(text) = strict(guess, bytes, notes)
    {
        return Ok(text);
    }
    let broken = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    if broken > ACCIDENTS && broken > bytes.len() / BYTES_PER_ACCIDENT {
        return Err(DecodeError::Unreadable(guess.name()));
    }
    Ok(lenient(UTF_8, bytes, notes))
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// The encoding named by `charset=` in the head of an HTML page.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..PRESCAN).unwrap_or(bytes).to_ascii_lowercase();
    let start = head.windows(8).position(|window| window == b"charset=")? + 8;
    let label: Vec<u8> = head
        .get(start..)?
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.')
        })
        .collect();
    Encoding::for_label(&label).filter(|&encoding| encoding != UTF_8)
}

/// The text, if every byte is valid in `encoding`.
fn strict(encoding: &'static Encoding, bytes: &[u8], notes: &mut Vec<Note>) -> Option<String> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned();
    notes.push(Note::on_page(format!("read as {}; UTF-8 would be safer", encoding.name())));
    Some(text)
}

/// The text with U+FFFD for what is broken.
fn lenient(encoding: &'static Encoding, bytes: &[u8], notes: &mut Vec<Note>) -> String {
    let (text, broken) = encoding.decode_without_bom_handling(bytes);
    if broken {
        let before = text.split('\u{fffd}').next().unwrap_or_default();
        let line = u32::try_from(before.lines().count().max(1)).unwrap_or(u32::MAX);
        notes.push(Note::at(
            line,
            format!("not valid {}; broken bytes are replaced", encoding.name()),
        ));
    }
    text.into_owned()
}

/// One form of line end, and no NUL.
fn tidy(text: &str, notes: &mut Vec<Note>) -> String {
    if text.contains('\0') {
        notes.push(Note::on_page("holds NUL characters; they are left out"));
    }
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAPANESE: &str =
        "# パスワードを変更する\n\n設定を開き、「パスワードの変更」を押します。\n";

    #[track_caller]
    fn check(bytes: &[u8], expected: &Result<&str, DecodeError>) {
        let decoded = decode(bytes, false).map(|decoded| decoded.text);
        assert_eq!(decoded.as_deref(), expected.as_ref().map(|text| *text));
    }

    #[track_caller]
    fn notes(bytes: &[u8], declares: bool, expected: &[&str]) {
        let decoded = decode(bytes, declares).unwrap();
        let messages: Vec<_> = decoded.notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn utf8_is_read_as_it_is() {
        check(JAPANESE.as_bytes(), &Ok(JAPANESE));
        check(b"\xef\xbb\xbf---\n", &Ok("---\n"));
        check(b"", &Ok(""));
        notes(JAPANESE.as_bytes(), false, &[]);
    }

    #[test]
    fn utf16_is_read_with_its_mark_and_named_without() {
        let units: Vec<u16> = JAPANESE.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        check(&[b"\xff\xfe", little.as_slice()].concat(), &Ok(JAPANESE));
        check(&[b"\xfe\xff", big.as_slice()].concat(), &Ok(JAPANESE));
        let latin: Vec<u8> = "plain words".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check(&latin, &Err(DecodeError::Unreadable("UTF-16LE")));
    }

    #[test]
    fn japanese_encodings_are_recognised() {
        for encoding in [SHIFT_JIS, EUC_JP, ISO_2022_JP] {
            let (bytes, _, _) = encoding.encode(JAPANESE);
            check(&bytes, &Ok(JAPANESE));
            notes(&bytes, false, &[&format!("read as {}; UTF-8 would be safer", encoding.name())]);
        }
    }

    #[test]
    fn a_declared_encoding_is_believed_in_html_only() {
        let bytes = b"<meta charset=\"windows-1252\"><p>caf\xe9</p>";
        assert!(decode(bytes, true).unwrap().text.contains("café"));
        assert!(decode(bytes, false).unwrap().text.contains("caf\u{fffd}"));
    }

    #[test]
    fn a_few_broken_bytes_are_replaced_and_named_by_line() {
        let decoded = decode(b"one\ntwo \xff three\n", false).unwrap();
        assert_eq!(decoded.text, "one\ntwo \u{fffd} three\n");
        assert_eq!(decoded.notes.first().unwrap().line, Some(2));
    }

    #[test]
    fn a_single_byte_encoding_that_is_not_declared_is_refused_by_name() {
        let (bytes, _, _) = encoding_rs::WINDOWS_1251
            .encode("Чтобы изменить пароль, откройте настройки и нажмите кнопку");
        assert!(matches!(decode(&bytes, true), Err(DecodeError::Unreadable(_))));
    }

    #[test]
    fn binary_files_are_refused_by_kind() {
        check(b"\x89PNG\r\n\x1a\n....", &Err(DecodeError::Binary("a PNG image")));
        check(b"\x1f\x8b\x08....", &Err(DecodeError::Binary("a gzip archive")));
        check(&[0, 1, 2, 0, 0, 9, 0, 7, 0], &Err(DecodeError::Binary("binary data")));
    }

    #[test]
    fn a_stray_nul_is_left_out() {
        check(b"abc\0def\n", &Ok("abcdef\n"));
        notes(b"abc\0def\n", false, &["holds NUL characters; they are left out"]);
    }

    #[test]
    fn every_line_end_becomes_a_newline() {
        check(b"a\r\nb\rc\n\r\nd", &Ok("a\nb\nc\n\nd"));
    }
}
