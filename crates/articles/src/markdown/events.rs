//! From parsed Markdown to the outline.

use pulldown_cmark::{
    CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use crate::html::{Host, Markup, alternative_text};
use crate::outline::{CellKind, Outline, is_unspaced};

/// Reads prepared Markdown into `outline`.
pub(super) fn read(source: &str, outline: &mut Outline) {
    let mut reader = Reader {
        outline,
        markup: Markup::new(Host::Markdown),
        block: String::new(),
        indented: false,
        image: None,
        cell: CellKind::Value,
        wikilink: false,
        loose_emphasis: source.chars().any(is_unspaced),
        after_span: false,
        depths: Vec::new(),
    };
    for event in TextMergeStream::new(Parser::new_ext(source, options(source))) {
        reader.event(event);
    }
    reader.markup.finish(reader.outline);
}

fn options(source: &str) -> Options {
    let mut options = Options::ENABLE_TABLES
        | Options::ENABLE_GFM
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_HEADING_ATTRIBUTES;
    // `[[1]](url)` is a link whose text is "[1]"; a page that writes it does not write wikilinks.
    if source.contains("[[") && !source.contains("]](") {
        options |= Options::ENABLE_WIKILINKS;
    }
    options
}

struct Reader<'outline> {
    outline: &'outline mut Outline,
    markup: Markup,
    /// The HTML block being read: its tags may stretch over several events.
    block: String,
    /// Whether an indented block is being read into `block`: inside an element it may be more HTML.
    indented: bool,
    /// The description of the image being read.
    image: Option<Image>,
    /// What the cells of the current row are.
    cell: CellKind,
    /// Whether the text is the target of a wikilink.
    wikilink: bool,
    /// Whether `**` left in the text is a mark all the same: next to Japanese or Chinese punctuation, `CommonMark`'s
    /// rules do not see it, and authors who write without spaces do not know.
    loose_emphasis: bool,
    /// Whether a link or other span has just ended: attributes may follow it.
    after_span: bool,
    /// How much markup was open at the start of each block that holds running text.
    depths: Vec<usize>,
}

/// Whether attributes may follow, as kramdown has it: `[text](url){.class}`.
fn ends_span(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::End(TagEnd::Link | TagEnd::Image | TagEnd::Emphasis | TagEnd::Strong)
            | Event::Code(_)
    )
}

/// The text behind a span's attributes, if it begins with some.
fn without_attributes(text: &str) -> &str {
    let rest = text
        .strip_prefix('{')
        .filter(|attributes| attributes.starts_with(['.', ':', '#']))
        .and_then(|attributes| attributes.split_once('}'));
    rest.map_or(text, |(_attributes, rest)| rest)
}

struct Image {
    alt: String,
    embeds_page: bool,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>) {
        let after_span = std::mem::replace(&mut self.after_span, ends_span(&event));
        match event {
            Event::Text(text) if after_span && !self.outline.in_code() => {
                self.text(without_attributes(&text));
            }
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.indented => self.block.push_str(&text),
            Event::Text(text) if self.loose_emphasis && !self.outline.in_code() => {
                self.text(&text.replace("**", ""));
            }
            Event::Text(text)
            | Event::Code(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.text(&text),
            Event::Html(html) => self.block.push_str(&html),
            Event::InlineHtml(html) => self.markup.feed(&html, self.outline),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak if self.markup.shows() => self.outline.line_break(),
            Event::Rule => self.outline.block(),
            Event::HardBreak | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.markup.shows() {
            return;
        }
        match &mut self.image {
            Some(image) => image.alt.push_str(text),
            None if self.wikilink => {
                self.outline.text(&text.trim_start_matches('#').replace('#', " > "));
            }
            None => self.outline.text(text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if holds_running_text(tag.to_end()) {
            self.depths.push(self.markup.depth());
        }
        if !self.markup.shows() {
            return;
        }
        match tag {
            Tag::Heading { level, id, .. } => {
                self.outline.open_heading(level as u8, id.map(|id| id.to_string()));
            }
            Tag::Paragraph
            | Tag::BlockQuote(_)
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList => self.outline.block(),
            Tag::DefinitionListTitle | Tag::DefinitionListDefinition => self.outline.line_break(),
            Tag::CodeBlock(CodeBlockKind::Indented) if self.markup.depth() > 0 => {
                self.indented = true;
            }
            Tag::CodeBlock(_) => self.outline.open_code(),
            Tag::List(start) => self.outline.open_list(start),
            Tag::Item => self.outline.open_item(),
            Tag::Table(_) => self.outline.open_table(),
            Tag::TableHead => self.cell = CellKind::Header,
            Tag::TableRow => self.cell = CellKind::Value,
            Tag::TableCell => self.outline.open_cell(self.cell),
            Tag::Image { link_type, .. } => {
                let embeds_page = matches!(link_type, LinkType::WikiLink { .. });
                self.image = Some(Image { alt: String::new(), embeds_page });
            }
            Tag::Link { link_type, .. } => {
                self.wikilink = link_type == LinkType::WikiLink { has_pothole: false }
            }
            Tag::HtmlBlock
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::HtmlBlock => self.end_html(),
            TagEnd::CodeBlock if std::mem::take(&mut self.indented) => self.end_indented(),
            TagEnd::Heading(_) => self.outline.close_heading(),
            TagEnd::Paragraph | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.outline.block();
            }
            TagEnd::CodeBlock => self.outline.close_code(),
            TagEnd::List(_) => self.outline.close_list(),
            TagEnd::Item => self.outline.close_item(),
            TagEnd::Table => self.outline.close_table(),
            TagEnd::TableHead | TagEnd::TableRow => self.outline.close_row(),
            TagEnd::TableCell => self.outline.close_cell(),
            TagEnd::Image => self.end_image(),
            TagEnd::Link => self.wikilink = false,
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => {}
        }
        // An inline element that the author forgot to close ends with its paragraph.
        if holds_running_text(tag)
            && let Some(depth) = self.depths.pop()
        {
            self.markup.close_down_to(depth, self.outline);
        }
    }

    fn end_html(&mut self) {
        let html = std::mem::take(&mut self.block);
        self.outline.block();
        self.markup.feed(&html, self.outline);
        self.outline.block();
    }

    /// An indented block within an element: tags, if it begins with one, else code.
    fn end_indented(&mut self) {
        if self.block.trim_start().starts_with('<') {
            return self.end_html();
        }
        self.outline.open_code();
        self.outline.text(&std::mem::take(&mut self.block));
        self.outline.close_code();
    }

    fn end_image(&mut self) {
        let Some(image) = self.image.take() else { return };
        if !image.embeds_page
            && let Some(text) = alternative_text(&image.alt)
        {
            self.outline.text(text);
        }
    }
}

fn holds_running_text(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_behind_a_span_are_not_text() {
        assert_eq!(without_attributes("{.link-external} and more"), " and more");
        assert_eq!(without_attributes("{:target=\"_blank\"}."), ".");
        assert_eq!(without_attributes("{#here}"), "");
        for text in ["{name} stays", "plain", "{.unclosed"] {
            assert_eq!(without_attributes(text), text);
        }
    }
}
