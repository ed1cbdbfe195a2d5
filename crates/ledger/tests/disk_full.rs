//! A disk that takes no more. Alone in its program, because a process has one limit of file sizes.

#![expect(clippy::print_stdout, reason = "what was counted is worth seeing")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ledger::{Entry, Ledger, Settings, Store};
use tokio::signal::unix::{SignalKind, signal};

use crate::common::{Database, is_empty, plain, soon, until};

mod common;

/// `SIGXFSZ` on Linux; unhandled, it ends the process that makes a file too large.
const FILE_TOO_LARGE: i32 = 25;

/// Sets how large a file this process may make.
fn limit_files(bytes: &str) -> bool {
    let pid = std::process::id().to_string();
    let done = Command::new("prlimit")
        .args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")])
        .status();
    done.is_ok_and(|status| status.success())
}

/// Some 4 KB on disk.
fn large() -> Entry {
    Entry { trace: format!("{{\"note\": \"{}\"}}", "x".repeat(4000)), ..plain() }
}

async fn rows(path: &Path) -> u64 {
    let store = Store::open(path).await.expect("the log opens again");
    let rows = store.prune(std::time::SystemTime::now()).await.expect("a healthy disk");
    store.close().await;
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_costs_counted_rows_and_nothing_else() {
    let mut signals = signal(SignalKind::from_raw(FILE_TOO_LARGE)).expect("a signal there is");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings { queue: 100, batch: 16, ..Settings::STANDARD };
    for database in [None, Database::fresh().await] {
        let path = folder.path().join(format!("{}.sqlite", database.is_some()));
        let postgres = database.as_ref().map(Database::settings);
        let ledger = Ledger::start(&path, settings, postgres).await.expect("the log opens");
        let recorder = ledger.recorder();
        if !limit_files("600000") {
            println!("skipped: prlimit cannot limit files here");
            return;
        }
        let mut handed: u64 = 0;
        // Until the queue has filled behind a writer that cannot write.
        let filling = async {
            while recorder.counts().dropped < 500 {
                recorder.record(large());
                handed += 1;
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        };
        let filled = soon().run(filling).await;
        let full = recorder.counts();
        assert!(limit_files("unlimited"));
        assert!(filled.is_ok(), "{full:?}");
        assert!(signals.recv().await.is_some());
        // Bounded: what is neither on disk nor dropped is in the queue and one batch.
        assert!(full.queued - full.written <= 116, "{full:?}");
        assert_eq!(full.queued + full.dropped, handed);

        // Everything that was taken gets there once there is room.
        let written = until(&recorder, |counts| counts.written == counts.queued).await;
        assert_eq!(written.queued, full.queued);
        println!("{} of {handed} rows written, {} dropped", written.written, written.dropped);
        let Some(database) = database else {
            ledger.close(soon()).await;
            assert_eq!(rows(&path).await, written.written);
            continue;
        };
        until(&recorder, is_empty).await;
        ledger.close(soon()).await;
        let arrived = database.requests().await;
        assert_eq!(u64::try_from(arrived).expect("a count"), written.written);
        database.remove().await;
    }
}
