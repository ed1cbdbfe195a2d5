//! Prints the templated answer to every question of `examples/questions.tsv`, given the right article's passages
//! and those of the two wrong articles most like the question, and whether it holds the key phrase.
//!
//! For reading with one's own eyes when the choice of sentences is changed:
//! `cargo run -p template --example preview -- [en|ja|all] [place]`, where `place` is that of the right article
//! among the three, 0 unless given. Reads and splits articles in the simplest way that does.
#![expect(clippy::print_stdout, reason = "this program is for its output")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use analysis::{Analyzer, Han, Profile};
use domain::{ArticleId, Hit, Language, Passage, PassageId, Question, Script};
use template::{TemplateSettings, templated};

fn main() -> std::io::Result<()> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let only = std::env::args().nth(1).filter(|only| only != "all");
    let place = std::env::args().nth(2).and_then(|place| place.parse().ok()).unwrap_or(0);
    let analyzer = Analyzer::new(Profile { han: Han::Japanese, latin: Language::ENGLISH });
    let articles = read_articles(&examples.join("help"))?;
    let (mut asked, mut held) = (0, 0);
    for line in fs::read_to_string(examples.join("questions.tsv"))?.lines().skip(1) {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut next = || columns.next().unwrap_or_default();
        let (lang, text, right, phrase) = (next(), next(), next(), next());
        if right.is_empty() || only.as_ref().is_some_and(|only| *only != lang) {
            continue;
        }
        let language = lang.parse().unwrap_or(Language::ENGLISH);
        let question = Question::from_normalized(text.clone(), language, Script::Other);
        let hits = hits(&articles, &right, place, &question, analyzer);
        let answer = templated(&question, &hits, &analyzer, &TemplateSettings::STANDARD);
        let holds = answer.text.contains(&phrase);
        asked += 1;
        held += usize::from(holds);
        println!(
            "{} {text}\n   ({right}: {phrase})\n\n{}\n",
            if holds { "✓" } else { "✗" },
            answer.text
        );
        println!("   {} characters\n{}", answer.text.chars().count(), "─".repeat(72));
    }
    println!("{held} of {asked} answers hold their key phrase");
    Ok(())
}

/// The right article's passages and those of the two wrong ones that share most words with the question.
fn hits(
    articles: &[Vec<Arc<Passage>>],
    right: &str,
    place: usize,
    question: &Question,
    analyzer: Analyzer,
) -> Vec<Hit> {
    let id = |article: &[Arc<Passage>]| {
        article.first().map_or("", |passage| passage.article_id.as_str()).to_owned()
    };
    let words = |text: &str| -> HashSet<String> {
        analyzer.words(text).into_iter().map(|word| word.text).collect()
    };
    let wanted = words(question.text());
    let likeness = |article: &&Vec<Arc<Passage>>| {
        let all: String =
            article.iter().map(|passage| format!("{} {}\n", passage.title, passage.text)).collect();
        words(&all).intersection(&wanted).count()
    };
    let (right, mut wrong): (Vec<_>, Vec<_>) =
        articles.iter().partition(|article| id(article) == right);
    wrong.retain(|article| id(article).starts_with(question.lang().as_str()));
    wrong.sort_by_key(|article| std::cmp::Reverse(likeness(article)));
    wrong.truncate(2);
    wrong.splice(place.min(2)..place.min(2), right);
    let passages = wrong.into_iter().flatten();
    passages
        .map(|passage| Hit {
            passage: Arc::clone(passage),
            score: 1.0,
            keyword_rank: None,
            cosine: None,
        })
        .collect()
}

fn read_articles(help: &Path) -> std::io::Result<Vec<Vec<Arc<Passage>>>> {
    let mut articles = Vec::new();
    for lang in ["en", "ja"] {
        for section in fs::read_dir(help.join(lang))? {
            for file in fs::read_dir(section?.path())? {
                let path = file?.path();
                let inside = path.strip_prefix(help).unwrap_or(&path).with_extension("");
                let text = fs::read_to_string(&path)?;
                articles.push(passages(&inside.to_string_lossy(), lang, &markdown(&text)));
            }
        }
    }
    articles.sort_by_key(|article| article.first().map(|passage| passage.article_id.clone()));
    Ok(articles)
}

