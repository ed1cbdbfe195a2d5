//! [`Records`]: what came of each request, for whoever wants to count it in another way.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde::Serialize;
use tokio::time::Instant;

use super::exchange::{Exchange, name};
use super::figures::in_ms;
use super::options::Bench;
use super::reply::StageTime;

/// A file with one JSON object a request, in the order of their ends; or nothing, if nobody wants one.
#[derive(Debug)]
pub(crate) struct Records {
    file: Option<BufWriter<File>>,
    seed: u64,
    /// One moment, on both clocks.
    began: (Instant, SystemTime),
}

/// Times are in milliseconds.
#[derive(Debug, Serialize)]
struct Record<'a> {
    /// What it was called towards the server.
    name: String,
    /// When it was to be sent, from the Unix epoch.
    planned_unix_ms: f64,
    /// From the planned moment to the last byte, or to the failure.
    latency_ms: f64,
    /// The same from the sending; `null` of one that never was sent.
    latency_from_send_ms: Option<f64>,
    status: Option<u16>,
    /// The server's own name for it; `null` where there is no answer, as are the next two.
    id: Option<&'a str>,
    kind: Option<&'a str>,
    degraded: Option<bool>,
    /// As the answer has them.
    stages: &'a [StageTime],
    failure: Option<String>,
}

impl Records {
    /// The file that `bench` asks for, empty.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub(crate) fn of(bench: &Bench) -> anyhow::Result<Self> {
        let create = |path: &PathBuf| {
            File::create(path).with_context(|| format!("cannot write {}", path.display()))
        };
        let file = bench.requests.as_ref().map(create).transpose()?.map(BufWriter::new);
        Ok(Self { file, seed: bench.seed, began: (Instant::now(), SystemTime::now()) })
    }

    /// Writes one exchange.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub(crate) fn add(&mut self, exchange: &Exchange) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        serde_json::to_writer(&mut *file, &Record::of(exchange, self.seed, self.began))?;
        Ok(file.write_all(b"\n")?)
    }

    /// Everything is in the file.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| Ok(file.flush()?))
    }
}

impl<'a> Record<'a> {
    fn of(exchange: &'a Exchange, seed: u64, (began, at): (Instant, SystemTime)) -> Self {
        let reply = exchange.reply.as_ref().ok();
        let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let took = |since| in_ms(exchange.ended.saturating_duration_since(since));
        Self {
            name: name(seed, exchange.number),
            planned_unix_ms: in_ms(since_epoch + exchange.planned.saturating_duration_since(began)),
            latency_ms: took(exchange.planned),
            latency_from_send_ms: exchange.sent.map(took),
            status: exchange.status,
            id: reply.map(|reply| reply.id.as_str()),
            kind: reply.map(|reply| reply.kind.as_str()),
            degraded: reply.map(|reply| reply.degraded),
            stages: reply.map_or(&[], |reply| &reply.stages),
            failure: exchange.reply.as_ref().err().map(ToString::to_string),
        }
    }
}
