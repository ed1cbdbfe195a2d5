//! The data directory: whether it can be used, has room, and what of the latency log lies in it.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ingest::DataDir;
use ledger::{LedgerError, Store, Waiting};

use super::check::{Check, bounded};
use super::words::{age, bytes, chain, counted};
use crate::config::Config;

const DIRECTORY: &str = "data.directory";
const DISK: &str = "data.disk";
const LOG: &str = "data.log";

/// With less room than this, an index or an outbox that grows meets the end of the disk.
const LITTLE: u64 = 1 << 30;
const ALMOST_NONE: u64 = 64 << 20;

/// Rows reach a Postgres that is well within seconds.
const LONG_WAIT: Duration = Duration::from_secs(300);

/// How long the disk may take; one behind a network that has gone takes for ever.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn examine(config: &Config) -> Vec<Check> {
    let path = config.data_dir.clone();
    let is_shared = config.secrets.database.is_some();
    let is_there = Arc::new(AtomicBool::new(false));
    let found = Arc::clone(&is_there);
    let looking = on_a_thread(DIRECTORY, move || {
        found.store(path.is_dir(), Ordering::Relaxed);
        directory(&path, is_shared)
    });
    let directory = bounded(DIRECTORY, PATIENCE, looking).await;
    if !is_there.load(Ordering::Relaxed) {
        return vec![directory];
    }
    let path = config.data_dir.clone();
    let log = log(DataDir::new(&path).ledger(), is_shared);
    let measuring = on_a_thread(DISK, move || disk(&path));
    let (disk, log) = tokio::join!(bounded(DISK, PATIENCE, measuring), bounded(LOG, PATIENCE, log));
    vec![directory, disk, log]
}

/// Disks can hang, and whoever waits for one must not be a thread that others need.
async fn on_a_thread(id: &'static str, look: impl FnOnce() -> Check + Send + 'static) -> Check {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|stopped| Check::failed(id, stopped.to_string(), "look again"))
}

fn directory(path: &Path, is_shared: bool) -> Check {
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound && !may_be_made(path) => {
            let detail = format!("{shown} is not there, and cannot be made");
            let advice = "name another folder in data.dir, or let its parent be written by kiwari";
            return Check::failed(DIRECTORY, detail, advice);
        }
        Err(error) if error.kind() == ErrorKind::NotFound && is_shared => {
            return Check::ok(
                DIRECTORY,
                format!("{shown} is not there yet; `kiwari serve` makes it"),
            );
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let detail = format!("{shown} is not there");
            return Check::failed(DIRECTORY, detail, "`kiwari index DIR` makes it");
        }
        Err(error) => {
            let detail = format!("{shown} cannot be looked at: {error}");
            return Check::failed(DIRECTORY, detail, "see data.dir and the folders above it");
        }
    };
    if !found.is_dir() {
        let detail = format!("{shown} is a file");
        return Check::failed(DIRECTORY, detail, "name a folder in data.dir");
    }
    let whose = whose(&found);
    match tempfile::tempfile_in(path) {
        Ok(_written) if found.mode() & 0o002 != 0 => Check::warning(
            DIRECTORY,
            format!("{shown} can be written by everybody on this machine ({whose})"),
            format!("chmod o-w {shown}"),
        ),
        Ok(_written) => Check::ok(DIRECTORY, format!("{shown} can be written ({whose})")),
        Err(error) => {
            let detail = format!("{shown} cannot be written: {error} ({whose})");
            let me = rustix::process::geteuid().as_raw();
            let advice = format!("give it to the user that kiwari runs as: chown -R {me} {shown}");
            Check::failed(DIRECTORY, detail, advice)
        }
    }
}

/// Whether the nearest folder above `path` that is there takes a new file, and so a new folder.
fn may_be_made(path: &Path) -> bool {
    // Of a name without folders, the nearest one above is where we are.
    let above = path.ancestors().skip(1);
    let here =
        |above: &Path| if above.as_os_str().is_empty() { ".".into() } else { above.to_owned() };
    let mut above = above.map(here).filter(|above: &PathBuf| above.exists());
    above.next().is_some_and(|above| tempfile::tempfile_in(above).is_ok())
}

fn whose(found: &Metadata) -> String {
    let (owner, me) = (found.uid(), rustix::process::geteuid().as_raw());
    let mode = found.mode() & 0o7777;
    if owner == me {
        format!("ours, mode {mode:03o}")
    } else {
        format!("of user {owner}, mode {mode:03o}; we are user {me}")
    }
}

fn disk(path: &Path) -> Check {
    let found = match rustix::fs::statvfs(path) {
        Ok(found) => found,
        Err(error) => {
            let detail = format!("cannot say how much room there is: {error}");
            return Check::warning(DISK, detail, "look with `df`");
        }
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let total = found.f_blocks.saturating_mul(found.f_frsize);
    // File systems that make them as they need them count none.
    let no_files = found.f_files > 0 && found.f_favail == 0;
    judged(free, total, no_files)
}

fn judged(free: u64, total: u64, no_files: bool) -> Check {
    let detail = format!("{} free of {}", bytes(free), bytes(total));
    let advice = "make room: indexes and the latency log need it, and rows that cannot be written are dropped";
    if no_files {
        Check::failed(DISK, format!("{detail}, and no more files can be made"), advice)
    } else if free < ALMOST_NONE {
        Check::failed(DISK, detail, advice)
    } else if free < LITTLE {
        Check::warning(DISK, detail, advice)
    } else {
        Check::ok(DISK, detail)
    }
}

async fn log(path: PathBuf, is_outbox: bool) -> Check {
    if !path.is_file() {
        return Check::ok(LOG, "there is none yet; `kiwari serve` writes one");
    }
    let waiting = async {
        let store = Store::open(&path).await?;
        let waiting = store.waiting().await;
        store.close().await;
        waiting
    };
    match waiting.await {
        Ok(waiting) if is_outbox => outbox(waiting),
        Ok(waiting) => {
            let since = waiting.age(SystemTime::now());
            let since =
                since.map_or(String::new(), |since| format!(", the oldest {} old", age(since)));
            Check::ok(LOG, format!("opens; {}{since}", counted(waiting.requests, "request")))
        }
        Err(error) => unreadable(&path, &error),
    }
}

fn outbox(waiting: Waiting) -> Check {
    let Some(oldest) = waiting.age(SystemTime::now()) else {
        return Check::ok(LOG, "opens; every request has arrived in Postgres");
    };
    let detail = format!(
        "{} yet to arrive in Postgres, the oldest for {}",
        counted(waiting.requests, "request"),
        age(oldest)
    );
    if oldest > LONG_WAIT {
        let advice =
            "they leave while `kiwari serve` runs here and Postgres takes them; none is lost";
        Check::warning(LOG, detail, advice)
    } else {
        Check::ok(LOG, detail)
    }
}

fn unreadable(path: &Path, error: &LedgerError) -> Check {
    let advice = format!(
        "see who owns {0}; if it is damaged, move it away: `kiwari serve` writes a new one",
        path.display()
    );
    Check::failed(LOG, chain(error), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn little_room_is_told_before_there_is_none() {
        let state = |free| judged(free, 1 << 40, false).state;
        assert_eq!(state(2 << 30), State::Ok);
        assert_eq!(state((1 << 30) - 1), State::Warning);
        assert_eq!(state(0), State::Failed);
        assert_eq!(judged(1 << 40, 1 << 40, true).state, State::Failed);
    }
}
