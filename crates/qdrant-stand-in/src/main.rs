//! `qdrant-stand-in`: a stand-in for Qdrant, to rehearse a deployment with.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Parser;
use qdrant_stand_in::{Settings, StandIn};

/// Speaks as much of Qdrant's gRPC as Kiwari does, in memory. It is not Qdrant and keeps nothing.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:6334")]
    bind: SocketAddr,
    /// A key that callers must send; without one, none is asked for.
    #[arg(long, env = "QDRANT_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

#[expect(clippy::print_stdout, reason = "says where it listens")]
fn main() -> anyhow::Result<()> {
    let Options { bind, api_key } = Options::parse();
    let stand_in = StandIn::start(Settings { bind, api_key, identity: None })
        .with_context(|| format!("cannot listen on {bind}"))?;
    println!("stand-in for Qdrant on {}", stand_in.url());
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(stopped())
        .context("cannot wait for a signal")
}

/// Returns at the first interrupt or request to end.
#[cfg(unix)]
async fn stopped() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}

/// Returns at the first interrupt.
#[cfg(not(unix))]
async fn stopped() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
