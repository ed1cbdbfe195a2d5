//! [`Server`]: a running `kiwari serve`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::binary::start;

/// A server on a port of its own; killed when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub address: String,
    log: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

/// How long a server may take to listen, on a machine busy with other tests.
const START: Duration = Duration::from_secs(60);

impl Server {
    /// Serves the data directory `data` under `folder`.
    ///
    /// # Panics
    ///
    /// If it does not listen in time.
    #[must_use]
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        Self::start_with(folder, more, &[])
    }

    /// The same, with these environment variables.
    ///
    /// # Panics
    ///
    /// If it does not listen in time.
    #[must_use]
    pub fn start_with(folder: &Path, more: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut arguments = vec!["serve", "--data-dir", "data", "--bind", "127.0.0.1:0"];
        arguments.extend(more);
        let mut child = start(folder, &arguments, environment);
        let stderr = child.stderr.take().expect("the log is on a pipe");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (listening, address) = mpsc::channel();
        let lines = Arc::clone(&log);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let value: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if value["message"] == "listening" {
                    // Nobody waits for it any more once it has been given up.
                    let _given_up = listening.send(value["address"].as_str().map(str::to_owned));
                }
                lines.lock().expect("no reader panics").push(value);
            }
        });
        let address = address.recv_timeout(START).ok().flatten();
        let address = address.unwrap_or_else(|| panic!("no server: {:?}", log.lock()));
        Self { child, address: format!("http://{address}"), log, reader: Some(reader) }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` by its name, such as `TERM`.
    ///
    /// # Panics
    ///
    /// If it cannot be sent.
    pub fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill")
            .args([format!("-{signal}"), self.pid().to_string()])
            .status()
            .expect("kill is everywhere");
        assert!(sent.success());
    }

    /// Kills it here and now, without a process of its own for that.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
    }

    /// Waits for its end, then gives its status and every log line.
    ///
    /// # Panics
    ///
    /// If it cannot be waited for.
    #[must_use]
    pub fn join(mut self) -> (ExitStatus, Vec<Value>) {
        let status = self.child.wait().expect("a child can be waited for");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
        let log = self.log.lock().expect("no reader panics").clone();
        (status, log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
