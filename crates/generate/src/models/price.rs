use domain::Usage;
use serde::{Deserialize, Serialize};

/// What a model's tokens cost, in US dollars per million.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    pub input: f64,
    /// Input read from the provider's cache; the price of other input, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Text and thinking.
    pub output: f64,
}

impl Prices {
    /// What `usage` costs, in US dollars. What a provider asks for keeping a cache is not part of it.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> f64 {
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
        let millionths = dollars(fresh, self.input)
            + dollars(usage.cached_tokens, self.cached.unwrap_or(self.input))
            + dollars(usage.output_tokens, self.output);
        millionths / 1e6
    }

    pub(super) fn named(&self) -> [(&'static str, f64); 3] {
        let cached = self.cached.unwrap_or(self.input);
        [("prices.input", self.input), ("prices.cached", cached), ("prices.output", self.output)]
    }
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
fn dollars(tokens: u64, per_million: f64) -> f64 {
    tokens as f64 * per_million
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_input_is_cheaper_and_thinking_is_part_of_the_output() {
        let prices = Prices { input: 0.30, cached: Some(0.03), output: 2.50 };
        let usage = Usage {
            input_tokens: 10_000,
            cached_tokens: 8_000,
            output_tokens: 200,
            thinking_tokens: 50,
        };
        let expected = (2_000.0 * 0.30 + 8_000.0 * 0.03 + 200.0 * 2.50) / 1e6;
        assert!((prices.cost(usage) - expected).abs() < 1e-12);
        let undiscounted = Prices { cached: None, ..prices };
        assert!((undiscounted.cost(usage) - (3_000.0 + 500.0) / 1e6).abs() < 1e-12);
    }
}
