//! Tags of page templates (Liquid, Jinja): removed, because without the site's own program they mean nothing to a
//! reader. What they would include is never read.

use std::borrow::Cow;

const MARKS: [(&str, &str); 2] = [("{%", "%}"), ("{{", "}}")];

/// The length of the template tag that `text` begins with.
pub(crate) fn tag_length(text: &str) -> Option<usize> {
    let (open, close) = MARKS.into_iter().find(|(open, _)| text.starts_with(open))?;
    let inside = text.get(open.len()..)?;
    Some(open.len() + inside.find(close)? + close.len())
}

/// `text` without its template tags.
pub(crate) fn strip(text: &str) -> Cow<'_, str> {
    if !MARKS.iter().any(|(open, _)| text.contains(open)) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, tag) = rest.split_at(start);
        kept.push_str(before);
        // A tag that is opened and never closed ends the search: looking again from every brace would be quadratic.
        let opens = MARKS.iter().any(|(open, _)| tag.starts_with(open));
        match tag_length(tag) {
            Some(length) => rest = tag.get(length..).unwrap_or_default(),
            None if opens => return Cow::Owned(kept + tag),
            None => {
                kept.push('{');
                rest = tag.get(1..).unwrap_or_default();
            }
        }
    }
    Cow::Owned(kept + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_and_text_stays() {
        for (text, expected) in [
            ("a {% include ../x.md %}b {{ page.title | upcase }}c", "a b c"),
            ("plain { braces } stay", "plain { braces } stay"),
            ("open {{ without end", "open {{ without end"),
            ("{%a%}{{b}}", ""),
            ("設定{{x}}画面", "設定画面"),
        ] {
            assert_eq!(strip(text), expected);
        }
    }
}
