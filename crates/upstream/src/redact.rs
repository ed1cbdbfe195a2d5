//! Keeps what was sent out of what is logged: some servers quote the request in their errors.

use std::collections::HashSet;

use serde_json::Value;

/// As many bytes in common with a sent text are a quotation; five or six characters of Japanese.
const QUOTATION: usize = 16;

/// `message` without the passages that it has in common with the texts of the JSON that was `sent`.
pub(crate) fn redact(message: &str, sent: &[u8]) -> String {
    let Ok(sent) = serde_json::from_slice::<Value>(sent) else { return message.to_owned() };
    let mut texts = Vec::new();
    collect(&sent, &mut texts);
    let mut hidden = vec![false; message.len()];
    hide_quotations(message.as_bytes(), &texts, &mut hidden);
    hide_short_texts(message, &texts, &mut hidden);
    without(message, &hidden)
}

/// Strings that people wrote; not names of models and options, which belong in a message.
fn collect<'a>(json: &'a Value, texts: &mut Vec<&'a str>) {
    match json {
        Value::String(text) if is_written(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_written(text: &str) -> bool {
    let in_names = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    !text.chars().all(in_names)
}

fn hide_quotations(message: &[u8], texts: &[&str], hidden: &mut [bool]) {
    let wanted: HashSet<&[u8]> = message.windows(QUOTATION).collect();
    let windows = texts.iter().flat_map(|text| text.as_bytes().windows(QUOTATION));
    let common: HashSet<&[u8]> = windows.filter(|window| wanted.contains(window)).collect();
    for (start, window) in message.windows(QUOTATION).enumerate() {
        if common.contains(window) {
            hidden[start..start + QUOTATION].fill(true);
        }
    }
}

fn hide_short_texts(message: &str, texts: &[&str], hidden: &mut [bool]) {
    let short =
        texts.iter().map(|text| text.trim()).filter(|text| (4..QUOTATION).contains(&text.len()));
    for (start, text) in short.flat_map(|text| message.match_indices(text)) {
        hidden[start..start + text.len()].fill(true);
    }
}

/// Each hidden stretch becomes one ellipsis. A character of which only some bytes match is none of the quotation.
fn without(message: &str, hidden: &[bool]) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut hiding = false;
    for (start, c) in message.char_indices() {
        let hide = !hidden[start..start + c.len_utf8()].contains(&false);
        match (hide, hiding) {
            (false, _) => kept.push(c),
            (true, false) => kept.push('…'),
            (true, true) => {}
        }
        hiding = hide;
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(sent: &str, message: &str, expected: &str) {
        let body = json!({"model": "models/a-long-model-name", "contents": [{"text": sent}]});
        assert_eq!(redact(message, body.to_string().as_bytes()), expected);
    }

    #[test]
    fn quotations_of_what_was_sent_are_left_out() {
        let sent = "My card 4111 1111 was declined, why?";
        check(sent, "bad input 'card 4111 1111 was declined' at 3", "bad input '…' at 3");
        check(
            "返金の方法を教えてください",
            "入力「返金の方法を教えて」が不正です",
            "入力「…」が不正です",
        );
        check("pay bill", "cannot read 'pay bill'", "cannot read '…'");
    }

    #[test]
    fn names_and_the_far_sides_own_words_stay() {
        let message = "models/a-long-model-name is not found for API version v1beta";
        check("Why is my model so slow today?", message, message);
        assert_eq!(redact("as it is", b"not json"), "as it is");
    }
}
