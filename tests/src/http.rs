//! Plain HTTP, without a client's helpfulness where a test needs to be rude.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use ureq::Agent;

/// A response, read to its end.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

impl Reply {
    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {:?}", self.text))
    }

    /// A problem's `code`.
    #[must_use]
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).build().into()
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Reply {
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    Reply {
        status: response.status().as_u16(),
        headers,
        text: response.body_mut().read_to_string().expect("a body that ends"),
    }
}

/// `GET`.
///
/// # Panics
///
/// If there is no response.
#[must_use]
pub fn get(url: &str) -> Reply {
    read(agent().get(url).call().expect("a response"))
}

/// `POST` of JSON, with more headers.
///
/// # Panics
///
/// If there is no response.
#[must_use]
pub fn post(url: &str, body: &Value, headers: &[(&str, &str)]) -> Reply {
    let mut request = agent().post(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.send_json(body).expect("a response"))
}

/// Sends bytes as they are and reads what comes until the server closes.
///
/// # Panics
///
/// If there is no connection or no HTTP response.
#[must_use]
pub fn send_raw(address: &str, bytes: &[u8]) -> Reply {
    let host = address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.write_all(bytes).expect("the server reads");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("the server answers and closes");
    let response = String::from_utf8_lossy(&response);
    let (head, text) = response.split_once("\r\n\r\n").expect("a head and a body");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    Reply { status: status.parse().expect("a number"), headers, text: text.to_owned() }
}

/// `PUT` of JSON.
///
/// # Panics
///
/// If there is no response.
#[must_use]
pub fn put(url: &str, body: &Value) -> Reply {
    read(agent().put(url).send_json(body).expect("a response"))
}

/// `DELETE`.
///
/// # Panics
///
/// If there is no response.
#[must_use]
pub fn delete(url: &str) -> Reply {
    read(agent().delete(url).call().expect("a response"))
}
