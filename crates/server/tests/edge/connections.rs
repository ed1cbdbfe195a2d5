use std::time::Duration;

use deadline::Deadline;
use server::ConnectionLimits;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::client::Client;
use crate::world::{PATIENCE, World};

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
const STANDARD: ConnectionLimits = ConnectionLimits::STANDARD;
const SHORT: Duration = Duration::from_millis(200);

async fn world(limits: ConnectionLimits) -> World {
    World::start(limits, PATIENCE).await
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_at_once() {
    let world = world(ConnectionLimits { most: 1, ..STANDARD }).await;
    let mut first = Client::connect(world.address).await;
    first.send(LIVEZ).await;
    first.read_to("ok\n").await;
    let refused = Client::connect(world.address).await.read_all().await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after") && refused.contains("\"overloaded\""), "{refused}");
    // The first one is served as ever, and its place is free once it has left.
    first.send(LIVEZ).await;
    first.read_to("ok\n").await;
    drop(first);
    let deadline = Deadline::after(PATIENCE);
    loop {
        let mut next = Client::connect(world.address).await;
        let _refused_already = next.stream.write_all(LIVEZ.as_bytes()).await;
        let reply = next.read_to("\r\n").await;
        if reply.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(!deadline.remaining().is_zero(), "{reply}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_is_not_waited_for() {
    let world = world(ConnectionLimits { head: SHORT, ..STANDARD }).await;
    for begun in ["", "GET /livez HTTP/1.1\r\nhost:"] {
        let mut client = Client::connect(world.address).await;
        client.send(begun).await;
        assert_eq!(client.read_all().await, "", "closed without a word");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_connection_at_rest_is_kept_longer_than_a_head_may_take() {
    let world = world(ConnectionLimits { head: SHORT, ..STANDARD }).await;
    let mut client = Client::connect(world.address).await;
    for _ in 0..3 {
        client.send(LIVEZ).await;
        client.read_to("ok\n").await;
        tokio::time::sleep(2 * SHORT).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn a_connection_without_requests_is_not_kept_for_ever() {
    let world = world(ConnectionLimits { idle: SHORT, ..STANDARD }).await;
    let mut client = Client::connect(world.address).await;
    client.send(LIVEZ).await;
    client.read_to("ok\n").await;
    assert_eq!(client.read_all().await, "");
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_takes_no_response_is_given_up() {
    let world = world(ConnectionLimits { stall: SHORT, ..STANDARD }).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut client: TcpStream = socket.connect(world.address).await.unwrap();
    let requests = LIVEZ.repeat(1000);
    // It asks on and on and reads nothing, until the server has had enough.
    let asking = async { while client.write_all(requests.as_bytes()).await.is_ok() {} };
    Deadline::after(PATIENCE).run(asking).await.expect("the server closes");
    world.stop().await;
}

#[tokio::test]
async fn connections_at_rest_do_not_hold_up_the_end() {
    // Budgets of an hour are waited for as long, so that only closing what rests ends this in time.
    let world = World::start(STANDARD, Duration::from_secs(3600)).await;
    let mut used = Client::connect(world.address).await;
    used.send(LIVEZ).await;
    used.read_to("ok\n").await;
    let mut fresh = Client::connect(world.address).await;
    used.send(LIVEZ).await;
    used.read_to("ok\n").await;
    world.stop().await;
    assert_eq!((used.read_all().await, fresh.read_all().await), (String::new(), String::new()));
}
