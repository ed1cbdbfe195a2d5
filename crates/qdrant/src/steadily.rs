//! [`steadily`]: a call of a run, which may be repeated.

use std::future::Future;
use std::time::Duration;

use deadline::Deadline;
use tokio::time::sleep;
use tonic::{Response, Status};

use crate::QdrantError;
use crate::client::{ask, server_limit};

/// How long one call may take. A batch takes a tenth of a second; making a payload index for a full
/// collection, several.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// How long to wait before each repetition: long enough for a server to be restarted. A run that has embedded
/// for an hour should not end for a broken connection.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_secs(2),
    Duration::from_secs(8),
];

/// Calls, and calls again while the error is one that passes and `deadline` allows. What is called must do
/// the same when it is called twice. It is given the limit that the server is to keep, in seconds.
pub(crate) async fn steadily<T, C>(
    doing: &'static str,
    deadline: Deadline,
    call: impl Fn(u64) -> C,
) -> Result<T, QdrantError>
where
    C: Future<Output = Result<Response<T>, Status>>,
{
    let once = || async {
        let limit = deadline.slice(CALL_LIMIT, Duration::ZERO);
        ask(doing, limit, call(server_limit(limit))).await
    };
    for pause in PAUSES {
        let error = match once().await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let Some(asked) = error.passes_after() else { return Err(error) };
        if deadline.run(sleep(pause.max(asked))).await.is_err() {
            return Err(error);
        }
    }
    once().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tonic::Code;

    use super::*;

    /// Calls that fail with `code` as often as `failures` says; how often it was called, and what came of it.
    async fn called(
        code: Code,
        failures: usize,
        budget: Duration,
    ) -> (usize, Result<(), QdrantError>) {
        let calls = AtomicUsize::new(0);
        let outcome = steadily("test", Deadline::after(budget), |_limit| {
            let failing = calls.fetch_add(1, Ordering::Relaxed) < failures;
            async move {
                if failing { Err(Status::new(code, "as told")) } else { Ok(Response::new(())) }
            }
        })
        .await;
        (calls.into_inner(), outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_repeated_and_what_does_not_is_not() {
        let minute = Duration::from_secs(60);
        assert!(matches!(called(Code::Unavailable, 4, minute).await, (5, Ok(()))));
        assert!(matches!(called(Code::Unavailable, 9, minute).await, (5, Err(_))));
        assert!(matches!(called(Code::InvalidArgument, 1, minute).await, (1, Err(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn no_repetition_begins_after_the_deadline() {
        let (calls, outcome) = called(Code::Unavailable, 9, Duration::from_millis(600)).await;
        assert_eq!(calls, 3);
        assert!(outcome.is_err_and(|error| error.code() == Some(Code::Unavailable)));
    }
}
