//! The first command anybody tries.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;
use system_tests::{post, start};

#[expect(clippy::disallowed_methods, reason = "a test's own thread, which waits for a process")]
fn listens(address: &str) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        TcpStream::connect(address).is_ok()
    })
}

#[test]
fn the_demo_answers_what_it_invites_to_ask() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Taken and given back, so that it is free.
    let held = TcpListener::bind("127.0.0.1:0").and_then(|held| held.local_addr());
    let port = held.expect("a free port").port().to_string();
    let mut demo = start(folder.path(), &["demo", "--port", &port], &[]);
    let address = format!("127.0.0.1:{port}");
    assert!(listens(&address));
    // It listens from its start, and the question waits until it is ready.
    let question = json!({"question": "How do I get my money back?"});
    let reply = post(&format!("http://{address}/v1/answer"), &question, &[]);
    demo.kill().expect("it runs");
    let _reaped = demo.wait();
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.json()["citations"][0]["article_id"], "en/billing/refunds", "{}", reply.text);
}
