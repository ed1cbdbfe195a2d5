//! Replies made from the passages in the prompt, so that what they cite can be checked.

mod prompt;
mod words;

use std::collections::HashSet;

use crate::tokens::{beginning, count_tokens};

pub use prompt::Hint;
pub(crate) use prompt::Prompt;
use prompt::{Passage, is_mostly_ideographic};

/// Said instead of an answer where the prompt names no word of its own.
const SENTINEL: &str = "NO_ANSWER_IN_PASSAGES";
const NOTHING_TO_GO_BY: [&str; 2] = [
    "This is a simulated reply to a prompt without passages.",
    "これは抜粋のない質問への模擬回答です。",
];
const OUT_OF_THIN_AIR: [&str; 2] = [
    "Lunar ferries depart pier nine whenever violet whales sing",
    "紫色の鯨が歌うと月面行きの渡し船が第九桟橋を出港します",
];

/// Sentences of a reply that nothing lengthens.
const MOST_SENTENCES: usize = 3;
/// The decisive sentence is cut to this many tokens, mark included.
const LONGEST_FIRST: u32 = 60;
/// A gap smaller than this many tokens is not filled with part of a sentence.
const LEAST_FILLER: u32 = 8;

/// What is wrong with a reply's relation to its passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Manner {
    #[default]
    Honest,
    /// Says that the passages do not answer.
    Declines,
    /// Cites passages for what they do not say, and one that there is not.
    Unsupported,
    /// Says what passages say and cites none.
    Uncited,
}

/// How long a reply is to be, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// At most so long, if that is possible with one sentence.
    AtMost(Option<u32>),
    /// Filled up to so much, but never less than its first sentence.
    About(u32),
}

/// The reply to `prompt`. The same for the same prompt.
pub(crate) fn reply(prompt: &Prompt<'_>, manner: Manner, length: Length) -> String {
    if manner == Manner::Declines {
        return sentinel(prompt);
    }
    if prompt.passages.is_empty() {
        let plain = pick(NOTHING_TO_GO_BY, prompt.question);
        return assemble(&[(plain, None)], length);
    }
    let ranked = ranked(prompt);
    let about_nothing = ranked.first().is_none_or(|best| best.shared == 0);
    if manner == Manner::Honest && about_nothing && prompt.sentinel.is_some() {
        return sentinel(prompt);
    }
    let sentences: Vec<(&str, Option<u32>)> = match manner {
        Manner::Unsupported => unsupported(&prompt.passages),
        Manner::Uncited => ranked.iter().map(|sentence| (sentence.text, None)).collect(),
        Manner::Honest | Manner::Declines => {
            ranked.iter().map(|sentence| (sentence.text, Some(sentence.n))).collect()
        }
    };
    assemble(&sentences, length)
}

fn sentinel(prompt: &Prompt<'_>) -> String {
    prompt.sentinel.unwrap_or(SENTINEL).to_owned()
}

fn unsupported(passages: &[Passage<'_>]) -> Vec<(&'static str, Option<u32>)> {
    let first = passages.first().map_or("", |passage| passage.text);
    let claim = pick(OUT_OF_THIN_AIR, first);
    let beyond = passages.iter().map(|passage| passage.n).max().unwrap_or(0).saturating_add(90);
    vec![(claim, passages.first().map(|passage| passage.n)), (claim, Some(beyond))]
}

/// The Japanese text for a Japanese `sample`, else the English one.
fn pick(texts: [&'static str; 2], sample: &str) -> &'static str {
    texts[usize::from(is_mostly_ideographic(sample))]
}

/// A sentence of a passage and how much of the question it shares.
struct Candidate<'a> {
    n: u32,
    text: &'a str,
    shared: usize,
}

/// All sentences of all passages, those that share most with the question first.
fn ranked<'a>(prompt: &Prompt<'a>) -> Vec<Candidate<'a>> {
    let asked = words::content_words(prompt.question);
    let mut all: Vec<Candidate<'a>> = Vec::new();
    for passage in &prompt.passages {
        let sentences = words::sentences(passage.text).into_iter();
        all.extend(sentences.map(|text| Candidate {
            n: passage.n,
            text,
            shared: shared(text, &asked),
        }));
    }
    all.sort_by_key(|candidate| std::cmp::Reverse(candidate.shared));
    all
}

/// How many of the words asked for `sentence` has.
fn shared(sentence: &str, asked: &HashSet<String>) -> usize {
    // Most sentences have none, which is seen without taking them apart.
    let lower = sentence.to_lowercase();
    if !asked.iter().any(|word| lower.contains(word.as_str())) {
        return 0;
    }
    words::content_words(sentence).intersection(asked).count()
}