/// One passage per heading.
fn passages(id: &str, lang: &str, markdown: &str) -> Vec<Arc<Passage>> {
    let (head, body) = front_matter(markdown);
    let titled = |line: &str| {
        let value = line.strip_prefix("title")?.trim_start_matches([':', '=', ' ']);
        Some(value.trim_matches('"').to_owned())
    };
    let mut title = head.lines().find_map(titled).unwrap_or_default();
    let mut sections: Vec<(Vec<String>, String)> = vec![(Vec::new(), String::new())];
    let mut columns: Vec<String> = Vec::new();
    for line in body.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            title = heading.to_owned();
        } else if let Some(heading) = line.strip_prefix("##") {
            sections.push((vec![heading.trim_start_matches('#').trim().to_owned()], String::new()));
        } else if let Some((_, text)) = sections.last_mut() {
            text.push_str(&plain_line(&with_column_names(line, &mut columns)));
            text.push('\n');
        }
    }
    sections.retain(|(_, text)| !text.trim().is_empty());
    let passage = |(ordinal, (headings, text)): (u32, (Vec<String>, String))| {
        Arc::new(Passage {
            id: PassageId::from_bytes([0; 16]),
            article_id: ArticleId::new(id),
            title: title.clone(),
            headings,
            url: None,
            lang: lang.parse().unwrap_or(Language::ENGLISH),
            tags: Vec::new(),
            ordinal,
            text: text.trim().to_owned(),
        })
    };
    (0..).zip(sections).map(passage).collect()
}

fn front_matter(text: &str) -> (&str, &str) {
    ["---\n", "+++\n"]
        .into_iter()
        .find_map(|fence| text.strip_prefix(fence)?.split_once(fence))
        .unwrap_or(("", text))
}

/// A table row whose cells carry their columns' names; other lines as they are. `columns` are those of the open table.
fn with_column_names(line: &str, columns: &mut Vec<String>) -> String {
    let Some(row) = line.trim().strip_prefix('|').map(|row| row.trim_end_matches([' ', '|']))
    else {
        columns.clear();
        return line.to_owned();
    };
    let cells = row.split('|').map(|cell| cell.trim().to_owned());
    if columns.is_empty() {
        columns.extend(cells);
        return String::new();
    }
    if row.contains("--") {
        return String::new();
    }
    let named = cells
        .zip(columns)
        .map(|(cell, name)| if name.is_empty() { cell } else { format!("{name}: {cell}") });
    named.collect::<Vec<_>>().join(" | ")
}

/// A line without emphasis, code quotes, link targets and quotation marks in front.
fn plain_line(line: &str) -> String {
    let mut plain = line.trim_start_matches("> ").replace("**", "").replace('`', "");
    while let Some((before, rest)) = plain.split_once("](") {
        let (text, after) =
            (before.to_owned(), rest.split_once(')').map_or("", |(_, after)| after));
        plain = format!("{}{after}", text.replacen('[', "", 1));
    }
    plain
}

/// HTML pages, of which there are few, made into Markdown by their tags.
fn markdown(text: &str) -> String {
    let Some(main) = text.split_once("<h1>").and_then(|(_, rest)| rest.split("</article>").next())
    else {
        return text.to_owned();
    };
    let tags = [
        ("</h1>", "\n\n"),
        ("<h2>", "\n\n## "),
        ("</h2>", "\n\n"),
        ("<p>", "\n\n"),
        ("<ol>", "\n"),
        ("<ul>", "\n"),
        ("<li>", "- "),
        ("</li>", "\n"),
        ("<tr>", "\n| "),
        ("</td>", " | "),
        ("</th>", " | "),
    ];
    let marked =
        tags.iter().fold(format!("# {}", main.replace(['\n'], " ")), |text, (tag, mark)| {
            text.replace(tag, mark)
        });
    let mut out = String::new();
    let mut inside = false;
    for c in marked.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    out.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
