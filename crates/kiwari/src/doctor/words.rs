//! How times, sizes and errors are put.

use std::error::Error;
use std::time::Duration;

use anyhow::Chain;

/// The two largest units that say something: `3d 4h`, `12s`.
pub(super) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)];
    let mut left = seconds;
    let mut words = Vec::new();
    for (name, size) in units {
        let count = left / size;
        left %= size;
        if count > 0 && words.len() < 2 {
            words.push(format!("{count}{name}"));
        } else if !words.is_empty() {
            break;
        }
    }
    if words.is_empty() { "less than a second".to_owned() } else { words.join(" ") }
}

/// `1 request`, `2 requests`.
pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// In GiB or MiB, rounded down.
pub(super) fn bytes(bytes: u64) -> String {
    if bytes >= 10 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

/// An error with its causes, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    for cause in Chain::new(error).skip(1) {
        let cause = cause.to_string();
        if !words.ends_with(&cause) {
            words.push_str(": ");
            words.push_str(cause.trim_end());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_as_exact_as_people_need_them() {
        let of = |seconds| age(Duration::from_secs(seconds));
        assert_eq!(of(0), "less than a second");
        assert_eq!(of(59), "59s");
        assert_eq!(of(3600), "1h");
        assert_eq!(of(3661), "1h 1min");
        assert_eq!(of(90_061), "1d 1h");
    }
}
