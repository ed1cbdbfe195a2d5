//! Sending, at a rate or with a fixed concurrency.

use std::thread;

use anyhow::anyhow;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::exchange::{Asking, Exchange, bodies};
use super::figures::Figures;
use super::options::Bench;
use super::questions;
use super::records::Records;
use super::schedule::{Arrival, Rate, moments, order, pace};
use super::tally::Tally;

/// Requests whose moment has come but that are not yet under way; far more than ever wait.
const QUEUE: usize = 1024;

/// Where what came of the requests goes.
struct Taken {
    tally: Tally,
    records: Records,
}

/// Sends all of `bench`'s requests and says what came of them.
///
/// # Errors
///
/// Questions that cannot be read, a server without an address, or a file that cannot be written. What befalls single
/// requests is in the figures.
pub(crate) async fn run(bench: &Bench) -> anyhow::Result<Figures> {
    let bodies = bodies(bench, &questions::read(&bench.questions)?)?;
    let asking = Asking::new(bench).await?;
    let mut taken = Taken { tally: Tally::new(bench.stream), records: Records::of(bench)? };
    let began = Instant::now();
    match (bench.rate, bench.concurrency) {
        (Some(rate), _) => open(bench, rate, &asking, &bodies, &mut taken).await?,
        (None, concurrency) => {
            let concurrency = concurrency.map_or(1, usize::from);
            closed(bench, concurrency, &asking, &bodies, &mut taken).await?;
        }
    }
    taken.records.finish()?;
    Ok(taken.tally.into_figures(began.elapsed()))
}

impl Taken {
    fn add(&mut self, exchange: &Exchange) -> anyhow::Result<()> {
        self.tally.add(exchange);
        self.records.add(exchange)
    }
}

/// Requests leave when planned.
async fn open(
    bench: &Bench,
    rate: Rate,
    asking: &Asking,
    bodies: &[Bytes],
    taken: &mut Taken,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let moments = moments(rate, bench.arrivals, bench.seed);
    let plan = (1..=bench.count.get()).zip(order(bodies.len(), bench.seed)).zip(moments);
    let plan = plan.map(move |((number, question), after)| Arrival {
        number,
        question,
        at: start + after,
    });
    let (sender, mut arrivals) = mpsc::channel(QUEUE);
    let pacer = thread::Builder::new().name("pacer".to_owned());
    let pacer = pacer.spawn(move || pace(plan, &sender))?;
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            Some(arrival) = arrivals.recv() => ask(&mut under_way, asking, bodies, arrival),
            Some(ended) = under_way.join_next() => taken.add(&ended?)?,
            else => break,
        }
    }
    pacer.join().map_err(|_panic| anyhow!("the pacing thread panicked"))
}

/// A request leaves when another has ended.
async fn closed(
    bench: &Bench,
    concurrency: usize,
    asking: &Asking,
    bodies: &[Bytes],
    taken: &mut Taken,
) -> anyhow::Result<()> {
    let mut numbered = (1..=bench.count.get()).zip(order(bodies.len(), bench.seed));
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < concurrency
            && let Some((number, question)) = numbered.next()
        {
            let arrival = Arrival { number, question, at: Instant::now() };
            ask(&mut under_way, asking, bodies, arrival);
        }
        let Some(ended) = under_way.join_next().await else { return Ok(()) };
        taken.add(&ended?)?;
    }
}

fn ask(under_way: &mut JoinSet<Exchange>, asking: &Asking, bodies: &[Bytes], arrival: Arrival) {
    // The order names places of `bodies` only.
    if let Some(body) = bodies.get(arrival.question) {
        under_way.spawn(asking.clone().exchange(arrival, body.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::{Arc, Barrier, mpsc};

    use clap::Parser;

    use super::*;
    use crate::bench::reply::tests::BODY;

    const COUNT: usize = 12;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: Bench,
    }

    /// A server that answers nobody before everybody has asked, and what everybody has said.
    fn patient_server() -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, hears) = mpsc::channel();
        let barrier = Arc::new(Barrier::new(COUNT));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (heard, barrier) = (heard.clone(), Arc::clone(&barrier));
                thread::spawn(move || answer(stream, &heard, &barrier));
            }
        });
        (address, hears)
    }

    fn answer(mut stream: TcpStream, heard: &mpsc::Sender<String>, barrier: &Barrier) {
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            let mut buffer = [0; 1024];
            let count = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
        }
        heard.send(String::from_utf8(request).unwrap()).unwrap();
        barrier.wait();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BODY.len());
        stream.write_all((head + BODY).as_bytes()).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_leave_whether_earlier_ones_have_been_answered_or_not() {
        let (address, heard) = patient_server();
        let folder = tempfile::tempdir().unwrap();
        let questions = folder.path().join("questions.txt");
        std::fs::write(&questions, "How?\nWhy?\n").unwrap();
        let (url, count) = (format!("http://{address}"), COUNT.to_string());
        let questions = questions.to_str().unwrap();
        let line = ["bench", "--url", &url, "--questions", questions, "--count", &count];
        let more = ["--rate", "500", "--seed", "9", "--budget-ms", "50"];
        let figures = run(&Line::parse_from([&line[..], &more].concat()).bench).await.unwrap();

        assert_eq!((figures.answered, figures.failed), (12, 0), "{figures:?}");
        let heard: Vec<String> = heard.try_iter().collect();
        for number in 1..=COUNT {
            let name = format!("x-request-id: bench-9-{number}\r\n");
            assert_eq!(heard.iter().filter(|request| request.contains(&name)).count(), 1);
        }
        let body = "{\"question\":\"How?\",\"budget_ms\":50}";
        assert_eq!(heard.iter().filter(|request| request.ends_with(body)).count(), COUNT / 2);
    }
}
