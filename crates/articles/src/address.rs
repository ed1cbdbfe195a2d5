//! Where a page stands on the site: from its front matter, which is not trusted, or from its path.

use std::fmt::Write as _;

use thiserror::Error;

use crate::metadata::Place;
use crate::problem::is_unprintable;
use crate::walk::Format;

/// Why a written address is not used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    #[error("is neither an http(s) URL nor a path")]
    Scheme,
    #[error("leads out of the site")]
    Foreign,
    #[error("holds characters that no address has")]
    Characters,
    #[error("holds placeholders")]
    Placeholders,
}

/// Checks a `url` or `permalink`.
pub(crate) fn parse_place(written: &str) -> Result<Place, Refusal> {
    if let Some(rest) = strip_web_scheme(written) {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // Text before an @ only looks like a host.
        if host.is_empty() || host.contains('@') {
            return Err(Refusal::Foreign);
        }
        reject_characters(written)?;
        return Ok(Place::Absolute(encode(written, Keep::Reserved)));
    }
    Ok(Place::FromRoot(format!("/{}", relative(written)?)))
}

/// Checks a `slug`: with a leading `/` a path from the root, else a name in the page's own folder.
pub(crate) fn parse_slug(written: &str) -> Result<Place, Refusal> {
    let path = relative(written)?;
    Ok(if written.starts_with('/') {
        Place::FromRoot(format!("/{path}"))
    } else {
        Place::Slug(path)
    })
}

fn strip_web_scheme(written: &str) -> Option<&str> {
    let (scheme, rest) = written.split_once("://")?;
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(rest)
}

/// The path without its leading `/`, percent-encoded.
fn relative(written: &str) -> Result<String, Refusal> {
    reject_characters(written)?;
    let path = written.strip_prefix('/').unwrap_or(written);
    let first = path.split('/').next().unwrap_or_default();
    if first.contains(':') {
        return Err(if written.starts_with(['/', ':']) {
            Refusal::Placeholders
        } else {
            Refusal::Scheme
        });
    }
    let inside = |segment: &str| {
        let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
        decoded != ".." && decoded != "."
    };
    let mut segments = path.trim_end_matches('/').split('/');
    if written.starts_with("//") || path.contains("//") || !segments.all(inside) {
        return Err(Refusal::Foreign);
    }
    if path.contains("/:") {
        return Err(Refusal::Placeholders);
    }
    Ok(encode(path, Keep::Reserved))
}

fn reject_characters(written: &str) -> Result<(), Refusal> {
    if written.chars().any(|c| is_unprintable(c) || c == '\\') {
        Err(Refusal::Characters)
    } else {
        Ok(())
    }
}

/// The page's URL: joined to `base` where there is one, else a path from the site's root.
pub(crate) fn url(path: &str, format: Format, place: Option<&Place>, base: Option<&str>) -> String {
    let from_root = match place {
        Some(Place::Absolute(url)) => return url.clone(),
        Some(Place::FromRoot(path)) => path.clone(),
        Some(Place::Slug(slug)) => format!("{}{slug}", encode_path(folder(path))),
        None => encode_path(&published(path, format)),
    };
    match base {
        Some(base) => format!("{}{from_root}", base.trim_end_matches('/')),
        None => from_root,
    }
}

/// The folder of a path, with its last `/`.
fn folder(path: &str) -> &str {
    path.rfind('/').and_then(|end| path.get(..=end)).unwrap_or_default()
}

/// The path a site generator gives a file: index pages stand for their folder, Markdown loses its extension and
/// HTML is served as it lies.
fn published(path: &str, format: Format) -> String {
    let folder = folder(path);
    let name = path.strip_prefix(folder).unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match format {
        _ if ["index", "_index", "readme"].iter().any(|index| stem.eq_ignore_ascii_case(index)) => {
            folder.to_owned()
        }
        Format::Html => path.to_owned(),
        Format::Markdown | Format::Mdx => format!("{folder}{stem}"),
    }
}

