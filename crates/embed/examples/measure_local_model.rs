//! Measures the local model: load time, memory of an idle process, time of a question, passages a second.
//!
//! p50 and p99 are by the clock; on a busy machine the mean time on a core, as Linux counts it for the
//! thread, says more.
//!
//! `cargo run --release -p embed --example measure_local_model`

#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;
use std::{fs, io};

use deadline::CpuPool;
use embed::LocalEmbedder;
use tokio::time::Instant;

const QUESTIONS: [&str; 4] = [
    "password",
    "How do I reset my password if I no longer have my phone?",
    "解約方法",
    "スマートフォンを紛失した場合にパスワードを再設定するにはどうすればよいですか？",
];

const ENGLISH: &str = "Open Settings, choose Account and tap Sign-in methods. If the phone that receives \
    your codes is gone, use one of the ten recovery codes that you printed when you set it up; each works \
    once. Without them, ask an owner of the workspace to reset the second factor for you. ";

const JAPANESE: &str = "設定を開き、「アカウント」から「ログイン方法」を選びます。認証コードを受け取る電話が\
    手元にない場合は、設定時に印刷した復旧コードのいずれかを入力してください。コードは一度だけ使えます。";

fn main() -> Result<(), Box<dyn Error>> {
    let start = core_time()?;
    let embedder = LocalEmbedder::bundled(CpuPool::per_core())?;
    println!("load                {:?} on a core", core_time()?.saturating_sub(start));
    println!("idle process        {}", resident()?);

    for question in QUESTIONS {
        println!(
            "question            {}  {question}",
            times(2000, || embedder.embed_now(question))?
        );
    }
    for (name, sentence) in [("English", ENGLISH), ("Japanese", JAPANESE)] {
        let passage: String = sentence.chars().cycle().take(700).collect();
        println!("700 characters      {}  {name}", times(200, || embedder.embed_now(&passage))?);
    }
    let longest = JAPANESE.repeat(100);
    println!("longest text        {}", times(50, || embedder.embed_now(&longest))?);
    println!("process after use   {}", resident()?);
    Ok(())
}

fn times<T>(count: u32, work: impl Fn() -> T) -> io::Result<String> {
    let on_core_before = core_time()?;
    let timed = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    let mut times: Vec<_> = (0..count).map(timed).collect();
    let on_core = core_time()?.saturating_sub(on_core_before) / count;
    times.sort_unstable();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let per_second = 1.0 / on_core.as_secs_f64();
    Ok(format!("p50 {p50:?}  p99 {p99:?}  on a core {on_core:?}, {per_second:.0}/s"))
}

/// How long this thread has been on a core.
fn core_time() -> io::Result<Duration> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = statistics.split_whitespace().next().and_then(|first| first.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no scheduler statistics"))
}

/// The process's memory as Linux counts it.
fn resident() -> io::Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let lines =
        status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("RssAnon"));
    Ok(lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", "))
}
