//! The Dockerfile, the stack of containers and the health check. Running them takes Docker (`scripts/try-compose`); what
//! can be told from the files and the binary is told here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use system_tests::{Outcome, Server, kiwari, kiwari_with, repository};

/// What is read from the environment besides the settings.
const USUAL_NAMES: [&str; 11] = [
    "DATABASE_URL",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "PGPASSWORD",
    "POSTGRES_PASSWORD",
    "QDRANT_API_KEY",
    "QDRANT_URL",
    "RUST_LOG",
];

fn text(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn services() -> BTreeMap<String, Value> {
    let stack: Value = serde_saphyr::from_str(&text("docker-compose.yml")).expect("YAML");
    let services = stack["services"].as_object().expect("services");
    services.iter().map(|(name, service)| (name.clone(), service.clone())).collect()
}

/// Whether a service runs Kiwari's own image.
fn is_kiwari(service: &Value) -> bool {
    service["image"].as_str().is_some_and(|image| image.starts_with("kiwari:"))
}

/// The lines of a list, none where there is no list.
fn list<'a>(service: &'a Value, key: &str) -> Vec<&'a str> {
    service[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// `${NAME:-default}` and `${NAME:?why}` with nothing set: the default, or a word.
fn filled_in(text: &str) -> String {
    let Some((before, rest)) = text.split_once("${") else { return text.to_owned() };
    let (variable, after) = rest.split_once('}').expect("a brace that closes");
    let value = variable.split_once(":-").map_or("anything", |(_, default)| default);
    format!("{before}{value}{}", filled_in(after))
}

fn environment(service: &Value) -> BTreeMap<String, String> {
    let pairs = service["environment"].as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), filled_in(value.as_str().expect("a text")))).collect()
}

