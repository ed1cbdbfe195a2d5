//! [`StandIn`]: a running stand-in for Qdrant.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::binary::built;

/// A stand-in on a port of its own; killed when dropped, and what it holds with it.
#[derive(Debug)]
pub struct StandIn {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// What callers must send; empty: nothing.
    key: String,
}

impl StandIn {
    /// Starts an empty one.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn start() -> Self {
        Self::asking_for("")
    }

    /// The same, which wants to be told `key`.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn asking_for(key: &str) -> Self {
        let (child, url) = spawn("127.0.0.1:0", key);
        Self { child, url, key: key.to_owned() }
    }

    /// Ends it and starts another one at the same address, which holds nothing.
    ///
    /// # Panics
    ///
    /// If it does not listen there.
    pub fn start_anew(&mut self) {
        self.end();
        (self.child, self.url) = spawn(self.host(), &self.key);
    }

    /// `HOST:PORT`.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Ends it.
    pub fn end(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(bind: &str, key: &str) -> (Child, String) {
    let key = (!key.is_empty()).then_some(("QDRANT_API_KEY", key));
    let mut child = Command::new(built("qdrant-stand-in"))
        .args(["--bind", bind])
        .env_clear()
        .envs(key)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = child.stdout.take().expect("its output is on a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let url = lines.find_map(|line| Some(line.get(line.find("http://")?..)?.to_owned()));
    let url = url.expect("it says where it listens");
    (child, url.trim_end_matches('/').to_owned())
}
