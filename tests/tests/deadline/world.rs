//! A small help center, a simulated API, and a server between them.

use std::time::Duration;

use system_tests::{Server, Simulator, kiwari_with};
use tempfile::TempDir;

/// Short, so that the suite is; every share is scaled with it.
pub(crate) const BUDGET_MS: u64 = 700;

const SETTINGS: &str = r#"
[budget]
total = "700ms"
reserve = "50ms"
embed = "100ms"
vector = "50ms"
generate = "150ms"
retrieval_cutoff = "300ms"
first_token_cutoff = "0s"

[embed]
embedder = "gemini"

[models."gemini-3.5-flash-lite"]
first_token = "20ms"
tokens_per_second = 2000.0
"#;

const PAGES: [(&str, &str); 3] = [
    (
        "reset.md",
        "# Reset your password\n\nOpen Settings and choose Reset password. A link to reset your password \
         arrives by mail within five minutes. If no mail arrives, look into the spam folder.\n",
    ),
    (
        "refund.md",
        "# Refunds\n\nAsk for a refund within fourteen days. The money is back on your card within a week.\n",
    ),
    (
        "export.md",
        "# Export photos\n\nOpen the album, choose Export and pick a folder for your photos.\n",
    ),
];

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) simulator: Simulator,
    _folder: TempDir,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with("[upstream]\nbreaker = \"off\"\n", &[])
    }

    pub(crate) fn start_with(more: &[&str]) -> Self {
        Self::with("[upstream]\nbreaker = \"off\"\n", more)
    }

    pub(crate) fn start_with_breaker() -> Self {
        Self::with("", &[])
    }

    fn with(settings: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path();
        let help = at.join("help");
        std::fs::create_dir(&help).expect("a writable folder");
        for (name, text) in PAGES {
            std::fs::write(help.join(name), text).expect("a writable folder");
        }
        std::fs::write(at.join("kiwari.toml"), format!("{SETTINGS}{settings}"))
            .expect("a writable folder");
        let simulator = Simulator::start(at, &["--retry-delay", "2s"]);
        let environment = simulator.as_gemini();
        let indexed =
            kiwari_with(at, &["index", "help", "--data-dir", "data"], environment.as_slice());
        assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
        let server = Server::start_with(at, more, &environment);
        Self { server, simulator, _folder: folder }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own thread, which waits for processes")]
pub(crate) fn pause(pause: Duration) {
    std::thread::sleep(pause);
}
