use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use server::ConnectionLimits;

use crate::client::Client;
use crate::world::{FIRST, PATIENCE, SECOND, World, wait_for};

const QUESTION: &str = "How do I reset my password?";

async fn world() -> World {
    World::start(ConnectionLimits::STANDARD, PATIENCE).await
}

async fn asking(world: &World, stream: bool, budget_ms: u64) -> Client {
    let mut client = Client::connect(world.address).await;
    client.ask(&json!({"question": QUESTION, "stream": stream, "budget_ms": budget_ms})).await;
    client
}

/// The data of one event's text.
#[track_caller]
fn data(event: &str) -> Value {
    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.expect("data")).expect("JSON")
}

#[tokio::test]
async fn a_sentence_is_read_before_the_next_one_is_written() {
    let world = world().await;
    let mut client = asking(&world, true, 50_000).await;
    let head = client.read_to("\r\n\r\n").await;
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    let sources = client.read_to("\n\n").await;
    assert!(sources.starts_with("event: sources\n"), "{sources}");
    let expected = json!({"sources": [{
        "article_id": "reset", "title": "Reset your password", "heading": "Reset your password",
        "url": "/reset"
    }]});
    assert_eq!(data(&sources), expected);

    // A sentence is whole once another one has begun.
    world.model.steps.add_permits(2);
    let first = client.read_to("\n\n").await;
    let expected = FIRST.trim_end();
    assert_eq!(first, format!("event: delta\ndata: {{\"text\":\"{expected}\"}}\n\n"));
    world.model.steps.add_permits(1);
    let second = client.read_to("\n\n").await;
    assert_eq!(data(&second), json!({"text": format!(" {SECOND}")}));

    let done = client.read_all().await;
    assert!(done.starts_with("event: done\n") && done.matches("event:").count() == 1, "{done}");
    let done = data(&done);
    assert_eq!(done["answer"]["text"], format!("{FIRST}{SECOND}"));
    assert_eq!(done["answer"]["kind"], "generated");
    assert!(done["deadline_remaining_ms"].as_u64().unwrap() <= 50_000);
    let lines = world.request_lines().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["kind"], &lines[0]["streamed"]), (&json!("generated"), &json!(true)));
    let ms = |key: &str| lines[0][key].as_f64().expect("a time");
    assert!(ms("first_content_ms") < ms("spent_ms"), "{lines:?}");
    assert_eq!(world.recorder.counts().dropped, 1, "one entry, for which there is no log");
}

#[tokio::test]
async fn a_client_that_goes_away_takes_the_model_call_with_it() {
    for stream in [false, true] {
        let world = world().await;
        let mut client = asking(&world, stream, 50_000).await;
        wait_for(&world.model.begun).await;
        if stream {
            world.model.steps.add_permits(2);
            client.read_to("event: delta").await;
        }
        drop(client);
        wait_for(&world.model.dropped).await;
        let lines = world.request_lines().await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["kind"], "abandoned");
        assert_eq!(lines[0]["app"], "default");
        assert_eq!(world.recorder.counts().dropped, 1, "one entry, for which there is no log");
        world.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_holds_up_nothing() {
    let world = world().await;
    let pinned = || Arc::strong_count(&world.generation);
    let at_rest = pinned();
    let client = asking(&world, true, 2000).await;
    wait_for(&world.model.begun).await;
    assert!(pinned() > at_rest);
    // Its deadline ends the call, and with it all that the request held on to.
    wait_for(&world.model.dropped).await;
    assert_eq!(world.request_lines().await.len(), 1);
    let deadline = deadline::Deadline::after(PATIENCE);
    while pinned() > at_rest && deadline.has_budget_for(Duration::ZERO) {
        tokio::task::yield_now().await;
    }
    assert_eq!(pinned(), at_rest);
    drop(client);
}

#[tokio::test]
async fn a_stream_under_way_is_finished_before_the_server_stops() {
    let world = world().await;
    let mut client = asking(&world, true, 50_000).await;
    wait_for(&world.model.begun).await;
    let model = Arc::clone(&world.model);
    let reading = async {
        client.read_to("event: sources").await;
        model.steps.add_permits(3);
        client.read_all().await
    };
    let ((), read) = tokio::join!(world.stop(), reading);
    assert!(read.contains("event: done\n"), "{read}");
}
