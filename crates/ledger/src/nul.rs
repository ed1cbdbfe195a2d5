//! Texts without U+0000, which no text in Postgres can hold. Names of models come from elsewhere, and may hold anything.

const NUL_ESCAPE: &str = "\\u0000";

/// A text that every database takes.
pub(crate) fn text(text: &str) -> String {
    text.replace('\0', "")
}

/// JSON that Postgres' `jsonb` takes.
pub(crate) fn without_nul_escapes(json: &str) -> String {
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        kept.push_str(before);
        rest = escape.strip_prefix(NUL_ESCAPE).unwrap_or_else(|| {
            // The character after a backslash begins no escape of its own.
            let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
            let (other, after) = escape.split_at(end);
            kept.push_str(other);
            after
        });
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_nul_go_and_everything_else_stays() {
        let check = |json: &str, kept: &str| assert_eq!(without_nul_escapes(json), kept);
        check(r#"{"a": "b\n", "ü": []}"#, r#"{"a": "b\n", "ü": []}"#);
        check(r#"["a\u0000b\u0000", "\u0001"]"#, r#"["ab", "\u0001"]"#);
        check(r#"["\\u0000", "\\\u0000"]"#, r#"["\\u0000", "\\"]"#);
        check("\\", "\\");
        assert_eq!(text("a\0b"), "ab");
    }
}
