//! Follows tags and text, and passes on what belongs to the article.

use std::collections::HashMap;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use super::attributes::Attributes;
use super::chrome::{self, Surroundings};
use super::element::{Effect, alternative_text, effect, implied_ends, is_table_part, is_void};
use crate::outline::{CellKind, Outline};
use crate::template_tags;

/// Where the markup stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// In the text of an article, where everything visible is the author's.
    Markdown,
    /// In a page of a site.
    Page(Scope),
}

/// The part of a page that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Main,
    Article,
    Page,
}

/// What a page is called outside its text.
#[derive(Debug, Default)]
pub(crate) struct Titles {
    /// A first-level heading outside the part that is read.
    pub(crate) heading: Option<String>,
    /// The `title` element.
    pub(crate) element: Option<String>,
}

/// The elements open at one point of a page.
#[derive(Debug)]
pub(crate) struct Markup {
    host: Host,
    open: Vec<Open>,
    /// How many of `open` have a name, so that an end tag without a start costs nothing.
    counts: HashMap<String, usize>,
    /// How many of `open` are left out.
    hidden: usize,
    /// How many of `open` are the scope.
    inside: usize,
    /// The id of an empty `<a name>`, for the heading that follows it.
    waiting_id: Option<String>,
    titles: Titles,
}

#[derive(Debug)]
struct Open {
    name: String,
    effect: Effect,
    hides: bool,
    is_scope: bool,
}

/// An element further up than this is not looked for; real pages nest some dozens deep. Bounds the time that
/// unmatched tags can cost.
const FARTHEST: usize = 1_000;

impl Scope {
    /// A cheap look for what opens the scope.
    pub(super) fn may_occur_in(self, source: &str) -> bool {
        match self {
            Self::Main => {
                source.contains("<main")
                    || source.contains("<MAIN")
                    || source.contains("role=\"main\"")
            }
            Self::Article => source.contains("<article") || source.contains("<ARTICLE"),
            Self::Page => true,
        }
    }

    fn is_opened_by(self, name: &str, attributes: Attributes<'_>) -> bool {
        match self {
            Self::Main => name == "main" || attributes.is("role", "main"),
            Self::Article => name == "article",
            Self::Page => false,
        }
    }
}

impl Markup {
    pub(crate) fn new(host: Host) -> Self {
        Self {
            host,
            open: Vec::new(),
            counts: HashMap::new(),
            hidden: 0,
            inside: 0,
            waiting_id: None,
            titles: Titles::default(),
        }
    }

