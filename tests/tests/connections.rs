//! Clients that leave, dawdle or do not listen, and that the others are served as ever.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::json;
use system_tests::{Server, get, kiwari, post};
use tempfile::TempDir;

fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    let indexed = kiwari(folder.path(), &["index", "help", "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

/// A connection that has sent `bytes`; waiting on it fails after a minute.
fn sent(server: &Server, bytes: &str) -> TcpStream {
    let host = server.address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time above zero");
    stream.write_all(bytes.as_bytes()).expect("the server reads");
    stream
}

fn question(stream: bool) -> String {
    let body = json!({"question": "export invoices", "stream": stream}).to_string();
    format!(
        "POST /v1/answer HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
        content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[track_caller]
fn is_served(server: &Server) {
    let url = format!("{}/v1/answer", server.address);
    assert_eq!(post(&url, &json!({"question": "export invoices"}), &[]).status, 200);
}

#[test]
fn a_head_that_trickles_in_is_cut_off_while_others_are_served() {
    let (_folder, server) = served();
    let mut dawdling: Vec<TcpStream> =
        (0..200).map(|_| sent(&server, "POST /v1/answer HTTP/1.1\r\nhost: ")).collect();
    is_served(&server);
    // Closed without a word, ten seconds after it began.
    let mut rest = String::new();
    let first = dawdling.first_mut().expect("there are many");
    first.read_to_string(&mut rest).expect("it is closed");
    assert_eq!(rest, "");
    is_served(&server);
}

#[test]
fn clients_that_leave_or_never_read_disturb_nobody_and_are_each_logged_once() {
    let (_folder, server) = served();
    let mut silent = Vec::new();
    for stream in [false, true] {
        for _ in 0..50 {
            drop(sent(&server, &question(stream)));
            silent.push(sent(&server, &question(stream)));
            // Half closed: its client has said all it had to say, and goes as well.
            let half = sent(&server, &question(stream));
            half.shutdown(Shutdown::Write).expect("it is open");
        }
    }
    is_served(&server);
    assert_eq!(get(&format!("{}/livez", server.address)).status, 200);
    server.signal("TERM");
    // It does not wait for those who never read.
    let (status, log) = server.join();
    assert!(status.success(), "{status}");
    let lines: Vec<_> = log.iter().filter(|line| line["target"] == "kiwari::request").collect();
    let mut ids: Vec<&str> = lines.iter().filter_map(|line| line["request_id"].as_str()).collect();
    assert!((101..=301).contains(&ids.len()), "{}", ids.len());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines.len(), "one line each");
    let strange =
        lines.iter().find(|line| line["kind"] != "templated" && line["kind"] != "abandoned");
    assert!(strange.is_none(), "{strange:?}");
    assert!(!log.iter().any(|line| line["level"] == "ERROR"), "{log:?}");
    drop(silent);
}