/// A root-relative path whose every segment is percent-encoded.
fn encode_path(path: &str) -> String {
    format!(
        "/{}",
        path.split('/')
            .map(|segment| encode(segment, Keep::Unreserved))
            .collect::<Vec<_>>()
            .join("/")
    )
}

/// A fragment, percent-encoded.
pub(crate) fn encode_fragment(anchor: &str) -> String {
    encode(anchor, Keep::Unreserved)
}

/// Which characters stay as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Only the unreserved set of RFC 3986 (section 2.3): for names that are not yet encoded.
    Unreserved,
    /// Also delimiters and `%`: for what someone wrote as an address.
    Reserved,
}

fn encode(text: &str, keep: Keep) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        let kept = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || (keep == Keep::Reserved && b"/:?#[]@!$&'()*+,;=%".contains(&byte));
        if kept {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn derived(path: &str, format: Format, expected: &str) {
        assert_eq!(url(path, format, None, None), expected);
    }

    #[test]
    fn an_address_is_derived_from_the_path() {
        derived("guide/plan.md", Format::Markdown, "/guide/plan");
        derived("guide/index.md", Format::Markdown, "/guide/");
        derived("README.md", Format::Markdown, "/");
        derived("guide/plan.html", Format::Html, "/guide/plan.html");
        derived("設定.md", Format::Markdown, "/%E8%A8%AD%E5%AE%9A");
        derived("#a?b=1&c%2f.md", Format::Markdown, "/%23a%3Fb%3D1%26c%252f");
        derived("new\nline.md", Format::Markdown, "/new%0Aline");
    }

    #[test]
    fn a_base_is_joined_to_everything_but_absolute_urls() {
        let at = |place: Place| {
            url("a/b.md", Format::Markdown, Some(&place), Some("https://help.example/"))
        };
        assert_eq!(at(Place::FromRoot("/plan".into())), "https://help.example/plan");
        assert_eq!(at(Place::Slug("plan".into())), "https://help.example/a/plan");
        assert_eq!(at(Place::Absolute("https://x.example/y".into())), "https://x.example/y");
    }

    #[track_caller]
    fn place(written: &str, expected: &Result<Place, Refusal>) {
        assert_eq!(parse_place(written), *expected, "{written:?}");
    }

    #[test]
    fn web_urls_and_paths_are_taken() {
        place(
            "https://help.example/a b",
            &Ok(Place::Absolute("https://help.example/a%20b".into())),
        );
        place("HTTP://help.example", &Ok(Place::Absolute("HTTP://help.example".into())));
        place("/a/設定/", &Ok(Place::FromRoot("/a/%E8%A8%AD%E5%AE%9A/".into())));
        place("a/b.html", &Ok(Place::FromRoot("/a/b.html".into())));
        place("/", &Ok(Place::FromRoot("/".into())));
        assert_eq!(parse_slug("a"), Ok(Place::Slug("a".into())));
        assert_eq!(parse_slug("/a"), Ok(Place::FromRoot("/a".into())));
    }

    #[test]
    fn everything_else_is_refused() {
        for (written, refusal) in [
            ("javascript:alert(1)", Refusal::Scheme),
            ("JaVaScRiPt://x/%0Aalert(1)", Refusal::Scheme),
            ("data:text/html,x", Refusal::Scheme),
            ("//evil.example/", Refusal::Foreign),
            ("/a//b", Refusal::Foreign),
            ("../../tmp/x", Refusal::Foreign),
            ("a/%2E%2e/b", Refusal::Foreign),
            ("/./a", Refusal::Foreign),
            ("https://help.example@evil.example/", Refusal::Foreign),
            ("https:///x", Refusal::Foreign),
            ("a\\b", Refusal::Characters),
            ("a\nb", Refusal::Characters),
            ("/:categories/:title/", Refusal::Placeholders),
        ] {
            place(written, &Err(refusal));
        }
    }
}
