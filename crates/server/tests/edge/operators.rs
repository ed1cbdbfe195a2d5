//! What operators see of requests that end badly, and of reports that cannot be had.

use std::time::Duration;

use deadline::Deadline;
use ledger::PgSettings;
use ledger::reports::Source;
use serde_json::{Value, json};
use server::{ConnectionLimits, Reports};
use tokio::net::TcpListener;

use crate::client::Client;
use crate::world::{PATIENCE, World, wait_for};

const TOTAL: Duration = Duration::from_secs(60);

async fn world(reports: Reports) -> World {
    World::reporting(ConnectionLimits::STANDARD, TOTAL, reports).await
}

/// Head and body of what is at `path`.
async fn get(world: &World, path: &str) -> (String, String) {
    let mut client = asking_for(world, path).await;
    let read = client.read_all().await;
    let (head, body) = read.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

async fn asking_for(world: &World, path: &str) -> Client {
    let mut client = Client::connect(world.address).await;
    client.send(&format!("GET {path} HTTP/1.0\r\n\r\n")).await;
    client
}

/// The value of the metric that is written so.
async fn metric(world: &World, sample: &str) -> String {
    let (_, page) = get(world, "/metrics").await;
    let mut values = page.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    values.next().unwrap_or_else(|| panic!("no {sample} in {page}")).to_owned()
}

const OPEN: &str = "kiwari_open_requests{app=\"default\",endpoint=\"answer\"}";
const CANCELLED: &str = "kiwari_cancelled_requests_total{app=\"default\",endpoint=\"answer\"}";
const TOOK: &str = "kiwari_request_duration_seconds_count{app=\"default\",endpoint=\"answer\"}";

#[tokio::test]
async fn a_request_is_open_until_it_is_answered_or_nobody_waits_for_it() {
    let world = world(Reports::of(None)).await;
    let body =
        json!({"question": "How do I reset my password?", "stream": true, "budget_ms": 50_000});
    let mut leaving = Client::connect(world.address).await;
    leaving.ask(&body).await;
    wait_for(&world.model.begun).await;
    assert_eq!(metric(&world, OPEN).await, "1");
    assert_eq!(metric(&world, CANCELLED).await, "0");
    drop(leaving);
    wait_for(&world.model.dropped).await;
    world.request_lines().await;
    assert_eq!(metric(&world, OPEN).await, "0");
    assert_eq!(metric(&world, CANCELLED).await, "1");
    assert_eq!(metric(&world, TOOK).await, "0");

    let mut staying = Client::connect(world.address).await;
    staying.ask(&body).await;
    wait_for(&world.model.begun).await;
    world.model.steps.add_permits(3);
    staying.read_all().await;
    assert_eq!(metric(&world, OPEN).await, "0");
    assert_eq!(metric(&world, TOOK).await, "1");
    let used = "kiwari_model_calls_total{model=\"scripted\",fate=\"used\"}";
    assert_eq!(metric(&world, used).await, "1");
    let abandoned = "kiwari_model_calls_total{model=\"scripted\",fate=\"abandoned\"}";
    assert_eq!(metric(&world, abandoned).await, "1");
    world.stop().await;
}

#[tokio::test]
async fn without_a_log_reports_say_so() {
    let world = world(Reports::of(None)).await;
    let (head, body) = get(&world, "/v1/reports/stages").await;
    assert!(head.starts_with("HTTP/1.0 503") && head.contains("retry-after: 10"), "{head}");
    let problem: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(problem["code"], "report_unavailable");
    world.stop().await;
}

#[tokio::test]
async fn whatever_cannot_be_answered_is_a_problem_document() {
    let world = world(Reports::of(None)).await;
    for (asked, status, code) in [
        ("GET /v1/reports/%ff", 404, "unknown_report"),
        ("HEAD /v1/reports/%ff", 404, ""),
        ("GET /v1/reports/slo?since=%ff", 400, "invalid_field"),
        ("POST /v1/reports/slo", 405, "method_not_allowed"),
        ("BREW /livez", 405, "method_not_allowed"),
        ("HEAD /v1/answer", 405, ""),
        ("GET /v1/reports/a/b", 404, "not_found"),
        ("GET /%ff", 404, "not_found"),
        ("GET //", 404, "not_found"),
        ("OPTIONS *", 404, "not_found"),
    ] {
        let mut client = Client::connect(world.address).await;
        client.send(&format!("{asked} HTTP/1.0\r\n\r\n")).await;
        let read = client.read_all().await;
        let (head, body) = read.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with(&format!("HTTP/1.0 {status}")), "{asked}: {head}");
        assert!(head.contains("content-type: application/problem+json"), "{asked}: {head}");
        let told = serde_json::from_str::<Value>(body).unwrap_or_default();
        assert_eq!(told["code"].as_str().unwrap_or_default(), code, "{asked}: {body}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_report_too_many_is_told_so_at_once_and_a_database_that_is_silent_in_a_few_seconds() {
    // Connections are taken by the kernel, and nobody ever says anything on them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = silent.local_addr().expect("an address").port();
    let settings = PgSettings::new(&format!("postgres://u:hush@127.0.0.1:{port}/d")).expect("one");
    let world = world(Reports::of(Some(Source::postgres(&settings)))).await;
    let mut first = asking_for(&world, "/v1/reports/slo").await;
    let mut second = asking_for(&world, "/v1/reports/slo").await;
    let refused = async {
        loop {
            let (head, body) = get(&world, "/v1/reports/slo").await;
            if body.contains("overloaded") {
                return head;
            }
        }
    };
    let head =
        Deadline::after(PATIENCE).run(refused).await.expect("both are under way at some time");
    assert!(head.starts_with("HTTP/1.0 503") && head.contains("retry-after: 1"), "{head}");
    for client in [&mut first, &mut second] {
        let read = client.read_all().await;
        let is_right = read.contains("report_unavailable") || read.contains("overloaded");
        assert!(is_right && !read.contains("hush"), "{read}");
    }
    world.stop().await;
}
