//! [`Ledger`]: the running log.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deadline::Deadline;
use domain::Causes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::counts::{OutboxTallies, Tallies};
use crate::postgres::PgSettings;
use crate::shipper::Shipper;
use crate::thread::Thread;
use crate::writer::Writer;
use crate::{LedgerError, Recorder, Settings, Store};

/// How often the write-ahead log is folded into the file. The disk is waited for then, and a busy one lets whoever writes
/// meanwhile wait, too.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// How often rows that are past their retention are looked for.
pub(crate) const PRUNE_EVERY: Duration = Duration::from_secs(3600);

/// The running log. Dropping it without [`close`](Self::close) leaves the last moments' rows to chance.
#[derive(Debug)]
pub struct Ledger {
    recorder: Recorder,
    store: Store,
    writer: Thread,
    keeper: Task,
    shipper: Option<Task>,
}

/// A task that ends when told to.
#[derive(Debug)]
struct Task {
    running: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Ledger {
    /// Opens the log at `path` and starts writing; with a `postgres`, what has been written is moved there,
    /// rows from before included. Postgres may be away.
    ///
    /// # Errors
    ///
    /// [`LedgerError`] naming the file.
    pub async fn start(
        path: &Path,
        settings: Settings,
        postgres: Option<PgSettings>,
    ) -> Result<Self, LedgerError> {
        let store = Store::open(path).await?;
        let outbox = postgres.as_ref().map(|_| OutboxTallies::default());
        let tallies = Arc::new(Tallies { outbox, ..Tallies::default() });
        if let Some(outbox) = &tallies.outbox {
            outbox.found.set(store.depth().await?);
        }
        let (sender, receiver) = mpsc::channel(settings.queue);
        let writer = Writer { pen: store.pen(), settings, tallies: Arc::clone(&tallies) };
        let writer = Thread::start("latency-log", |stopped| writer.run(receiver, stopped))
            .map_err(LedgerError::Start)?;
        // What waits for Postgres is removed by whoever ships it.
        let retention = postgres.is_none().then_some(settings.retention);
        let kept = store.clone();
        let keeper = Task::start(|stopped| keep(kept, retention, stopped));
        let shipper = postgres.map(|postgres| {
            let shipper = Shipper::new(store.clone(), settings, postgres, Arc::clone(&tallies));
            Task::start(|stopped| shipper.run(stopped))
        });
        Ok(Self { recorder: Recorder::new(sender, tallies), store, writer, keeper, shipper })
    }

    /// The request path's end of the queue.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// The file, to read from.
    #[must_use]
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// Writes what is queued by now, ships what can be shipped, and ends, by `deadline` at the latest. What
    /// recorders that are still around hand over afterwards is dropped and counted; what has not been shipped
    /// is shipped by the next start.
    pub async fn close(self, deadline: Deadline) {
        let Self { recorder, store, writer, keeper, shipper } = self;
        if !writer.end(deadline).await {
            let counts = recorder.counts();
            tracing::warn!(
                queued.count = counts.queued,
                written.count = counts.written,
                "the latency log was not written to its end"
            );
        }
        if let Some(shipper) = shipper
            && !shipper.end(deadline).await
        {
            tracing::info!("the rest of the latency log is shipped after the next start");
        }
        // Closing folds what is left.
        keeper.end(deadline).await;
        // The file is closed when the process ends, if not here.
        let _in_time = deadline.run(store.close()).await;
    }
}

/// Folds the write-ahead log into the file now and then, so that the writer need not wait for the disk.
/// Folds, and removes what is past its `retention`.
async fn keep(store: Store, retention: Option<Duration>, mut stopped: oneshot::Receiver<()>) {
    let mut prune_at = Instant::now();
    loop {
        if let Some(retention) = retention
            && prune_at <= Instant::now()
        {
            prune_at = Instant::now() + PRUNE_EVERY;
            // What cannot be removed now is tried again then.
            if let Err(error) = prune(&store, retention).await {
                let error = Causes(&error);
                tracing::warn!(%error, "old rows of the latency log cannot be removed");
            }
        }
        tokio::select! {
            _ = &mut stopped => return,
            () = sleep(FOLD_EVERY) => {}
        }
        // What is not folded now is folded later, by the writer at the latest.
        if let Err(error) = store.fold().await {
            let error = Causes(&error);
            tracing::debug!(%error, "the latency log's journal cannot be folded");
        }
    }
}

/// Removes what is older than `retention`; says how many requests that were.
pub(crate) async fn prune(store: &Store, retention: Duration) -> Result<u64, LedgerError> {
    let before = SystemTime::now().checked_sub(retention).unwrap_or(SystemTime::UNIX_EPOCH);
    store.prune(before).await
}

impl Task {
    fn start<F: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        #[expect(clippy::disallowed_methods, reason = "the handle is kept and joined in end")]
        let running = tokio::spawn(work(stopped));
        Self { running, stop }
    }

    /// Whether it ended by itself before `deadline`.
    async fn end(self, deadline: Deadline) -> bool {
        let abort = self.running.abort_handle();
        // One that has ended already needs no telling.
        let _told = self.stop.send(());
        let ended = deadline.run(self.running).await.is_ok();
        abort.abort();
        ended
    }
}
