//! HTML, as pages of its own and as pieces inside Markdown.
//!
//! Read as a stream of tags with a list of what is open: there is no tree that could be too deep to walk or to drop.

mod attributes;
mod chrome;
mod element;
mod markup;

pub(crate) use self::element::alternative_text;
pub(crate) use self::markup::{Host, Markup};
use self::markup::{Scope, Titles};
use crate::anchor::AnchorStyle;
use crate::outline::{Body, Outline};

/// Reads a page. Its title is its first `h1`, or its `title` element.
pub(crate) fn read(source: &str) -> Body {
    // The narrowest part that holds text is the page without the site around it.
    let scopes = [Scope::Main, Scope::Article];
    let narrow = scopes
        .into_iter()
        .filter(|scope| scope.may_occur_in(source))
        .map(|scope| read_within(source, scope));
    narrow
        .into_iter()
        .find(|body| !body.sections.is_empty())
        .unwrap_or_else(|| read_within(source, Scope::Page))
}

fn read_within(source: &str, scope: Scope) -> Body {
    let mut outline = Outline::new(AnchorStyle::Written);
    let mut markup = Markup::new(Host::Page(scope));
    markup.feed(source, &mut outline);
    let Titles { heading, element } = markup.finish(&mut outline);
    let mut body = outline.finish();
    body.title = body.title.or(heading).or(element);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `title` and every section as `headings#anchor: text`.
    #[track_caller]
    fn check(source: &str, title: Option<&str>, expected: &[&str]) {
        let body = read(source);
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
    }

    #[track_caller]
    fn text(source: &str, expected: &str) {
        let body = read(source);
        let texts: Vec<_> = body.sections.iter().map(|section| section.text.as_str()).collect();
        assert_eq!(texts.join("\n==\n"), expected, "{source}");
    }

    #[test]
    fn the_site_around_the_page_is_left_out() {
        check(
            "<!doctype html><html><head><title>Plans - Help</title><style>p{}</style></head><body>\
             <header><a href='#main'>Skip to content</a>Site</header><nav>Home Pricing</nav>\
             <main><h1>Change your plan</h1><p>Open Billing.</p></main>\
             <aside>Ads</aside><footer>Terms</footer></body></html>",
            Some("Change your plan"),
            &[": Open Billing."],
        );
        check(
            "<title>Plan</title><nav>Home</nav><div class='cookie-banner'>Accept</div><p>Open Billing.</p><footer>Terms</footer>",
            Some("Plan"),
            &[": Open Billing."],
        );
        check(
            "<header><h1>Plan</h1></header><main><p>Open.</p></main>",
            Some("Plan"),
            &[": Open."],
        );
        text("<div role='navigation'>Home</div><p>Open.</p><div id='sidebar'>More</div>", "Open.");
        text("<a href='#c'>Skip to content</a><p>Open.</p>", "Open.");
        text("<main></main><p>Open.</p>", "Open.");
    }

    #[test]
    fn ids_made_from_headings_hide_nothing() {
        for id in ["navigation", "feedback", "share", "pagination", "newsletter", "cookie-notice"] {
            let section = format!("<section id={id}><h2>Head</h2><p>a</p></section><p>b</p>");
            check(&section, None, &["Head: a\n\nb"]);
            let division = format!("<div class='section level2' id={id}><h2>Head</h2>a</div>");
            check(&division, None, &["Head: a"]);
            check(&format!("<h2 id={id}>Head</h2>a"), None, &[&format!("Head#{id}: a")]);
            text(&format!("<dl><dt id={id}>a<dd>b</dl>"), "a\nb");
            text(&format!("<div id={id}>Around</div><p>a</p>"), "a");
            text(&format!("<ul id={id}><li>Around</ul><p>a</p>"), "a");
        }
    }

    #[test]
    fn a_heading_keeps_its_words_and_loses_its_signs() {
        for heading in [
            "<h2 id=x><a class=header href='#x'>Head</a></h2>",
            "<h2 id=x class=header>Head</h2>",
            "<h2 id=x><span class=header>Head</span></h2>",
            "<h2 id=x><a class=header-anchor href='#x'><span>Head</span></a></h2>",
            "<h2 id=x>Head<a class=headerlink href='#x'>¶</a></h2>",
            "<h2 id=x>Head<a class=headerlink href='#x'>\u{f0c1}</a></h2>",
            "<h2 id=x><a class=header-anchor href='#x'>#</a> Head</h2>",
            "<h2 id=x><a class=anchor href='#x'><span>&#182;</span></a>Head</h2>",
            "<h2 id=x>Head<a class=hash-link href='#x'>\u{200b}</a></h2>",
            "<h2 id=x>Head<span class=mw-editsection>[<a href='/e'>edit</a>]</span></h2>",
            "<h2 id=x>Head<a class=sr-only href='#x'>Permalink</a></h2>",
        ] {
            check(&format!("{heading}<p>a</p>"), None, &["Head#x: a"]);
        }
        check("<h2>C<a href='/sharp'>#</a></h2>a", None, &["C#: a"]);
        check("<h2 class=sr-only>Site</h2><p>a</p>", None, &[": a"]);
        text("<dl><dt>a<a class=headerlink href='#a'>Permalink</a><dd>b</dl>", "a\nb");
        check(
            "<header><h1>Plan<a class=headerlink href='#p'>¶</a></h1></header><main>a</main>",
            Some("Plan"),
            &[": a"],
        );
    }

    #[test]
    fn hidden_and_active_content_is_left_out() {
        text(
            "<p>a<span style='display: none'>b</span><span hidden>c</span><i aria-hidden=true>d</i><!-- e --></p>\
             <script>f</script><template>g</template><svg><text>h</text></svg><iframe srcdoc='i'>j</iframe>",
            "a",
        );
        text(
            "<p>see <a href='javascript:alert(1)'>this</a> <img src=x onerror=alert(1) alt='Save button'></p>",
            "see this Save button",
        );
    }

    #[test]
    fn sections_have_the_ids_of_their_headings() {
        check(
            "<h1>T</h1><p>a</p><h2 id=x>One</h2><p>b</p><h3><a name=y></a>Two</h3>c<h2>Three</h2>d<a name=z></a><h2>Four</h2>e",
            Some("T"),
            &[": a", "One#x: b", "One > Two#y: c", "Three: d", "Four#z: e"],
        );
    }

    #[test]
    fn lists_tables_and_code_are_written_down() {
        text("<ul><li>a<li>b<ol start=3><li>c</ol></ul><p>d", "- a\n- b\n  3. c\n\nd");
        text(
            "<table><tr><th>Plan<th>Price<tr><td>Free<td>0<tr><td>Pro<td>9</table>",
            "Plan: Free | Price: 0\nPlan: Pro | Price: 9",
        );
        text("<p>Run<pre>if x:\n    y()</pre>then<br>wait", "Run\n\nif x:\n    y()\n\nthen\nwait");
        text(
            "<dl><dt>Plan<dd>What you pay.<dt>Seat<dd>A person.</dl>",
            "Plan\nWhat you pay.\n\nSeat\nA person.",
        );
    }

    #[test]
    fn tag_soup_is_read_like_a_browser_would() {
        text("<p>a<p hidden>b<p>c</b></div>d", "a\n\ncd");
        text("<table><tr><td><b>a</table><p>b", "a\n\nb");
        text("x &amp; y &lt;b&gt; &copy;", "x & y <b> ©");
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = 20_000;
        text(&format!("{}a{}", "<div>".repeat(deep), "</div>".repeat(deep)), "a");
        let soup = |start: &str, tags: &str| {
            format!("{start}{}{}a", "<i>".repeat(2_000), tags.repeat(2_000))
        };
        assert_eq!(read(&soup("<li><table>", "<li></li>")).sections.len(), 1);
        assert_eq!(read(&soup("<b><table>", "</b>")).sections.len(), 1);
    }
}
