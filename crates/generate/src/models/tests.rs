//! What becomes of names and settings.

use super::*;

fn settings(text: &str) -> ModelSettings {
    toml::from_str(text).unwrap()
}

fn resolve(name: &str, text: &str) -> Result<Capabilities, ModelError> {
    Model::resolve(name, &settings(text)).map(|model| model.capabilities().clone())
}

#[track_caller]
fn refused(name: &str, text: &str, message: &str) {
    let error = resolve(name, text).expect_err("refused");
    assert_eq!(error.to_string(), message);
}

#[test]
fn every_model_of_the_table_resolves() {
    let names: Vec<_> = table::names().collect();
    assert!(names.len() > 15);
    for name in names {
        let capabilities = resolve(name, "").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(capabilities.input_token_limit, 8_000, "{name}");
        assert!(capabilities.first_token > Duration::ZERO, "{name}");
        assert!(!(name.starts_with("gemini-4") && capabilities.explicit_cache), "{name}");
    }
}

#[test]
fn time_is_short_so_each_family_is_told_to_think_least() {
    let thinking = |name| resolve(name, "").unwrap().thinking;
    let (minimal, low, medium) = (Level::Minimal, Level::Low, Level::Medium);
    assert_eq!(
        thinking("gemini-3.5-flash-lite"),
        Thinking::Level { least: minimal, reasoning: low }
    );
    assert_eq!(thinking("gemini-3.8-flash"), Thinking::Level { least: low, reasoning: medium });
    assert_eq!(thinking("gemini-2.5-flash"), Thinking::Budget { least: 0, reasoning: 1024 });
    assert_eq!(thinking("gemini-2.5-pro"), Thinking::Budget { least: 128, reasoning: 1024 });
    assert_eq!(thinking("gpt-4o-mini"), Thinking::None);
}

#[test]
fn an_unknown_model_gets_nothing_optional() {
    let unknown = resolve("llama3.2:3b", "").unwrap();
    assert_eq!(unknown.thinking, Thinking::None);
    assert!(!unknown.explicit_cache);
    assert_eq!(
        (unknown.temperature, unknown.max_output_tokens, unknown.prices),
        (None, None, None)
    );
    assert_eq!(unknown.max_tokens_field, MaxTokensField::MaxTokens);
    assert_eq!(unknown.input_token_limit, 3_000);
}

#[test]
fn settings_are_laid_over_the_table() {
    let text = r#"
        temperature = 0.2
        input_token_limit = 2000
        first_token = "1s 200ms"
        prices = { input = 1.0, output = 2.0 }
        thinking = { least = "low" }
    "#;
    let overlaid = resolve("gemini-3.5-flash-lite", text).unwrap();
    assert_eq!(overlaid.temperature, Some(0.2));
    assert_eq!(overlaid.input_token_limit, 2_000);
    assert_eq!(overlaid.first_token, Duration::from_millis(1200));
    assert_eq!(overlaid.prices, Some(Prices { input: 1.0, cached: None, output: 2.0 }));
    assert_eq!(overlaid.thinking, Thinking::Level { least: Level::Low, reasoning: Level::Low });
    assert_eq!(overlaid.max_output_tokens, Some(65_536));
    let silent = resolve("gemini-3.8-flash", "thinking.knob = 'none'").unwrap();
    assert_eq!(silent.thinking, Thinking::None);
}

#[test]
fn an_unknown_model_can_be_described() {
    let described =
        resolve("mine", "thinking = { knob = 'level', least = 'low' }\ntemperature = 1").unwrap();
    assert_eq!(described.thinking, Thinking::Level { least: Level::Low, reasoning: Level::Low });
    assert_eq!(described.temperature, Some(1.0));
}

#[test]
fn what_a_family_rejects_is_refused_before_it_is_asked() {
    let message =
        "gemini-3.8-flash does not take minimal as thinking.least; it takes low, medium, high";
    refused("gemini-3.8-flash", "thinking.least = 'minimal'", message);
    let message =
        "gemini-2.5-pro does not take 0 as thinking.least; it takes -1, or 128 to 32768 tokens";
    refused("gemini-2.5-pro", "thinking.least = 0", message);
    let message = "gemini-2.5-flash-lite does not take 100 as thinking.reasoning; it takes -1, 0, or 512 to 24576 tokens";
    refused("gemini-2.5-flash-lite", "thinking.reasoning = 100", message);
    let message = "gemini-2.5-flash has the thinking knob budget, so thinking.knob cannot be level";
    refused("gemini-2.5-flash", "thinking = { knob = 'level', least = 'low' }", message);
    let message =
        "nothing is known of how mine thinks; set thinking.knob along with thinking.least";
    refused("mine", "thinking.least = 'low'", message);
    let message = "thinking.least must be set for mine along with thinking.knob";
    refused("mine", "thinking.knob = 'budget'", message);
    let message = "thinking.levels of mine must name each level once, least first";
    refused(
        "mine",
        "thinking = { knob = 'level', levels = ['high', 'low'], least = 'low' }",
        message,
    );
    let message = "gemini-4-hydrogen ignores or refuses sampling, so temperature cannot be set";
    refused("gemini-4-hydrogen", "temperature = 0.5", message);
    let message = "temperature of mine is 3, which is not within 0 and 2";
    refused("mine", "temperature = 3", message);
    for name in ["", "a b", "a?key=x", "../x", "モデル"] {
        assert!(matches!(resolve(name, ""), Err(ModelError::Name { .. })), "{name}");
    }
}

#[test]
fn unknown_settings_are_refused_and_written_ones_are_read_again() {
    assert!(toml::from_str::<ModelSettings>("temprature = 1").is_err());
    assert!(toml::from_str::<ModelSettings>("thinking.level = 'low'").is_err());
    assert!(toml::from_str::<ModelSettings>("first_token = 'soon'").is_err());
    let row = table::row("gemini-2.5-flash").unwrap();
    assert_eq!(&settings(&toml::to_string(row).unwrap()), row);
}
