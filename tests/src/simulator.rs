//! [`Simulator`]: a running `kiwari simulate`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::binary::simulator;
use crate::http::{delete, get, put};

/// A simulator on a port of its own; killed when dropped.
#[derive(Debug)]
pub struct Simulator {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub address: String,
}

impl Simulator {
    /// Starts one with these arguments.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        let mut child = simulator(folder, more).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("its output is on a pipe");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let at = line.find("http://")?;
            let rest = line.get(at..)?;
            let end = rest.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(rest.len());
            rest.get(..end).map(|address| address.trim_end_matches('/').to_owned())
        });
        let address = address.expect("the simulator says where it listens");
        // Nobody reads on, but a full pipe must not stop it.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// The environment of a server that calls it as Gemini.
    #[must_use]
    pub fn as_gemini(&self) -> [(&'static str, &str); 2] {
        [("GEMINI_API_KEY", "test-key"), ("GEMINI_BASE_URL", &self.address)]
    }

    /// From now on every call of `stage` has the fault `kind`, and the other stage goes well.
    ///
    /// # Panics
    ///
    /// If there is no such fault.
    pub fn break_stage(&self, stage: &str, kind: &str) {
        self.set_faults(&json!({ stage: { "kind": kind, "rate": 1.0 } }));
    }

    /// Sets what goes wrong from now on.
    ///
    /// # Panics
    ///
    /// If it is no plan of faults.
    pub fn set_faults(&self, plan: &Value) {
        let reply = put(&format!("{}/admin/faults", self.address), plan);
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    /// Nothing goes wrong any more.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn mend(&self) {
        assert_eq!(delete(&format!("{}/admin/faults", self.address)).status, 200);
    }

    /// Every call so far.
    ///
    /// # Panics
    ///
    /// If it is gone.
    #[must_use]
    pub fn journal(&self) -> Vec<Value> {
        let journal = get(&format!("{}/admin/journal", self.address)).json();
        journal.as_array().expect("an array").clone()
    }

    /// Forgets the calls so far.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn clear_journal(&self) {
        assert_eq!(delete(&format!("{}/admin/journal", self.address)).status, 200);
    }

    /// Counts over the calls so far.
    #[must_use]
    pub fn summary(&self) -> Value {
        get(&format!("{}/admin/summary", self.address)).json()
    }

    /// Waits until no call is under way, for `patience` at most; whether that came.
    #[must_use]
    pub fn settles_within(&self, patience: Duration) -> bool {
        let step = Duration::from_millis(5);
        let steps = patience.as_millis() / step.as_millis() + 1;
        (0..steps).any(|_| {
            let open = self.summary()["open"].as_u64();
            if open != Some(0) {
                pause(step);
            }
            open == Some(0)
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own thread, which waits for a process")]
fn pause(step: Duration) {
    thread::sleep(step);
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
