//! Measures the local model: load time, memory of an idle process, latency of a question, passages a second.
//!
//! `cargo run --release -p embed --example measure_local_model`

#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::hint::black_box;
use std::time::Duration;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let embedder = LocalEmbedder::bundled(CpuPool::per_core())?;
    println!("load                {:?}", start.elapsed());
    println!("idle process        {}", resident()?);

    for question in QUESTIONS {
        let times = sorted_times(1000, || embedder.embed_now(question));
        println!("question            p50 {:?}  p99 {:?}  {question}", times[500], times[990]);
    }
    for (name, sentence) in [("English", ENGLISH), ("Japanese", JAPANESE)] {
        let passage: String = sentence.chars().cycle().take(700).collect();
        let times = sorted_times(100, || embedder.embed_now(&passage));
        let per_second = 1.0 / times[50].as_secs_f64();
        println!(
            "700 characters      p50 {:?}  p99 {:?}  {per_second:.0}/s  {name}",
            times[50], times[99]
        );
    }
    println!(
        "longest text        {:?}",
        sorted_times(20, || embedder.embed_now(&JAPANESE.repeat(100)))[10]
    );
    println!("process after use   {}", resident()?);
    Ok(())
}

fn sorted_times<T>(count: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    let timed = |work: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    let mut times: Vec<_> = (0..count).map(|_| timed(&mut work)).collect();
    times.sort_unstable();
    times
}

/// The process's memory as Linux counts it.
fn resident() -> std::io::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let lines =
        status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("RssAnon"));
    Ok(lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", "))
}
