//! What on a page is not the article: navigation, banners, forms of consent, and everything a reader cannot see.

use super::attributes::Attributes;
use super::markup::{Host, Scope};

/// Whether an element and all inside it are to be left out.
pub(super) fn hides(name: &str, attributes: Attributes<'_>, host: Host) -> bool {
    if is_invisible(name, attributes) {
        return true;
    }
    match host {
        Host::Markdown => false,
        Host::Page(scope) => {
            is_interface(name) || is_around(name, scope) || is_marked(name, attributes)
        }
    }
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

/// Marked as something else than the article by role, class or id.
fn is_marked(name: &str, attributes: Attributes<'_>) -> bool {
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
    if ["html", "body", "main", "article"].contains(&name) {
        return false;
    }
    let role = attributes
        .get("role")
        .is_some_and(|role| ROLES.contains(&role.trim().to_ascii_lowercase().as_str()));
    role || ["class", "id"].iter().any(|source| {
        attributes.get(source).is_some_and(|value| value.split_whitespace().any(names_chrome))
    })
}

/// Class names and ids in wide use (documentation generators, wikis, help desks, consent tools) for parts around an
/// article.
fn names_chrome(word: &str) -> bool {
    const WORDS: [&str; 52] = [
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
        "sr-only",
        "visually-hidden",
        "visuallyhidden",
        "screen-reader-text",
        "headerlink",
        "header-anchor",
        "anchor-link",
        "mw-editsection",
        "editsection",
        "catlinks",
        "printfooter",
        "noprint",
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
