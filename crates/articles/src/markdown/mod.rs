//! Markdown in the dialects that help centers are written in: `CommonMark` with GitHub's additions, MDX, and the
//! marks of common site generators.
//!
//! First the source is freed of what only its site's generator understands, then it is parsed.

mod events;
mod inline;
mod jsx;
mod lines;
mod source;

use crate::anchor::AnchorStyle;
use crate::outline::{Body, Outline};
use crate::problem::Note;

/// Which Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Plain,
    /// With JavaScript imports, expressions and components.
    Mdx,
}

/// Reads the body of a page, whose first line is `first_line` in its file.
pub(crate) fn read(body: &str, first_line: u32, dialect: Dialect, notes: &mut Vec<Note>) -> Body {
    let source = source::prepare(body, first_line, dialect, notes);
    let mut outline = Outline::new(AnchorStyle::Slug);
    events::read(&source, &mut outline);
    outline.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, dialect: Dialect, title: Option<&str>, expected: &[&str]) {
        let mut notes = Vec::new();
        let body = read(source, 1, dialect, &mut notes);
        assert_eq!(body.title.as_deref(), title, "{source}");
        let sections: Vec<_> = body
            .sections
            .iter()
            .map(|section| {
                let anchor =
                    section.anchor.as_deref().map_or(String::new(), |anchor| format!("#{anchor}"));
                format!("{}{anchor}: {}", section.headings.join(" > "), section.text)
            })
            .collect();
        assert_eq!(sections, expected, "{source}");
        assert_eq!(notes, [], "{source}");
    }

    #[track_caller]
    fn text(source: &str, expected: &str) {
        let body = read(source, 1, Dialect::Plain, &mut Vec::new());
        let texts: Vec<_> = body.sections.iter().map(|section| section.text.as_str()).collect();
        assert_eq!(texts.join("\n==\n"), expected, "{source}");
    }

    #[track_caller]
    fn mdx(source: &str, expected: &str) {
        let body = read(source, 1, Dialect::Mdx, &mut Vec::new());
        let texts: Vec<_> = body.sections.iter().map(|section| section.text.as_str()).collect();
        assert_eq!(texts.join("\n==\n"), expected, "{source}");
    }

    #[test]
    fn headings_make_sections() {
        check(
            "before\n\n# Plans\n\nintro\n\n## Change {#change}\n\na\n\n### On the phone\n\nb\n\n## Change\n\nc\n",
            Dialect::Plain,
            Some("Plans"),
            &[
                ": before",
                ": intro",
                "Change#change: a",
                "Change > On the phone#on-the-phone: b",
                "Change#change-1: c",
            ],
        );
        check("## A\n\nx\n\n# B\n\ny\n", Dialect::Plain, None, &["A#a: x", "B#b: y"]);
        check("## A {/*own-id*/}\n\nx\n", Dialect::Plain, None, &["A#own-id: x"]);
    }

    #[test]
    fn marks_are_read_away() {
        text("Open **Billing**, *then* `Export` ~~now~~.", "Open Billing, then Export now.");
        text(
            "[Reset now](javascript:alert(1)) ![Save button](https://x.example/p.png?q=)",
            "Reset now Save button",
        );
        text("![shot.png](shot.png)", "");
        text("a[^1]\n\n[^1]: note", "a\n\nnote");
        text("- [x] done\n- [ ] open", "- done\n- open");
        text("one\ntwo  \nthree\n\n---\n\nfour", "one two\nthree\n\nfour");
        text("一行目\n二行目", "一行目二行目");
        text("には**「保存」**ボタンが`a**b`", "には「保存」ボタンがa**b");
        text("2**3", "2**3");
    }

    #[test]
    fn wikilinks_become_their_text() {
        text(
            "See [[Sync]], [[a/b|that page]] and [[Sync#Set up]].",
            "See Sync, that page and Sync > Set up.",
        );
        text("![[page]]\n\n![[shot.png|300]]\n\nx", "x");
        text("[[1]](https://x.example)", "[1]");
    }

    #[test]
    fn lists_tables_and_code_are_written_down() {
        text("1. a\n   - b\n\n     more\n2. c", "1. a\n  - b\nmore\n2. c");
        text(
            "| Plan | Price |\n|---|---|\n| Free | 0 |\n| Pro | `9` |\n\nend",
            "Plan: Free | Price: 0\nPlan: Pro | Price: 9\n\nend",
        );
        text(
            "Run:\n\n```sh\nls  -l\n\n{% raw %} {{ x }}\n```\nend",
            "Run:\n\nls  -l\n\n{% raw %} {{ x }}\n\nend",
        );
        text(
            "> [!NOTE]\n> Careful.\n\n> [!tip]- A title\n> Do it.",
            "Careful.\n\nA title\n\nDo it.",
        );
    }

    #[test]
    fn hidden_text_and_comments_are_left_out() {
        text("a <span style=\"display:none\">b</span>c <!-- d --> e", "a c e");
        text("<!--\n\nlong\n\n-->\n\nx", "x");
        text("<div hidden>\n\na\n\n</div>\n\nb", "b");
        text("a <span hidden> b\n\nc", "a\n\nc");
        text("<script>\nx\n\ny</script>\n\nb", "b");
    }

    #[test]
    fn html_and_markdown_take_turns() {
        text("<aside markdown=\"1\">\nsee **[this](x)**\n</aside>", "see this");
        text("<div>\n<p>a</p>\n\n    <p>b</p>\n\n</div>\n\nc", "a\n\nb\n\nc");
        text("<details>\n\n    code = 1\n\n</details>\n\nc", "code = 1\n\nc");
        text("a\n\n    <p>b</p>\n", "a\n\n<p>b</p>");
    }

    #[test]
    fn generator_marks_are_left_out() {
        text("a {% include ../x.md %}b {{ page.title }}c `{{ kept }}`", "a b c {{ kept }}");
        text(":::note Title\nText.\n:::\n\n{: .class}\nx", "Title\n\nText.\n\nx");
        text(
            ":::image type=\"content\" source=\"a.png\" alt-text=\"The dialog.\":::",
            "The dialog.",
        );
    }

    #[test]
    fn an_include_is_noted_and_not_followed() {
        let mut notes = Vec::new();
        let body = read("a\n\n[!INCLUDE [x](../../secret.txt)] b\n", 5, Dialect::Plain, &mut notes);
        assert_eq!(body.sections.first().unwrap().text, "a\n\nb");
        assert_eq!(notes, [Note::at(7, "includes another file, which is not read")]);
    }

    #[test]
    fn mdx_becomes_its_text() {
        mdx(
            "import X from 'x'\nimport {\n  Y\n} from 'y'\n\nexport const a = 1\n\n# T\n\n<Note title={`x`} a={{b: '>'}}>\n\n    Read **this**.\n\n</Note>\n\nv{props.version} {'kept'} <X/>end",
            "Read this.\n\nv kept end",
        );
        mdx(
            "<Tabs>\n```js\nimport a from 'b'\nlet {x} = <Y/>\n```\n</Tabs>",
            "import a from 'b'\nlet {x} = <Y/>",
        );
        text("import your data { first }\n", "import your data { first }");
    }

    #[test]
    fn depth_and_ambiguity_are_no_danger() {
        let n = 20_000;
        text(&format!("{} a", ">".repeat(n)), "a");
        read(&format!("{}a{}", "[".repeat(n), "]".repeat(n)), 1, Dialect::Mdx, &mut Vec::new());
        read(&"*a_ ".repeat(n), 1, Dialect::Mdx, &mut Vec::new());
        read(&"<A {".repeat(n), 1, Dialect::Mdx, &mut Vec::new());
        read(&"{{ {% {/* [!INCLUDE [ <!-- ".repeat(n), 1, Dialect::Mdx, &mut Vec::new());
        read(&"` `` ``` ".repeat(n), 1, Dialect::Mdx, &mut Vec::new());
    }
}
