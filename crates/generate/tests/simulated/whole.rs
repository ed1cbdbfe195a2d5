//! Replies in which nothing goes wrong.

use domain::FinishReason;
use simulator::count_tokens;

use crate::common::{AMPLE, Reply, prompt, start};
use crate::wires::{simulator, wires};

#[tokio::test]
async fn a_reply_is_whole_cited_and_counted_as_the_far_side_counts() {
    let simulator = simulator().await;
    for wire in wires(&simulator) {
        let reply = Reply::of(start(wire.generator.as_ref(), AMPLE)).await;
        assert!(reply.fault.is_none(), "{}: {:?}", wire.name, reply.fault);
        assert_eq!(reply.finish, Some(FinishReason::Stop), "{}", wire.name);
        assert!(reply.text.contains("Reset badge") && reply.text.contains("[1]"), "{}", reply.text);
        let entry = simulator.journal().pop().unwrap();
        let usage = reply.usage.unwrap();
        assert_eq!(usage.input_tokens, u64::from(entry.prompt_tokens), "{}", wire.name);
        assert_eq!(usage.output_tokens, u64::from(entry.output_tokens), "{}", wire.name);
        assert!(entry.ended_ms.is_some(), "{entry:?}");
        let counts = wire.upstream.counts();
        assert_eq!((counts.calls, counts.succeeded, counts.abandoned), (1, 1, 0));
    }
}

#[tokio::test]
async fn tokens_are_rather_over_than_underestimated() {
    let simulator = simulator().await;
    for wire in wires(&simulator) {
        Reply::of(start(wire.generator.as_ref(), AMPLE)).await;
        let counted = u64::from(simulator.journal().pop().unwrap().prompt_tokens);
        let estimated = wire.generator.input_tokens(&prompt());
        assert!(estimated >= counted && estimated < counted * 2, "{estimated} for {counted}");
    }
    for text in ["再設定を押してください。", "Нажмите кнопку.", "Tap Reset, then wait 7 days."]
    {
        assert!(generate::estimated_tokens(text) >= u64::from(count_tokens(text)), "{text}");
    }
}
