//! [`Thread`]: a future with a thread of its own.

use std::future::{Future, pending};
use std::io;
use std::thread;

use deadline::Deadline;
use tokio::runtime;
use tokio::sync::oneshot;

/// A future that runs on a thread of its own until it is told to stop. The threads of the runtime are busiest with
/// requests just when there is most to write.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Closed when it has ended.
    ended: oneshot::Receiver<()>,
    stop: oneshot::Sender<()>,
    abort: oneshot::Sender<()>,
}

impl Thread {
    /// Starts `work`, which ends soon after what it is given is ready.
    ///
    /// # Errors
    ///
    /// No thread, or no clock for it, can be had.
    pub(crate) fn start<F: Future<Output = ()> + 'static>(
        name: &str,
        work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (abort, aborted) = oneshot::channel();
        let (ending, ended) = oneshot::channel();
        let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
        let run = move || {
            let _until_the_end = ending;
            runtime.block_on(async {
                tokio::select! {
                    () = work(stopped) => {}
                    () = told(aborted) => {}
                }
            });
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { ended, stop, abort })
    }

    /// Whether it ended by itself before `deadline`; afterwards it is cut off where it waits.
    pub(crate) async fn end(self, deadline: Deadline) -> bool {
        // One that has ended already needs no telling.
        let _told = self.stop.send(());
        let ended = deadline.run(self.ended).await.is_ok();
        let _told = self.abort.send(());
        ended
    }
}

/// Ready once it has been said in so many words; a sender that is merely gone says nothing.
async fn told(word: oneshot::Receiver<()>) {
    if word.await.is_err() {
        pending::<()>().await;
    }
}
