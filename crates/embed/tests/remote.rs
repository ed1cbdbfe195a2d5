//! The remote embedders against an API that is not there.

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use domain::{Call, Embedder, FaultKind, Role, Vector};
use embed::{GeminiEmbedder, GeminiSettings, OpenAiEmbedder, OpenAiSettings, ReplyError};
use simulator::{Fault, FaultKind as Trouble, FaultPlan, Settings, Simulator, StageFaults};
use upstream::{
    Auth, BreakerSettings, ErrorKind, Http, HttpSettings, Secret, Upstream, UpstreamError,
};

async fn quiet() -> Simulator {
    Simulator::start(Settings::quiet()).await.expect("loopback has a free port")
}

fn upstream(simulator: &Simulator, path: &str, auth: Auth) -> Arc<Upstream> {
    let http = Http::new(&HttpSettings::default()).expect("the defaults work");
    let base = format!("{}{path}", simulator.base_url()).parse().expect("an address makes a URL");
    Arc::new(Upstream::new(http, "simulator", base, auth, BreakerSettings::default()))
}

fn gemini_with(simulator: &Simulator, model: &str, key: &str) -> GeminiEmbedder {
    let upstream = upstream(simulator, "", Auth::GoogKey(Secret::new(key)));
    let settings = GeminiSettings { model: model.to_owned(), ..GeminiSettings::default() };
    GeminiEmbedder::new(upstream, &settings).expect("it is a model")
}

fn gemini(simulator: &Simulator) -> GeminiEmbedder {
    gemini_with(simulator, &GeminiSettings::default().model, "good")
}

fn openai(simulator: &Simulator, settings: OpenAiSettings) -> OpenAiEmbedder {
    let upstream = upstream(simulator, "/v1", Auth::Bearer(Secret::new("good")));
    OpenAiEmbedder::new(upstream, settings).expect("it is a model")
}

/// More time than loading the simulator's model takes, unoptimised.
fn call() -> Call {
    Call::background("test", Deadline::after(Duration::from_secs(120)))
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("Question number {number} about the printer.")).collect()
}

fn is_unit(vector: &Vector) -> bool {
    let square: f32 = vector.as_slice().iter().map(|x| x * x).sum();
    (square - 1.0).abs() < 1e-3
}

/// Vectors of the right length, of which those of like texts are like.
async fn check(embedder: &dyn Embedder) {
    let passages = ["How to get your money back after a purchase", "Printers and paper jams"]
        .map(str::to_owned);
    let passages = embedder.embed(&passages, Role::Passage, &call()).await.expect("it is well");
    let question = ["I want my money back".to_owned()];
    let question = embedder.embed(&question, Role::Query, &call()).await.expect("it is well");
    let dimensions = usize::try_from(embedder.id().dimensions).expect("it is small");
    for vector in question.iter().chain(&passages) {
        assert!(is_unit(vector) && vector.dimensions() == dimensions);
    }
    let cosines = passages.iter().map(|passage| passage.cosine(&question[0]));
    let cosines: Vec<f32> = cosines.collect();
    assert!(cosines[0] > cosines[1], "{cosines:?}");
}

#[tokio::test]
async fn all_models_make_unit_vectors_that_mean_something() {
    let simulator = quiet().await;
    check(&gemini(&simulator)).await;
    // Its vectors come back shorter than 1.
    check(&gemini_with(&simulator, "gemini-embedding-001", "good")).await;
    let short = OpenAiSettings {
        ask_for_dimensions: true,
        ..OpenAiSettings::plain("text-embedding-3-small", 768)
    };
    check(&openai(&simulator, short)).await;
}

#[tokio::test]
async fn many_texts_take_several_calls_and_stay_in_order() {
    let simulator = quiet().await;
    let texts = texts(101);
    let gemini = gemini(&simulator);
    let all = gemini.embed(&texts, Role::Query, &call()).await.unwrap();
    assert_eq!((all.len(), simulator.journal().len()), (101, 2));
    let last = gemini.embed(&texts[100..], Role::Query, &call()).await.unwrap();
    assert_eq!(all[100], last[0]);
    assert_eq!(gemini.embed(&[], Role::Query, &call()).await.unwrap(), []);
    assert_eq!(simulator.journal().len(), 3, "nothing takes no call");

    simulator.clear_journal();
    let settings = OpenAiSettings {
        batch: NonZeroUsize::new(2).unwrap(),
        ask_for_dimensions: true,
        ..OpenAiSettings::plain("text-embedding-3-small", 512)
    };
    let vectors = openai(&simulator, settings).embed(&texts[..5], Role::Query, &call()).await;
    assert_eq!((vectors.unwrap().len(), simulator.journal().len()), (5, 3));
}

