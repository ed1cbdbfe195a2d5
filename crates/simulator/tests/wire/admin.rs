//! The admin endpoint, as a benchmark in another process uses it.

use serde_json::json;
use simulator::{Entry, Settings, Simulator};

use crate::support::{KEY, MODEL, exchange, get, post, prompt, request};

#[tokio::test]
async fn faults_are_changed_and_taken_back_while_running() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let address = simulator.address();
    let path = format!("{MODEL}:generateContent");
    let put = |plan: &str| request("PUT", "/admin/faults", &[], plan.as_bytes());
    let plan = r#"{"generate": {"kind": "unavailable", "rate": 1.0}}"#;
    assert_eq!(exchange(address, &put(plan)).await.status, 200);
    assert_eq!(post(address, &path, &[KEY], &prompt("hi")).await.status, 503);
    let refused = exchange(address, &put(r#"{"generate": {"kind": "explodes"}}"#)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("explodes"), "{}", refused.text());
    let now = get(address, "/admin/faults", &[]).await.json();
    assert_eq!(now["generate"]["rules"][0]["kind"], "unavailable");
    assert_eq!(
        exchange(address, &put(&now.to_string())).await.status,
        200,
        "what is read can be put"
    );
    assert_eq!(exchange(address, &request("DELETE", "/admin/faults", &[], b"")).await.status, 200);
    assert_eq!(post(address, &path, &[KEY], &prompt("hi")).await.status, 200);
}

#[tokio::test]
async fn the_journal_is_read_on_from_where_one_was() {
    let simulator = Simulator::start(Settings::quiet()).await.unwrap();
    let address = simulator.address();
    let path = format!("{MODEL}:countTokens");
    for _ in 0..3 {
        post(address, &path, &[KEY], &prompt("hi")).await;
    }
    let read = |path: &'static str| async move {
        let entries: Vec<Entry> =
            serde_json::from_slice(&get(address, path, &[]).await.body).unwrap();
        entries.into_iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    assert_eq!(read("/admin/journal").await, [0, 1, 2]);
    assert_eq!(read("/admin/journal?since=2").await, [2]);
    let summary = get(address, "/admin/summary", &[]).await.json();
    assert_eq!((&summary["calls"], &summary["open"]), (&json!(3), &json!(0)));
    assert!(summary["started_unix_ms"].as_u64().unwrap() > 1_600_000_000_000);
    exchange(address, &request("DELETE", "/admin/journal", &[], b"")).await;
    assert!(read("/admin/journal").await.is_empty());
}
