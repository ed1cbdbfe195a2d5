//! Marks that take a line of their own: callouts, containers, attribute lists.

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    AsIs,
    Instead(String),
}

/// Rewrites a line of prose.
pub(super) fn rewrite(line: &str) -> Line {
    let (quote, rest) = split_quote(line);
    let content = rest.trim();
    let replaced = callout(content)
        .or_else(|| container(content))
        .or_else(|| attribute_list(content))
        .or_else(|| open_to_markdown(content));
    match replaced {
        // An empty line inside the quote keeps the next one a paragraph of its own.
        Some("") => Line::Instead(quote.to_owned()),
        Some(text) => Line::Instead(format!("{quote}{text}\n{quote}")),
        None => Line::AsIs,
    }
}

/// Parts the quote marks at the head of a line from the rest.
fn split_quote(line: &str) -> (&str, &str) {
    let rest = line.trim_start_matches([' ', '\t', '>']);
    let quote = line.strip_suffix(rest).unwrap_or_default();
    if quote.contains('>') { (quote, rest) } else { ("", line) }
}

/// `[!NOTE]`, `[!tip]- Title` → the title.
fn callout(content: &str) -> Option<&str> {
    let (kind, rest) = content.strip_prefix("[!")?.split_once(']')?;
    // Anything but a bare word is another directive: [!INCLUDE [x](y)], [!div class="x"].
    let word =
        !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let argument =
        kind.starts_with("div ") || kind.starts_with("VIDEO ") || kind.starts_with("code-");
    if argument {
        return Some("");
    }
    (word && !rest.starts_with(['(', '['])).then(|| rest.trim_start_matches(['+', '-']).trim())
}

/// `:::note Title` → the title; `:::image … alt-text="…":::` → the description; other containers → nothing.
fn container(content: &str) -> Option<&str> {
    let inside = content.strip_prefix(":::")?.trim_start_matches(':').trim_end_matches(':').trim();
    let (kind, rest) =
        inside.split_once(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or((inside, ""));
    if kind == "image" {
        let (_, described) = rest.split_once("alt-text=\"")?;
        return described.split('"').next();
    }
    // Titles are written after the name, as `[Title]` or bare; settings are not titles.
    let after = inside.strip_prefix(kind).unwrap_or_default().trim();
    let title =
        after.strip_prefix('[').and_then(|bracketed| bracketed.split(']').next()).unwrap_or(after);
    let setting = title.contains(['=', '{', '"'])
        || content.ends_with(":::") && !kind.is_empty()
        || kind == "moniker";
    Some(if setting || kind.is_empty() { "" } else { title })
}

/// `{: .class}`, `{:toc}`: attributes for the block around them.
fn attribute_list(content: &str) -> Option<&str> {
    (content.starts_with("{:") && content.ends_with('}')).then_some("")
}

/// An element that kramdown reads Markdown in: the empty line that follows has `CommonMark` do the same.
fn open_to_markdown(content: &str) -> Option<&str> {
    let is_tag = content.starts_with('<') && content.ends_with('>');
    (is_tag && content.contains("markdown=\"1\"")).then_some(content)
}

/// The line behind the mark of a list item.
pub(super) fn strip_item_mark(line: &str) -> Option<&str> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = line.get(digits..)?;
    let rest = match digits {
        0 => mark.strip_prefix(['-', '*', '+'])?,
        1..=9 => mark.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let expected = expected.map_or(Line::AsIs, |text| Line::Instead(text.to_owned()));
        assert_eq!(rewrite(line), expected, "{line:?}");
    }

    #[test]
    fn callouts_keep_their_title() {
        check("> [!NOTE]", Some("> "));
        check("> [!tip]- Read this", Some("> Read this\n> "));
        check("> > [!warning]+ 注意", Some("> > 注意\n> > "));
        check("[!div class=\"x\"]", Some(""));
        check("[!INCLUDE [x](y.md)]", None);
        check("[!x](y)", None);
        check("> quoted", None);
    }

    #[test]
    fn containers_keep_their_title() {
        check(":::note", Some(""));
        check(":::", Some(""));
        check(":::tip Read this", Some("Read this\n"));
        check(":::note[Read this]", Some("Read this\n"));
        check("::: moniker range=\"x\"", Some(""));
        check(":::row:::", Some(""));
        check(":::image source=\"a.png\" alt-text=\"The dialog.\":::", Some("The dialog.\n"));
        check("{: .class #id}", Some(""));
        check("<aside markdown=\"1\">", Some("<aside markdown=\"1\">\n"));
        check("<aside>", None);
        check("plain", None);
    }

    #[test]
    fn item_marks_are_recognised() {
        assert_eq!(strip_item_mark("- a"), Some("a"));
        assert_eq!(strip_item_mark("12. a"), Some("a"));
        assert_eq!(strip_item_mark("a"), None);
        assert_eq!(strip_item_mark("2024 a"), None);
    }
}
