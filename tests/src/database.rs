//! [`Database`]: a Postgres database of a test's own.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A database, dropped with it.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// `None`, and a word about it, where there is no Postgres to test with.
    ///
    /// # Panics
    ///
    /// If the Postgres that there should be makes none.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    pub fn fresh() -> Option<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let Some(server) = std::env::var_os("KIWARI_TEST_DATABASE_URL") else {
            eprintln!(
                "skipped: KIWARI_TEST_DATABASE_URL is not set; scripts/postgres-for-tests prints one"
            );
            return None;
        };
        let server = server.into_string().expect("an address is plain text");
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiwari_whole_{}_{made}", std::process::id());
        psql(&server, &format!("CREATE DATABASE {name}"));
        Some(Self { server, name })
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        let (host, _) = self.server.rsplit_once('/').expect("an address with a database");
        format!("{host}/{}", self.name)
    }

    /// Its address, as seen through a [`Gate`](crate::Gate) on `port`.
    #[must_use]
    pub fn url_through(&self, port: u16) -> String {
        self.url().replace(&self.host(), &format!("127.0.0.1:{port}"))
    }

    /// `HOST:PORT` of the server.
    #[must_use]
    pub fn host(&self) -> String {
        let (_, rest) = self.server.split_once('@').expect("user@host");
        rest.split('/').next().expect("host:port").to_owned()
    }

    /// Another one, and empty, takes its place under the same address.
    pub fn replace(&self) {
        psql(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        psql(&self.server, &format!("CREATE DATABASE {}", self.name));
    }

    /// Its address, for the role `user` with `password`.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("postgres://{user}:{password}@{}/{}", self.host(), self.name)
    }

    /// The rows that `sql` asks for, columns apart by `|`.
    #[must_use]
    pub fn rows(&self, sql: &str) -> Vec<String> {
        psql(&self.url(), sql).lines().map(str::to_owned).collect()
    }

    /// The one number that `sql` asks for.
    #[must_use]
    pub fn number(&self, sql: &str) -> u64 {
        psql(&self.url(), sql).trim().parse().expect("a number")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _nothing =
            psql(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// What plain `psql` prints of `sql`: columns apart by `|`, no headings.
pub(crate) fn psql(url: &str, sql: &str) -> String {
    let output = Command::new("psql")
        .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        .output()
        .expect("psql comes with Postgres");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
