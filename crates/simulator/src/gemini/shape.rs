//! Which members a request may have. Both spellings of a name are welcome, unknown names are not.

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// What a JSON value may look like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Not looked into.
    Any,
    Message(&'static [(&'static str, Shape)]),
    Repeated(&'static Shape),
}

use Shape::{Any, Message, Repeated};

const BLOB: Shape = Any;
const PART: Shape = Message(&[
    ("text", Any),
    ("thought", Any),
    ("thoughtSignature", Any),
    ("inlineData", BLOB),
    ("fileData", BLOB),
    ("functionCall", Any),
    ("functionResponse", Any),
    ("executableCode", Any),
    ("codeExecutionResult", Any),
    ("toolCall", Any),
    ("toolResponse", Any),
    ("videoMetadata", Any),
    ("mediaResolution", Any),
    ("partMetadata", Any),
]);
const CONTENT: Shape = Message(&[("role", Any), ("parts", Repeated(&PART))]);
const THINKING: Shape =
    Message(&[("thinkingLevel", Any), ("thinkingBudget", Any), ("includeThoughts", Any)]);
const CONFIG: Shape = Message(&[
    ("maxOutputTokens", Any),
    ("temperature", Any),
    ("topP", Any),
    ("topK", Any),
    ("stopSequences", Any),
    ("candidateCount", Any),
    ("seed", Any),
    ("responseMimeType", Any),
    ("responseSchema", Any),
    ("responseJsonSchema", Any),
    ("responseFormat", Any),
    ("thinkingConfig", THINKING),
    ("presencePenalty", Any),
    ("frequencyPenalty", Any),
    ("responseLogprobs", Any),
    ("logprobs", Any),
    ("responseModalities", Any),
    ("speechConfig", Any),
    ("imageConfig", Any),
    ("mediaResolution", Any),
    ("enableEnhancedCivicAnswers", Any),
]);
const SAFETY: Shape = Message(&[("category", Any), ("threshold", Any), ("method", Any)]);

/// A body of `generateContent`.
pub(super) const GENERATE: Shape = Message(&[
    ("model", Any),
    ("contents", Repeated(&CONTENT)),
    ("systemInstruction", CONTENT),
    ("generationConfig", CONFIG),
    ("safetySettings", Repeated(&SAFETY)),
    ("tools", Any),
    ("toolConfig", Any),
    ("cachedContent", Any),
    ("serviceTier", Any),
    ("store", Any),
    ("labels", Any),
]);

/// A body of `embedContent`.
pub(super) const EMBED: Shape = Message(&[
    ("model", Any),
    ("content", CONTENT),
    ("taskType", Any),
    ("title", Any),
    ("outputDimensionality", Any),
    ("autoTruncate", Any),
    ("embedContentConfig", Any),
]);

/// A body of `batchEmbedContents`.
pub(super) const BATCH_EMBED: Shape = Message(&[("requests", Repeated(&EMBED))]);

/// A body of `countTokens`.
pub(super) const COUNT_TOKENS: Shape = Message(&[
    ("model", Any),
    ("contents", Repeated(&CONTENT)),
    ("generateContentRequest", GENERATE),
    ("systemInstruction", CONTENT),
    ("tools", Any),
    ("generationConfig", CONFIG),
]);

/// Reads a body of `shape`: names in lower camel case, without members that are null.
///
/// # Errors
///
/// The refusal that names every unknown member.
pub(super) fn read(body: &[u8], shape: Shape) -> Result<Value, Refusal> {
    let mut value: Value = serde_json::from_slice(body).map_err(|error| {
        Refusal::invalid(format!("Invalid JSON payload received. Unexpected token.\n{error}"))
    })?;
    let mut violations = Vec::new();
    normalize(&mut value, shape, "", &mut violations);
    if violations.is_empty() { Ok(value) } else { Err(Refusal::invalid_fields(&violations)) }
}

fn normalize(value: &mut Value, shape: Shape, path: &str, violations: &mut Vec<(String, String)>) {
    match (shape, value) {
        (Any, _) => {}
        (Message(members), Value::Object(object)) => {
            normalize_members(object, members, path, violations);
        }
        (Repeated(shape), Value::Array(values)) => {
            for (index, value) in values.iter_mut().enumerate() {
                normalize(value, *shape, &format!("{path}[{index}]"), violations);
            }
        }
        (Repeated(shape), value @ Value::Object(_)) => {
            // One message where several may be is taken for a list of one.
            normalize(value, *shape, path, violations);
            *value = Value::Array(vec![value.take()]);
        }
        (Message(_) | Repeated(_), value) => {
            violations.push((path.to_owned(), format!("Invalid value at '{path}', {value}")));
        }
    }
}

fn normalize_members(
    object: &mut Map<String, Value>,
    members: &[(&'static str, Shape)],
    path: &str,
    violations: &mut Vec<(String, String)>,
) {
    for (name, mut value) in std::mem::take(object) {
        let camel = camel_case(&name);
        let Some((known, shape)) = members.iter().find(|(known, _)| *known == camel) else {
            violations.push((path.to_owned(), unknown(&name, path)));
            continue;
        };
        if !value.is_null() {
            normalize(&mut value, *shape, &below(path, known), violations);
            object.insert((*known).to_owned(), value);
        }
    }
}

fn unknown(name: &str, path: &str) -> String {
    let place = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
    format!("Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field.")
}

/// The path of a member, in snake case as the API has it.
fn below(path: &str, member: &str) -> String {
    let separator = if path.is_empty() { "" } else { "." };
    format!("{path}{separator}{}", snake_case(member))
}

fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, c| {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        snake
    })
}

fn camel_case(name: &str) -> String {
    let mut words = name.trim_start_matches('_').split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |camel, word| {
        let mut characters = word.chars();
        let initial = characters.next().map(|c| c.to_ascii_uppercase());
        camel + &initial.into_iter().chain(characters).collect::<String>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_nulls_are_nothing() {
        let body = r#"{"contents": [{"parts": [{"text": "a"}]}], "system_instruction": {"parts": {"text": "s"}},
            "generationConfig": {"max_output_tokens": 5, "thinkingConfig": {"thinking_level": "LOW"}}, "toolConfig": null}"#;
        let value = read(body.as_bytes(), GENERATE).unwrap();
        assert_eq!(value["generationConfig"]["maxOutputTokens"], 5);
        assert_eq!(value["generationConfig"]["thinkingConfig"]["thinkingLevel"], "LOW");
        assert_eq!(value["systemInstruction"]["parts"][0]["text"], "s");
        assert!(value.get("toolConfig").is_none());
    }

    #[test]
    fn unknown_members_are_named_with_their_place() {
        let body = r#"{"contents": [], "x": 1, "generationConfig": {"includeThoughts": true}}"#;
        let refusal = read(body.as_bytes(), GENERATE).unwrap_err();
        let expected = "Invalid JSON payload received. Unknown name \"includeThoughts\" at 'generation_config': \
                        Cannot find field.\nInvalid JSON payload received. Unknown name \"x\": Cannot find field.";
        assert_eq!((refusal.code, refusal.message.as_str()), (400, expected));
        assert_eq!(refusal.details[0]["fieldViolations"][0]["field"], "generation_config");
    }

    #[test]
    fn what_is_not_json_or_not_of_the_shape_is_refused() {
        assert!(read(b"{", GENERATE).is_err());
        assert!(read(br#"{"contents": "hi"}"#, GENERATE).is_err());
        assert!(read(b"[]", GENERATE).is_err());
    }
}
