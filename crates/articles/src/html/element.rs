//! What elements mean for the text.

/// What an open element does to the text in it, and at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing: its text runs on.
    Inline,
    /// Text apart from its surroundings.
    Block,
    /// A line of its own in the block around it.
    Line,
    /// A block that the next one explains.
    Term,
    Heading(u8),
    List,
    /// A list with numbers.
    Numbers,
    Item,
    Table,
    Row,
    HeaderCell,
    Cell,
    Code,
    /// A link within the page.
    FragmentLink,
    /// A link to the heading it stands in.
    Permalink,
    /// The page's `title`.
    Title,
    /// A first-level heading outside the part that is read.
    OuterHeading,
}

/// The effect of an element that is shown.
pub(super) fn effect(name: &str) -> Effect {
    match name {
        "h1" => Effect::Heading(1),
        "h2" => Effect::Heading(2),
        "h3" => Effect::Heading(3),
        "h4" => Effect::Heading(4),
        "h5" => Effect::Heading(5),
        "h6" => Effect::Heading(6),
        "ul" => Effect::List,
        "ol" => Effect::Numbers,
        "li" => Effect::Item,
        "table" => Effect::Table,
        "tr" => Effect::Row,
        "th" => Effect::HeaderCell,
        "td" => Effect::Cell,
        "pre" => Effect::Code,
        "dt" => Effect::Term,
        "dd" | "figcaption" | "caption" | "summary" | "legend" | "option" => Effect::Line,
        _ if is_block(name) => Effect::Block,
        _ => Effect::Inline,
    }
}

/// Elements that end an open paragraph (HTML, "The p element").
pub(super) fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 37] = [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "ul",
    ];
    BLOCKS.contains(&name)
}

/// Elements without content or end tag.
pub(super) fn is_void(name: &str) -> bool {
    const VOID: [&str; 15] = [
        "area", "base", "br", "col", "embed", "hr", "img", "image", "input", "link", "meta",
        "param", "source", "track", "wbr",
    ];
    VOID.contains(&name)
}

/// The open elements that a start tag ends, and those beyond which it does not look.
pub(super) fn implied_ends(
    name: &str,
) -> Option<(&'static [&'static str], &'static [&'static str])> {
    match name {
        "li" => Some((&["li"], &["ul", "ol", "menu", "table"])),
        "dt" | "dd" => Some((&["dt", "dd"], &["dl", "table"])),
        "td" | "th" => Some((&["td", "th"], &["tr", "table"])),
        "tr" | "thead" | "tbody" | "tfoot" => Some((&["tr"], &["table"])),
        _ if is_block(name) => {
            Some((&["p"], &["table", "td", "th", "li", "div", "section", "blockquote", "dd"]))
        }
        _ => None,
    }
}

/// Elements whose end tags reach out of a table cell.
pub(super) fn is_table_part(name: &str) -> bool {
    ["table", "thead", "tbody", "tfoot", "tr", "td", "th", "body", "html"].contains(&name)
}

/// The text that stands for an image: its description, unless that is the name of a file or of a style guide's icon
/// (`shot.png`, `tb115-undo-16x16`).
pub(crate) fn alternative_text(alt: &str) -> Option<&str> {
    const FILES: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"];
    let alt = alt.trim();
    let lower = alt.to_ascii_lowercase();
    let is_file = FILES.iter().any(|extension| lower.ends_with(extension)) || lower.contains("://");
    let is_code = alt.is_ascii()
        && !alt.contains(' ')
        && (alt.contains('_')
            || alt.contains(|c: char| c.is_ascii_digit()) && alt.contains(char::is_alphabetic));
    (!is_file && !is_code && !alt.is_empty()).then_some(alt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descriptions_stand_for_images() {
        for (alt, expected) in [
            (" Save button ", Some("Save button")),
            ("保存", Some("保存")),
            ("Save", Some("Save")),
            ("2", Some("2")),
            ("shot.PNG", None),
            ("https://x.example/y", None),
            ("tb115-undo-16x16", None),
            ("menu_button", None),
            (" ", None),
        ] {
            assert_eq!(alternative_text(alt), expected, "{alt:?}");
        }
    }
}
