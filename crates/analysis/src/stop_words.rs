//! Words that say nothing about a question's subject.

/// English function words, in lower case and without apostrophes (`dont` for "don't"). Question words and
/// polite fillers are among them, because questions to a help search are full of both; words that name an
/// action or a state (`off`, `not`, `no`, `without`) are not.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "arent", "as",
    "at", "be", "because", "been", "before", "being", "both", "but", "by", "can", "cant", "could",
    "couldnt", "did", "didnt", "do", "does", "doesnt", "doing", "dont", "each", "else", "etc",
    "ever", "for", "from", "had", "has", "hasnt", "have", "havent", "having", "he", "hello", "her",
    "here", "hers", "hi", "him", "his", "how", "however", "hows", "i", "id", "if", "ill", "im",
    "in", "into", "is", "isnt", "it", "its", "itself", "ive", "just", "let", "lets", "may", "me",
    "might", "mine", "must", "my", "myself", "of", "on", "or", "our", "ours", "please", "shall",
    "she", "should", "shouldnt", "so", "some", "such", "than", "thank", "thanks", "that", "thats",
    "the", "their", "theirs", "them", "then", "there", "theres", "these", "they", "theyre", "this",
    "those", "through", "to", "too", "until", "upon", "us", "very", "was", "wasnt", "we", "were",
    "weve", "what", "whats", "when", "where", "wheres", "whether", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "wont", "would", "wouldnt", "you", "your", "youre", "yours",
    "youve",
];

/// Japanese nouns and verbs that are grammar: the thing, the fact, to be, to do, to become, question words,
/// and what polite requests are made of (to tell, to want, to think, to know). Lemmas of the bundled
/// dictionary. Verbs that state a problem, such as 分かる in 「パスワードが分からない」, are not among them.
const JAPANESE: &[&str] = &[
    "事",
    "物",
    "付く",
    "つく",
    "ある",
    "有る",
    "居る",
    "為る",
    "成る",
    "因る",
    "よる",
    "出来る",
    "下さる",
    "頂く",
    "致す",
    "御座る",
    "仰る",
    "為",
    "時",
    "所",
    "様",
    "方",
    "訳",
    "筈",
    "何",
    "何処",
    "何時",
    "如何",
    "教える",
    "欲しい",
    "思う",
    "知る",
    "願う",
    "願い",
    "良い",
    "貰う",
    "呉れる",
    "御",
    "等",
];

pub(crate) fn is_english(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

pub(crate) fn is_japanese(lemma: &str) -> bool {
    JAPANESE.contains(&lemma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_list_is_sorted_for_its_search() {
        assert!(ENGLISH.is_sorted());
    }

    #[test]
    fn words_that_decide_a_question_are_kept() {
        for word in ["off", "not", "no", "without", "up", "down", "out", "over"] {
            assert!(!is_english(word), "{word}");
        }
        for lemma in ["分かる", "忘れる", "出る"] {
            assert!(!is_japanese(lemma), "{lemma}");
        }
    }
}