#[tokio::test]
async fn the_length_of_an_unknown_model_is_found_out() {
    let simulator = quiet().await;
    let upstream = upstream(&simulator, "/v1", Auth::Bearer(Secret::new("good")));
    let found = OpenAiEmbedder::dimensions_of(&upstream, "some-model", &call()).await.unwrap();
    let embedder = OpenAiEmbedder::new(upstream, OpenAiSettings::plain("some-model", found));
    check(&embedder.unwrap()).await;
}

#[tokio::test]
async fn another_length_than_the_index_has_is_a_fault() {
    let simulator = quiet().await;
    let embedder = openai(&simulator, OpenAiSettings::plain("some-model", 7));
    let fault = embedder.embed(&texts(1), Role::Query, &call()).await.unwrap_err();
    assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, None));
    let source = fault.source().and_then(|source| source.downcast_ref());
    assert!(matches!(source, Some(ReplyError::Dimensions { expected: 7, .. })), "{fault:?}");
}

#[tokio::test]
async fn a_blank_text_takes_no_call() {
    let simulator = quiet().await;
    let blank = ["words".to_owned(), " \u{3000}\n".to_owned()];
    for embedder in [
        &gemini(&simulator) as &dyn Embedder,
        &openai(&simulator, OpenAiSettings::plain("some-model", 512)),
    ] {
        let fault = embedder.embed(&blank, Role::Query, &call()).await.unwrap_err();
        assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, None));
    }
    assert!(simulator.journal().is_empty());
}

#[tokio::test]
async fn every_trouble_is_told_by_its_kind() {
    let simulator = quiet().await;
    for (trouble, kind, passes) in [
        (Trouble::Refused, FaultKind::Error, true),
        (Trouble::ResetMidstream, FaultKind::Error, true),
        (Trouble::RateLimitedMinute, FaultKind::RateLimited, true),
        (Trouble::RateLimitedDay, FaultKind::Quota, false),
        (Trouble::Unavailable, FaultKind::Error, true),
        (Trouble::DeadlineExceeded, FaultKind::Error, true),
        (Trouble::Html502, FaultKind::Error, true),
        (Trouble::Internal, FaultKind::Error, true),
        (Trouble::MalformedJson, FaultKind::Error, true),
    ] {
        let embed = StageFaults::rule(Fault::always(trouble));
        simulator.set_faults(FaultPlan { embed, ..FaultPlan::default() });
        for embedder in [
            &gemini(&simulator) as &dyn Embedder,
            &openai(&simulator, OpenAiSettings::plain("some-model", 1536)),
        ] {
            let fault = embedder.embed(&texts(2), Role::Passage, &call()).await.unwrap_err();
            let found = (fault.kind(), fault.retry_after().is_some());
            assert_eq!(found, (kind, passes), "{trouble:?} {}: {fault:?}", embedder.id());
        }
    }
}

#[tokio::test]
async fn a_call_that_hangs_ends_with_its_deadline_there_too() {
    let simulator = quiet().await;
    for trouble in [Trouble::HangBeforeHeaders, Trouble::HangAfterHeaders, Trouble::StallMidstream]
    {
        let embed = StageFaults::rule(Fault::always(trouble));
        simulator.set_faults(FaultPlan { embed, ..FaultPlan::default() });
        let call = Call::background("test", Deadline::after(Duration::from_millis(500)));
        let fault = gemini(&simulator).embed(&texts(1), Role::Query, &call).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Timeout, "{trouble:?}");
    }
    // The far side notices a moment later than we.
    while simulator.journal().iter().any(|entry| entry.client_gone_ms.is_none()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_wrong_key_and_a_missing_model_are_recognised() {
    let simulator = quiet().await;
    let cases = [
        (gemini_with(&simulator, "gemini-embedding-2", "bad-key"), ErrorKind::BadKey),
        (gemini_with(&simulator, "gemini-embedding-2", ""), ErrorKind::BadKey),
        (gemini_with(&simulator, "no-such-model", "good"), ErrorKind::NotFound),
    ];
    for (embedder, expected) in cases {
        let fault = embedder.embed(&texts(1), Role::Query, &call()).await.unwrap_err();
        let source = fault.source().and_then(|source| source.downcast_ref::<UpstreamError>());
        assert_eq!(source.map(|error| error.kind), Some(expected), "{fault:?}");
        assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, None));
    }
}