    /// Reads a piece of HTML.
    pub(crate) fn feed(&mut self, html: &str, outline: &mut Outline) {
        let mut emitter = DefaultEmitter::default();
        // Script and style contents are text, not tags.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Token::StartTag(tag) => self.start(&tag, outline),
                Token::EndTag(tag) => self.end(&String::from_utf8_lossy(&tag.name), outline),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text), outline),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
    }

    /// Whether what comes next belongs to the article.
    pub(crate) fn shows(&self) -> bool {
        let in_scope = match self.host {
            Host::Markdown | Host::Page(Scope::Page) => true,
            Host::Page(Scope::Main | Scope::Article) => self.inside > 0,
        };
        in_scope && self.hidden == 0
    }

    /// How many elements are open; see [`close_down_to`](Self::close_down_to).
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes what was opened since `depth` was taken.
    pub(crate) fn close_down_to(&mut self, depth: usize, outline: &mut Outline) {
        while self.open.len() > depth {
            self.pop(outline);
        }
    }

    /// Closes everything.
    pub(crate) fn finish(mut self, outline: &mut Outline) -> Titles {
        self.close_down_to(0, outline);
        self.titles
    }

    fn text(&mut self, text: &str, outline: &mut Outline) {
        match self.open.last().map(|open| open.effect) {
            Some(Effect::Title) => append(&mut self.titles.element, text),
            Some(Effect::FragmentLink) if leads_past_navigation(text) => {}
            _ if chrome::is_permalink_sign(text) && self.is_within(Effect::Permalink) => {}
            _ if self.is_within(Effect::OuterHeading) => {
                append(&mut self.titles.heading, text);
            }
            _ if !self.shows() => {}
            _ if outline.in_code() || self.host == Host::Markdown => outline.text(text),
            _ => {
                if !text.trim().is_empty() {
                    self.waiting_id = None;
                }
                outline.text(&template_tags::strip(text));
            }
        }
    }

    /// Whether an element close by has `effect`.
    fn is_within(&self, effect: Effect) -> bool {
        self.open.iter().rev().take(4).any(|open| open.effect == effect)
    }

    fn surroundings(&self, outline: &Outline) -> Surroundings {
        if outline.in_heading() || self.is_within(Effect::OuterHeading) {
            Surroundings::Heading
        } else {
            Surroundings::Other
        }
    }

    fn start(&mut self, tag: &StartTag<()>, outline: &mut Outline) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        let attributes = Attributes::of(tag);
        if let Some((names, bounds)) = implied_ends(&name) {
            self.imply_end(names, bounds, outline);
        }
        // JSX components and foreign elements close themselves; HTML elements do not.
        let closes_itself =
            tag.self_closing && (self.host == Host::Markdown || name == "svg" || name == "math");
        if is_void(&name) || closes_itself {
            if self.shows() {
                leave_mark(&name, attributes, outline);
            }
            return;
        }
        let is_scope =
            matches!(self.host, Host::Page(scope) if scope.is_opened_by(&name, attributes));
        let surroundings = self.surroundings(outline);
        let hides = chrome::hides(&name, attributes, self.host, surroundings);
        self.hidden += usize::from(hides);
        self.inside += usize::from(is_scope);
        let effect = self.effect_of(&name, attributes, surroundings);
        self.begin(effect, attributes, outline);
        *self.counts.entry(name.clone()).or_default() += 1;
        self.open.push(Open { name, effect, hides, is_scope });
    }

    fn effect_of(
        &self,
        name: &str,
        attributes: Attributes<'_>,
        surroundings: Surroundings,
    ) -> Effect {
        if name == "title" && self.hidden == 0 && self.titles.element.is_none() {
            return Effect::Title;
        }
        if matches!(self.host, Host::Page(_))
            && chrome::is_permalink_in_heading(name, attributes, surroundings)
        {
            return Effect::Permalink;
        }
        if name == "a" && attributes.get("href").is_some_and(|href| href.starts_with('#')) {
            return Effect::FragmentLink;
        }
        let shown = effect(name);
        if self.shows() {
            shown
        } else if shown == Effect::Heading(1) && self.titles.heading.is_none() {
            Effect::OuterHeading
        } else {
            Effect::Inline
        }
    }

    fn begin(&mut self, effect: Effect, attributes: Attributes<'_>, outline: &mut Outline) {
        match effect {
            Effect::Heading(level) => {
                outline.open_heading(level, attributes.fragment_id().or(self.waiting_id.take()));
            }
            Effect::Block | Effect::Term => outline.block(),
            Effect::Line => outline.line_break(),
            Effect::List => outline.open_list(None),
            Effect::Numbers => {
                let start = attributes.get("start").and_then(|start| start.trim().parse().ok());
                outline.open_list(Some(start.unwrap_or(1)));
            }
            Effect::Item => outline.open_item(),
            Effect::Table => outline.open_table(),
            Effect::HeaderCell => outline.open_cell(CellKind::Header),
            Effect::Cell => outline.open_cell(CellKind::Value),
            Effect::Code => outline.open_code(),
            Effect::Inline | Effect::FragmentLink | Effect::Permalink if self.shows() => {
                if let Some(id) = attributes.fragment_id() {
                    outline.heading_id(&id);
                    self.waiting_id = matches!(self.host, Host::Page(_)).then_some(id);
                }
            }
            Effect::Inline
            | Effect::FragmentLink
            | Effect::Permalink
            | Effect::Row
            | Effect::Title
            | Effect::OuterHeading => {}
        }
    }

    fn end(&mut self, name: &str, outline: &mut Outline) {
        if self.counts.get(name).is_none_or(|&count| count == 0) {
            return;
        }
        let bounds: &[&str] = if is_table_part(name) { &[] } else { &["td", "th", "table"] };
        if let Some(depth) = self.find(&[name], bounds) {
            self.close_down_to(depth, outline);
        }
    }

    fn imply_end(&mut self, names: &[&str], bounds: &[&str], outline: &mut Outline) {
        let is_open = |name: &&str| self.counts.get(*name).is_some_and(|&count| count > 0);
        if names.iter().any(is_open)
            && let Some(depth) = self.find(names, bounds)
        {
            self.close_down_to(depth, outline);
        }
    }

    /// The place of the innermost open element with one of `names`, if none of `bounds` stands before it.
    fn find(&self, names: &[&str], bounds: &[&str]) -> Option<usize> {
        for (depth, open) in self.open.iter().enumerate().rev().take(FARTHEST) {
            if names.contains(&open.name.as_str()) {
                return Some(depth);
            }
            if bounds.contains(&open.name.as_str()) {
                return None;
            }
        }
        None
    }

    fn pop(&mut self, outline: &mut Outline) {
        let Some(open) = self.open.pop() else { return };
        if let Some(count) = self.counts.get_mut(&open.name) {
            *count -= 1;
        }
        self.hidden -= usize::from(open.hides);
        self.inside -= usize::from(open.is_scope);
        match open.effect {
            Effect::Heading(_) => outline.close_heading(),
            Effect::Block => outline.block(),
            Effect::Line | Effect::Term => outline.line_break(),
            Effect::List | Effect::Numbers => outline.close_list(),
            Effect::Item => outline.close_item(),
            Effect::Table => outline.close_table(),
            Effect::Row => outline.close_row(),
            Effect::HeaderCell | Effect::Cell => outline.close_cell(),
            Effect::Code => outline.close_code(),
            Effect::Inline
            | Effect::FragmentLink
            | Effect::Permalink
            | Effect::Title
            | Effect::OuterHeading => {}
        }
    }
}

/// What an element without content is in the text.
fn leave_mark(name: &str, attributes: Attributes<'_>, outline: &mut Outline) {
    match name {
        "br" => outline.line_break(),
        "hr" => outline.block(),
        "img" => {
            let alt = attributes.get("alt");
            if let Some(text) = alt.as_deref().and_then(alternative_text) {
                outline.text(text);
            }
        }
        _ => {}
    }
}

/// Links for people who cannot see how far the navigation goes.
fn leads_past_navigation(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    ["skip to ", "skip nav", "jump to content", "jump to main"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn append(title: &mut Option<String>, text: &str) {
    let title = title.get_or_insert_default();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !title.is_empty() && !words.is_empty() {
        title.push(' ');
    }
    title.push_str(&words);
}
