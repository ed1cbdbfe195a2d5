//! `kiwari demo`.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::Context;
use articles::ReadOptions;
use domain::AppName;

use crate::cli::Demo;
use crate::commands::serve::serve;
use crate::compose::Engine;
use crate::config::{Config, EmbedderChoice, LogFormat};
use crate::index_folder::index_folder;
use crate::{demo_help, logging, output, stores};

pub(crate) async fn run(config: &Config, arguments: &Demo) -> anyhow::Result<ExitCode> {
    let _log = logging::start(LogFormat::Text);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = server::bind(address, false)
        .await
        .context("the demo cannot listen; choose another port with --port")?;
    let address = listener.local_addr()?;
    // Everything of the demo lies here and is gone when it ends.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let help = folder.path().join("help");
    std::fs::create_dir(&help)?;
    demo_help::write_to(&help).context("cannot write the sample help center")?;

    let engine = Engine::load(config)?;
    let stores = stores::embedded(&folder.path().join("data")).await?;
    let app = AppName::default_app();
    let indexed = index_folder(
        &engine,
        &stores,
        app,
        &help,
        ReadOptions::standard(),
        &EmbedderChoice::Local,
        |_| {},
    )
    .await?;
    output::line(&format!(
        "Indexed the sample help center of Tsumugi, a made-up photo journal: {} articles, {} passages.\n",
        indexed.summary.articles, indexed.summary.passages
    ))?;
    output::line(&invitation(address))?;
    // A demonstration leaves nothing behind, in Postgres neither.
    serve(config, &engine, stores, None, listener).await?;
    Ok(ExitCode::SUCCESS)
}

fn invitation(address: SocketAddr) -> String {
    let curl = |question: &str| {
        format!(
            "  curl -s http://{address}/v1/answer -H 'content-type: application/json' \\\n    \
             -d '{{\"question\": \"{question}\"}}'\n"
        )
    };
    format!(
        "Ask it something:\n\n{}\n{}\nStop with Ctrl-C.\n",
        curl("How do I get my money back?"),
        curl("パスワードを忘れました")
    )
}
