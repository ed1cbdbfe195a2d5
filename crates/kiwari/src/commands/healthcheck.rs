//! `kiwari healthcheck`: what a container asks to tell whether it is well, without a shell or curl in its image.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use deadline::Deadline;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::http::uri::Scheme;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::config::Config;
use crate::output;

/// How long the reply may take. Whoever is well has it at hand and calls nobody for it.
const PATIENCE: Duration = Duration::from_secs(2);
/// A longer reply is somebody else's.
const LONGEST_REPLY: usize = 64 * 1024;

/// The command's arguments.
#[derive(Debug, Args)]
pub(crate) struct Healthcheck {
    /// Ask this address instead of /readyz where `kiwari serve` listens
    #[arg(value_name = "URL", value_parser = address)]
    url: Option<Uri>,
}

pub(crate) async fn run(config: &Config, arguments: &Healthcheck) -> anyhow::Result<ExitCode> {
    let url = match &arguments.url {
        Some(url) => url.clone(),
        None => format!("http://{}/readyz", reachable(config.bind)).parse()?,
    };
    let reply = Deadline::after(PATIENCE).run(ask(&url)).await;
    let (status, text) = reply
        .context("it does not reply in time")
        .flatten()
        .with_context(|| format!("{url} cannot be asked"))?;
    if status != StatusCode::OK {
        bail!("{url} says {status}: {}", text.trim());
    }
    output::line(text.trim())?;
    Ok(ExitCode::SUCCESS)
}

/// Where a server that listens on `bind` can be reached from its own machine.
pub(crate) fn reachable(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, bind.port())
}

/// What `url` replies, in full.
pub(crate) async fn ask(url: &Uri) -> anyhow::Result<(StatusCode, String)> {
    let host = url.host().context("it names no host")?;
    let port = url.port_u16().unwrap_or(80);
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path).header(HOST, host).body(Empty::<Bytes>::new())?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST_REPLY).collect().await;
        let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::select! {
        reply = exchange => reply,
        Err(error) = connection => Err(error.into()),
    }
}

/// An address that can be asked without TLS.
fn address(text: &str) -> Result<Uri, String> {
    let uri = text.parse().ok().filter(|uri: &Uri| uri.scheme() == Some(&Scheme::HTTP));
    uri.ok_or_else(|| "must be an address such as http://127.0.0.1:8080/readyz".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_asked_on_loopback() {
        let asked = |bind: &str| reachable(bind.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(asked("[::]:8080"), "[::1]:8080");
        assert_eq!(asked("10.1.2.3:80"), "10.1.2.3:80");
    }

    #[test]
    fn only_plain_addresses_can_be_asked() {
        for bad in ["https://a/readyz", "127.0.0.1:8080", "/readyz", "", "http://"] {
            assert!(address(bad).is_err(), "{bad}");
        }
        assert!(address("http://[::1]:8080/admin/summary").is_ok());
    }
}