/// The settings of `.env.example`, those that are commented out as well.
fn example() -> BTreeMap<String, String> {
    let text = text(".env.example");
    let pairs = text.lines().filter_map(|line| line.trim_start_matches('#').split_once('='));
    pairs
        .filter(|(name, _)| {
            name.chars().all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c))
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What the image sets.
fn image_environment() -> BTreeMap<String, String> {
    let dockerfile = text("Dockerfile");
    let words = dockerfile.split_whitespace().filter(|word| word.starts_with("KIWARI__"));
    words
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What `kiwari config` says under these variables.
fn configured(environment: &BTreeMap<String, String>) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pairs: Vec<_> = environment.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    kiwari_with(folder.path(), &["config"], &pairs)
}

#[test]
fn every_setting_of_the_stack_is_one_that_kiwari_knows() {
    let image = image_environment();
    let printed = configured(&image);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for line in ["bind = \"0.0.0.0:8080\"", "public = true", "dir = \"/var/lib/kiwari\""] {
        assert!(printed.stdout.contains(line), "{line} in {}", printed.stdout);
    }
    for (name, service) in services().iter().filter(|(_, service)| is_kiwari(service)) {
        let mut all = image.clone();
        let own = environment(service);
        for key in own.keys() {
            let known = key.starts_with("KIWARI__") || USUAL_NAMES.contains(&key.as_str());
            assert!(known, "{name} sets {key}");
        }
        all.extend(example());
        all.extend(own);
        let printed = configured(&all);
        assert_eq!(printed.code, Some(0), "{name}: {}", printed.stderr);
    }
}

#[test]
fn every_line_of_the_example_is_read_by_the_stack_or_by_kiwari() {
    let stack = text("docker-compose.yml");
    let example = example();
    for name in example.keys() {
        let by_the_stack = stack.contains(&format!("${{{name}:"));
        let by_kiwari = name.starts_with("KIWARI__") || USUAL_NAMES.contains(&name.as_str());
        assert!(by_the_stack || by_kiwari, "{name} is read by nobody");
    }
    let asked = stack.split("${").skip(1).filter_map(|rest| rest.split(':').next());
    let asked: BTreeSet<&str> = asked.collect();
    for name in asked {
        assert!(example.contains_key(name), "{name} is not in the example");
    }
}

#[test]
fn the_example_works_as_it_is() {
    let text = text(".env.example");
    let set: Vec<&str> =
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(set.len(), 1, "{set:?}");
    assert!(set[0].starts_with("POSTGRES_PASSWORD="), "{set:?}");
    // What the example shows as a default is one.
    for line in ["KIWARI_PORT=8080", "KIWARI_DEMO_PORT=8081", "KIWARI_HELP_DIR=./examples/help"] {
        let (name, value) = line.split_once('=').expect("a pair");
        assert!(text.contains(&format!("#{line}\n")), "{line}");
        assert!(is_default(name, value), "{line}");
    }
}

fn is_default(name: &str, value: &str) -> bool {
    text("docker-compose.yml").contains(&format!("${{{name}:-{value}}}"))
}

#[test]
fn nothing_is_published_but_kiwari_and_that_on_loopback() {
    for (name, service) in services() {
        for port in list(&service, "ports") {
            assert!(is_kiwari(&service) && port.starts_with("127.0.0.1:"), "{name}: {port}");
        }
        let networks = list(&service, "networks");
        assert!(!networks.is_empty(), "{name} is in the network that everything is in");
        assert!(is_kiwari(&service) || networks == ["stores"], "{name}: {networks:?}");
    }
    let stack: Value = serde_saphyr::from_str(&text("docker-compose.yml")).expect("YAML");
    assert_eq!(stack["networks"]["stores"]["internal"], true);
}

#[test]
fn every_service_does_without_privileges_and_is_watched() {
    for (name, service) in services() {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(list(&service, "cap_drop"), ["ALL"], "{name}");
        assert_eq!(list(&service, "security_opt"), ["no-new-privileges:true"], "{name}");
        assert!(service["privileged"].is_null(), "{name}");
        // Kiwari's image brings both.
        assert!(is_kiwari(&service) || service["user"].is_string(), "{name} may be root");
        assert!(is_kiwari(&service) || service["healthcheck"]["test"].is_array(), "{name}");
    }
    let dockerfile = text("Dockerfile");
    for line in ["\nUSER 10001:10001\n", "CMD [\"kiwari\", \"healthcheck\"]\n"] {
        assert!(dockerfile.contains(line), "{line}");
    }
}

#[test]
fn no_log_fills_the_disk() {
    for (name, service) in services() {
        let logging = &service["logging"];
        assert_eq!(logging["driver"], "json-file", "{name}");
        // Docker takes texts alone; with one file, the newest lines go with the oldest.
        assert_eq!(logging["options"]["max-size"], "10m", "{name}");
        assert_eq!(logging["options"]["max-file"], "5", "{name}");
    }
}

#[test]
fn images_and_tools_are_of_versions_that_are_named() {
    let dockerfile = text("Dockerfile");
    let arguments = dockerfile.lines().filter_map(|line| line.strip_prefix("ARG "));
    let bases = arguments.filter_map(|argument| argument.split_once('=')).map(|(_, image)| image);
    let services = services();
    let images = services.values().filter_map(|service| service["image"].as_str());
    for image in bases.chain(images) {
        let tag = filled_in(image).rsplit_once(':').map(|(_, tag)| tag.to_owned());
        let tag = tag.unwrap_or_else(|| panic!("{image} has no tag"));
        assert!(tag.chars().filter(char::is_ascii_digit).count() >= 2, "{image}");
    }
    let toolchain: Vec<_> = text("rust-toolchain.toml").split('"').map(str::to_owned).collect();
    assert!(dockerfile.contains(&format!("RUST_IMAGE=rust:{}-", toolchain[1])));
    let version = env!("CARGO_PKG_VERSION");
    assert!(is_default("KIWARI_VERSION", version));
}

#[test]
fn whatever_is_copied_is_there_and_is_sent() {
    let ignored = text(".dockerignore");
    let sent: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    for name in &sent {
        assert!(repository().join(name).exists(), "{name} in .dockerignore");
    }
    let dockerfile = text("Dockerfile");
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    for copy in copies.filter(|copy| !copy.starts_with("--from=") && *copy != ". .") {
        let words: Vec<&str> = copy.split_whitespace().collect();
        let (_to, from) = words.split_last().expect("a place to copy to");
        for name in from {
            assert!(repository().join(name).exists(), "{name} is not there");
            let is_sent = sent
                .iter()
                .any(|sent| Path::new(name).starts_with(sent) || Path::new(sent).starts_with(name));
            assert!(is_sent, "{name} is kept from Docker by .dockerignore");
        }
    }
}

#[test]
fn the_health_check_says_whether_the_server_is_ready() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let check = |address: &str| {
        kiwari_with(folder.path(), &["healthcheck"], &[("KIWARI__SERVER__BIND", address)])
    };
    let empty = Server::start(folder.path(), &[]);
    let address = empty.address.trim_start_matches("http://").to_owned();
    let outcome = check(&address);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("503") && outcome.stderr.contains("no generation"),
        "{outcome:?}"
    );
    drop(empty);
    let outcome = check(&address);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("cannot be asked"), "{outcome:?}");

    fs::write(folder.path().join("a.md"), "# Export invoices\n\nOpen Billing.\n")
        .expect("writable");
    let indexed = kiwari(folder.path(), &["index", ".", "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(folder.path(), &[]);
    let port = server.address.rsplit(':').next().expect("a port");
    let outcome = check(&format!("0.0.0.0:{port}"));
    assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "ready"), "{outcome:?}");
    let url = format!("{}/livez", server.address);
    let outcome = kiwari(folder.path(), &["healthcheck", &url]);
    assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "ok"), "{outcome:?}");
}