/// Puts sentences and marks together until `length` is reached, starting over if they run out.
fn assemble(sentences: &[(&str, Option<u32>)], length: Length) -> String {
    let mut reply = String::new();
    let mut used = 0;
    for (index, (sentence, mark)) in sentences.iter().cycle().enumerate() {
        let whole = cited(sentence, *mark);
        let tokens = count_tokens(&whole);
        let room = match length {
            _ if index == 0 => LONGEST_FIRST,
            Length::AtMost(_) if index >= MOST_SENTENCES.min(sentences.len()) => 0,
            Length::AtMost(most) => most.unwrap_or(u32::MAX).saturating_sub(used),
            Length::About(target) => target.saturating_sub(used),
        };
        let fits = tokens <= room;
        let part = if fits { whole } else { shortened(sentence, *mark, room).unwrap_or_default() };
        let stop = part.is_empty() || (!fits && index > 0);
        let may_shorten = index == 0 || matches!(length, Length::About(_));
        if fits || may_shorten {
            push(&mut reply, &part);
            used = count_tokens(&reply);
        }
        if stop {
            return reply;
        }
    }
    reply
}

fn push(reply: &mut String, part: &str) {
    let spaced = !reply.is_empty() && !reply.ends_with('。') && !part.is_empty();
    if spaced {
        reply.push(' ');
    }
    reply.push_str(part);
}

/// `sentence` with its mark before the full stop.
fn cited(sentence: &str, mark: Option<u32>) -> String {
    let bare = sentence.trim_end_matches(['.', '!', '?', '。', '！', '？']).trim_end();
    let japanese = is_mostly_ideographic(sentence);
    let stop = if japanese { '。' } else { '.' };
    match mark {
        None => format!("{bare}{stop}"),
        Some(n) if japanese => format!("{bare}[{n}]{stop}"),
        Some(n) => format!("{bare} [{n}]{stop}"),
    }
}

/// The beginning of `sentence` that makes at most `room` tokens with its mark, cut between words.
fn shortened(sentence: &str, mark: Option<u32>, room: u32) -> Option<String> {
    /// Tokens for mark, stop and the space before.
    const TRIMMINGS: u32 = 3;
    if room < LEAST_FILLER {
        return None;
    }
    let cut = beginning(sentence, room - TRIMMINGS);
    let at_word = if is_mostly_ideographic(cut) || cut.len() == sentence.len() {
        cut
    } else {
        cut.rsplit_once(' ').map_or(cut, |(words, _)| words)
    };
    Some(cited(at_word, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "<passage n=\"1\" title=\"Plans\">\nPlans renew monthly. You can cancel a plan in Billing.\n\
        </passage>\n<passage n=\"2\" title=\"Badges\">\nBadges show roles. To reset a badge, open Settings and choose Reset.\n\
        </passage>\n<question>\nHow do I reset my badge?\n</question>";
    const SYSTEM: &str = "Else say exactly: NO_ANSWER_IN_PASSAGES";

    fn say(manner: Manner, length: Length) -> String {
        reply(&Prompt::parse(SYSTEM, USER), manner, length)
    }

    #[test]
    fn the_decisive_sentence_comes_first_and_is_cited() {
        let text = say(Manner::Honest, Length::AtMost(None));
        assert!(
            text.starts_with(
                "To reset a badge, open Settings and choose Reset [2]. Badges show roles [2]."
            ),
            "{text}"
        );
        assert_eq!(say(Manner::Honest, Length::AtMost(Some(1))).matches('[').count(), 1);
    }

    #[test]
    fn a_reply_is_filled_up_to_its_length() {
        for target in [30, 100, 333, 1000] {
            let tokens = count_tokens(&say(Manner::Honest, Length::About(target)));
            assert!(tokens <= target && tokens + LEAST_FILLER >= target, "{tokens} for {target}");
        }
        assert!(say(Manner::Honest, Length::About(2)).ends_with("[2]."));
    }

    #[test]
    fn manners_differ_in_what_they_cite() {
        assert!(!say(Manner::Uncited, Length::AtMost(None)).contains('['));
        let invented = say(Manner::Unsupported, Length::AtMost(None));
        assert!(invented.contains("whales sing [1].") && invented.contains("[92]"), "{invented}");
        assert_eq!(say(Manner::Declines, Length::AtMost(None)), "NO_ANSWER_IN_PASSAGES");
    }

    #[test]
    fn a_question_about_something_else_is_declined_if_there_is_a_word_for_it() {
        let user = USER.replace("reset my badge", "bake sourdough bread");
        let prompt = Prompt::parse(SYSTEM, &user);
        assert_eq!(reply(&prompt, Manner::Honest, Length::About(90)), "NO_ANSWER_IN_PASSAGES");
        let prompt = Prompt::parse("", &user);
        assert!(reply(&prompt, Manner::Honest, Length::AtMost(None)).contains("[1]"));
    }

    #[test]
    fn japanese_passages_make_japanese_replies() {
        let user = "<passage n=\"1\" title=\"鍵\">\n鍵は二つあります。合鍵を作るには受付に申し込みます。\n</passage>\n\
                    <question>\n合鍵の作り方は？\n</question>";
        let text = reply(&Prompt::parse("", user), Manner::Honest, Length::AtMost(Some(20)));
        assert_eq!(text, "合鍵を作るには受付に申し込みます[1]。");
    }

    #[test]
    fn without_passages_there_is_still_something_to_say() {
        let prompt = Prompt::parse("", "hi");
        assert!(reply(&prompt, Manner::Honest, Length::AtMost(None)).starts_with("This is"));
        assert!(count_tokens(&reply(&prompt, Manner::Honest, Length::About(200))) > 150);
    }
}
