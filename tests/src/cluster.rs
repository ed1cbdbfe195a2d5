//! [`Cluster`]: a whole Postgres server of a test's own, to be stopped and started.

use std::process::Command;

use crate::binary::repository;
use crate::database::psql;

/// A running Postgres server; removed when dropped.
#[derive(Debug)]
pub struct Cluster {
    name: String,
    url: String,
}

impl Cluster {
    /// `None`, and a word about it, where there is no Postgres to test with.
    ///
    /// # Panics
    ///
    /// If the Postgres that there should be does not start.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    pub fn start(name: &str) -> Option<Self> {
        if std::env::var_os("KIWARI_TEST_DATABASE_URL").is_none() {
            eprintln!("skipped: KIWARI_TEST_DATABASE_URL is not set, so there is no Postgres here");
            return None;
        }
        let name = format!("{name}-{}", std::process::id());
        let url = script("start", &name);
        Some(Self { name, url })
    }

    /// The address of its first database.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The rows that `sql` asks its first database for, columns apart by `|`.
    #[must_use]
    pub fn rows(&self, sql: &str) -> Vec<String> {
        psql(&self.url, sql).lines().map(str::to_owned).collect()
    }

    /// Ends every process of it at once: what it had not written is lost.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn crash(&self) {
        script("crash", &self.name);
    }

    /// Starts it from what is on its disk.
    ///
    /// # Panics
    ///
    /// If it does not start, or not where it was.
    pub fn start_again(&self) {
        assert_eq!(script("start", &self.name), self.url);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        script("stop", &self.name);
    }
}

/// What `scripts/postgres-for-tests` prints.
fn script(action: &str, name: &str) -> String {
    let output = Command::new(repository().join("scripts/postgres-for-tests"))
        .args([action, name])
        .output()
        .expect("the script runs");
    assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("an address is plain text").trim().to_owned()
}
