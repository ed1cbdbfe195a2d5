//! Reading questions: plain lines, tab-separated columns, or JSON lines.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;

/// The columns or fields that may hold the question, the better name first.
const NAMES: [&str; 2] = ["question", "text"];

#[derive(Deserialize)]
struct Line {
    question: Option<String>,
    text: Option<String>,
}

/// The questions of `path`, in its order; its ending says in which form they are.
///
/// # Errors
///
/// A file that cannot be read or holds none, and the first line that holds none, by its number.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let questions = match extension {
        Some("tsv") => tab_separated(&text),
        Some("jsonl" | "ndjson") => lines(&text).map(json_line).collect(),
        Some(_) | None => lines(&text).map(|(_, line)| Ok(line.trim().to_owned())).collect(),
    };
    let questions = questions.map_err(|error| anyhow!("{name}:{error}"))?;
    if questions.is_empty() {
        bail!("{name} holds no question");
    }
    Ok(questions)
}

/// The lines that hold anything, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

fn json_line((number, line): (usize, &str)) -> Result<String, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| format!("{number}: {error}"))?;
    let question = line.question.or(line.text);
    let [first, second] = NAMES;
    filled(question.as_deref())
        .ok_or_else(|| format!("{number}: neither {first:?} nor {second:?} holds a question"))
}

/// The first line names the columns.
fn tab_separated(text: &str) -> Result<Vec<String>, String> {
    let mut lines = lines(text);
    let Some((number, head)) = lines.next() else { return Ok(Vec::new()) };
    let columns: Vec<&str> = head.split('\t').map(str::trim).collect();
    let place = NAMES.iter().find_map(|name| columns.iter().position(|column| column == name));
    let place = place.ok_or_else(|| format!("{number}: no column is called question or text"))?;
    lines
        .map(|(number, line)| {
            filled(line.split('\t').nth(place))
                .ok_or_else(|| format!("{number}: column {} holds no question", place + 1))
        })
        .collect()
}

fn filled(question: Option<&str>) -> Option<String> {
    question.map(str::trim).filter(|question| !question.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(name: &str, text: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(name: &str, text: &str, expected: &[&str]) {
        assert_eq!(read_as(name, text).unwrap(), expected, "{name}");
    }

    #[track_caller]
    fn refused(name: &str, text: &str, place: &str) {
        let error = read_as(name, text).unwrap_err();
        assert!(error.contains(&format!("{name}{place}")), "{error}");
    }

    #[test]
    fn every_form_is_read() {
        check("q.txt", "\u{feff}How?\r\n\n 何ですか \n", &["How?", "何ですか"]);
        check("q", "a\tb\n", &["a\tb"]);
        check("q.tsv", "id\tquestion\tlang\n1\tHow?\ten\n\n2\tWhy?\n", &["How?", "Why?"]);
        check("q.tsv", "text\tquestion\na\tb\n", &["b"]);
        check(
            "q.jsonl",
            "{\"id\": 1, \"question\": \"How?\"}\n{\"text\": \"Why?\"}\n",
            &["How?", "Why?"],
        );
    }

    #[test]
    fn bad_lines_are_named() {
        refused("q.tsv", "id\tq\n1\tHow?\n", ":1:");
        refused("q.tsv", "id\tquestion\n1\tHow?\n\n2\n", ":4:");
        refused("q.jsonl", "{\"question\": \"a\"}\n{\"question\": 5}\n", ":2:");
        refused("q.jsonl", "\n{\"questions\": \"a\"}\n", ":2:");
        refused("q.jsonl", "{\"question\": \" \"}\n", ":1:");
        refused("q.txt", " \n", " holds no question");
    }
}
