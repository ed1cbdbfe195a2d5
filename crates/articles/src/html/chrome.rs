//! What on a page is not the article: navigation, banners, forms of consent, and everything a reader cannot see.

use super::attributes::Attributes;
use super::element::{Effect, effect, is_block};
use super::markup::{Host, Scope};

/// Whether an element and all inside it are to be left out.
pub(super) fn hides(
    name: &str,
    attributes: Attributes<'_>,
    host: Host,
    surroundings: Surroundings,
) -> bool {
    if is_invisible(name, attributes) {
        return true;
    }
    match host {
        Host::Markdown => false,
        Host::Page(scope) => {
            is_interface(name)
                || is_around(name, scope)
                || has_role_of_interface(name, attributes)
                || is_marked(name, attributes, surroundings)
        }
    }
}

/// Where an element stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surroundings {
    Heading,
    Other,
}

/// Not shown by a browser, or not text.
fn is_invisible(name: &str, attributes: Attributes<'_>) -> bool {
    const NEVER_TEXT: [&str; 18] = [
        "script", "style", "template", "noscript", "svg", "iframe", "object", "canvas", "audio",
        "video", "map", "nav", "noembed", "noframes", "datalist", "dialog", "rt", "rp",
    ];
    NEVER_TEXT.contains(&name)
        || (attributes.has("hidden") && !attributes.is("hidden", "until-found"))
        || attributes.is("aria-hidden", "true")
        || attributes.get("style").is_some_and(|style| conceals(&style))
}

fn conceals(style: &str) -> bool {
    let style: String =
        style.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Controls of the page itself.
fn is_interface(name: &str) -> bool {
    ["button", "select", "textarea", "menu"].contains(&name)
}

/// Where a site puts what is the same on every page. Inside the main part a header is the article's own.
fn is_around(name: &str, scope: Scope) -> bool {
    match name {
        "footer" => true,
        "header" | "aside" => scope == Scope::Page,
        _ => false,
    }
}

/// Said to be something else than the article by role.
fn has_role_of_interface(name: &str, attributes: Attributes<'_>) -> bool {
    const ROLES: [&str; 9] = [
        "navigation",
        "banner",
        "contentinfo",
        "search",
        "dialog",
        "alertdialog",
        "menu",
        "menubar",
        "toolbar",
    ];
    !is_whole(name)
        && attributes
            .get("role")
            .is_some_and(|role| ROLES.contains(&role.trim().to_ascii_lowercase().as_str()))
}

/// Marked as something else than the article by class or id.
fn is_marked(name: &str, attributes: Attributes<'_>, surroundings: Surroundings) -> bool {
    if is_whole(name) {
        return false;
    }
    // A heading is the article's own, and so are the words in it, whatever a theme calls their classes
    // (mdBook: `<h2><a class="header">`).
    let in_heading = is_heading(name) || (surroundings == Surroundings::Heading && !is_block(name));
    any_word(attributes, "class", is_unprinted)
        || (!in_heading
            && any_word(attributes, "class", |class| names_chrome(class) || is_permalink(class)))
        || (tells_by_id(name, attributes) && any_word(attributes, "id", names_chrome))
}

/// What holds the article; its classes and ids speak of the page.
fn is_whole(name: &str) -> bool {
    ["html", "body", "main", "article"].contains(&name)
}

fn is_heading(name: &str) -> bool {
    matches!(effect(name), Effect::Heading(_))
}

/// Whether the id of an element was chosen for what the element is. Generators make those of headings and sections
/// from the words of the heading: `<section id="feedback">` is what an article says on feedback.
fn tells_by_id(name: &str, attributes: Attributes<'_>) -> bool {
    const CONTAINERS: [&str; 8] = ["div", "nav", "aside", "ul", "ol", "form", "header", "footer"];
    // Sphinx before version 4, Pandoc and R Markdown write sections as `<div class="section" id="…">`.
    CONTAINERS.contains(&name) && !any_word(attributes, "class", |class| class == "section")
}

fn any_word(attributes: Attributes<'_>, source: &str, fits: impl Fn(&str) -> bool) -> bool {
    attributes.get(source).is_some_and(|value| value.split_whitespace().any(fits))
}

/// Whether an element is a link to the heading it stands in. Most show a sign only, some the heading's words
/// (as in `<a class="header-anchor"><span>Title`).
pub(super) fn is_permalink_in_heading(
    name: &str,
    attributes: Attributes<'_>,
    surroundings: Surroundings,
) -> bool {
    name == "a"
        && surroundings == Surroundings::Heading
        && any_word(attributes, "class", |class| class == "anchor" || is_permalink(class))
}

/// Whether the text of a permalink is a mere sign: `#`, a pilcrow, a chain, a glyph of an icon font (private use), or
/// the zero-width space that a style sheet puts a sign before.
pub(super) fn is_permalink_sign(text: &str) -> bool {
    const SIGNS: [char; 9] = ['#', '¶', '§', '∞', '🔗', '⚓', '\u{fe0f}', '\u{200b}', '\u{200d}'];
    let text = text.trim();
    !text.is_empty()
        && text.chars().all(|c| SIGNS.contains(&c) || matches!(c, '\u{e000}'..='\u{f8ff}'))
}

/// Classes of the permalinks of documentation generators and notebooks.
fn is_permalink(class: &str) -> bool {
    ["headerlink", "header-anchor", "anchor-link", "hash-link"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(class))
}

/// Classes of what is not on the page as a reader prints it: words for screen readers, links for editors.
fn is_unprinted(class: &str) -> bool {
    const CLASSES: [&str; 7] = [
        "sr-only",
        "visually-hidden",
        "visuallyhidden",
        "screen-reader-text",
        "mw-editsection",
        "editsection",
        "noprint",
    ];
    CLASSES.iter().any(|known| known.eq_ignore_ascii_case(class))
}

/// Class names and ids in wide use (documentation generators, wikis, help desks, consent tools) for parts around an
/// article.
fn names_chrome(word: &str) -> bool {
    const WORDS: [&str; 42] = [
        "navbar",
        "nav",
        "navigation",
        "site-nav",
        "navbox",
        "sidebar",
        "side-bar",
        "breadcrumb",
        "breadcrumbs",
        "toc",
        "table-of-contents",
        "tableofcontents",
        "on-this-page",
        "site-header",
        "site-footer",
        "page-footer",
        "header",
        "footer",
        "masthead",
        "skip-link",
        "skip-to-content",
        "skiplink",
        "skip-nav",
        "catlinks",
        "printfooter",
        "siteSub",
        "jump-to-nav",
        "pagination",
        "pager",
        "prev-next",
        "share",
        "social",
        "social-links",
        "edit-this-page",
        "edit-page-link",
        "feedback",
        "article-votes",
        "related-articles",
        "recent-articles",
        "newsletter",
        "search-box",
        "searchbox",
    ];
    let word = word.to_ascii_lowercase();
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(&word))
        || (word.contains("cookie")
            && ["banner", "consent", "notice", "bar", "popup"]
                .iter()
                .any(|part| word.contains(part)))
        || word.starts_with("onetrust")
        || word == "gdpr"
}
