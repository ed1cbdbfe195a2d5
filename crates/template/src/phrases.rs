//! Our own words, language by language. To add a language, add a [`Phrases`] to [`ALL`].

use domain::Language;

/// The phrases of one language. `{}` stands for an article's title, or for several.
#[derive(Debug)]
pub(crate) struct Phrases {
    pub lang: &'static str,
    /// Leads in the article that answers best; a line of its own.
    pub from: &'static str,
    /// Leads in a sentence from a further article, right before it.
    pub also: &'static str,
    /// In place of a quotation, where the best article has no text to quote.
    pub may_help: &'static str,
    /// How a title stands within a list of titles, and what is between two.
    pub title: &'static str,
    pub between: &'static str,
    pub no_match: &'static str,
    /// Follows `no_match` where there are articles to suggest.
    pub perhaps: &'static str,
    /// Closes a `no_match`.
    pub what_now: &'static str,
    pub out_of_time: &'static str,
    /// Words by which a question asks for steps, in lower case.
    pub asks_how: &'static [&'static str],
    /// Words by which it asks for a number, a time or a price, in lower case.
    pub asks_figure: &'static [&'static str],
    /// How a sentence starts that only points elsewhere or names a picture, in lower case.
    pub points_elsewhere: &'static [&'static str],
    /// How a sentence starts that cannot be understood without the one before it, in lower case.
    pub leans_back: &'static [&'static str],
}

/// Every language, the one that others fall back to first.
const ALL: &[Phrases] = &[ENGLISH, JAPANESE];

const ENGLISH: Phrases = Phrases {
    lang: "en",
    from: "From “{}”:",
    also: "Also in “{}”: ",
    may_help: "The article “{}” may help.",
    title: "“{}”",
    between: ", ",
    no_match: "I could not find an answer to this in the help articles.",
    perhaps: "The closest articles are {}.",
    what_now: "Try asking in other words, or name the feature or the exact error message. \
               If that does not help, please contact support.",
    out_of_time: "The help articles could not be searched just now, so I cannot tell whether they answer this. \
                  Please try again in a moment.",
    asks_how: &[
        "how do",
        "how to",
        "how can",
        "how should",
        "way to",
        "steps",
        "where do",
        "where can",
        "i want to",
    ],
    asks_figure: &[
        "how long",
        "how many",
        "how much",
        "how often",
        "how old",
        "how big",
        "how large",
        "when ",
        "price",
        "cost",
        "limit",
    ],
    points_elsewhere: &[
        "see also",
        "see the",
        "see our",
        "see “",
        "related",
        "learn more",
        "for more",
        "for details",
        "read more",
        "figure",
        "image:",
        "screenshot",
        "next steps",
        "![",
        "in this article",
        "this article explains",
        "still need help",
        "was this",
        "last updated",
    ],
    leans_back: &[
        "this ",
        "these ",
        "that ",
        "those ",
        "it ",
        "it's ",
        "they ",
        "he ",
        "she ",
        "then ",
        "after that",
        "otherwise",
        "however",
        "but ",
        "also",
        "instead",
        "and ",
        "or ",
        "so ",
        "if so",
        "if not",
        "in that case",
        "in this case",
        "for example",
    ],
};

const JAPANESE: Phrases = Phrases {
    lang: "ja",
    from: "「{}」より：",
    also: "「{}」にも説明があります：",
    may_help: "「{}」の記事が参考になるかもしれません。",
    title: "「{}」",
    between: "、",
    no_match: "ヘルプ記事の中に、このご質問への回答は見つかりませんでした。",
    perhaps: "近い内容の記事は{}です。",
    what_now: "別の言い方にするか、機能の名前やエラーメッセージをそのまま入れて、もう一度お試しください。\
               それでも解決しない場合は、サポートまでお問い合わせください。",
    out_of_time: "ただいまヘルプ記事を検索できなかったため、回答があるかどうかを確認できませんでした。\
                  少し待ってから、もう一度お試しください。",
    asks_how: &[
        "方法",
        "手順",
        "やり方",
        "仕方",
        "どうやって",
        "どうすれば",
        "どうしたら",
        "どのように",
        "たい",
        "するには",
        "どこで",
        "どこから",
    ],
    asks_figure: &[
        "いくら",
        "いくつ",
        "いつ",
        "何日",
        "何時",
        "何枚",
        "何人",
        "何回",
        "何分",
        "何か月",
        "何年",
        "どのくらい",
        "どれくらい",
        "料金",
        "値段",
        "上限",
    ],
    points_elsewhere: &[
        "関連記事",
        "関連項目",
        "参照",
        "詳しくは",
        "詳細は",
        "くわしくは",
        "図：",
        "画像:",
        "画像：",
        "スクリーンショット",
        "![",
        "この記事では",
        "最終更新",
    ],
    leans_back: &[
        "これ",
        "それ",
        "その",
        "この",
        "こちら",
        "そちら",
        "また",
        "ただし",
        "しかし",
        "そして",
        "次に",
        "なお",
        "たとえば",
        "例えば",
        "または",
        "あるいは",
        "そのため",
        "すると",
    ],
};

impl Phrases {
    /// The phrases of `lang`, or the fallback's.
    pub(crate) fn of(lang: Language) -> &'static Self {
        let wanted = lang.as_str();
        ALL.iter().find(|phrases| phrases.lang == wanted).unwrap_or(&ALL[0])
    }

    /// The language they are in.
    pub(crate) fn language(&self) -> Language {
        self.lang.parse().unwrap_or(Language::ENGLISH)
    }
}

/// `phrase` with `title` in its place.
pub(crate) fn filled(phrase: &str, title: &str) -> String {
    phrase.replacen("{}", title, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_that_takes_a_title_has_one_place_for_it() {
        for phrases in ALL {
            for phrase in
                [phrases.from, phrases.also, phrases.may_help, phrases.title, phrases.perhaps]
            {
                assert_eq!(phrase.matches("{}").count(), 1, "{phrase:?}");
            }
        }
    }

    #[test]
    fn every_language_names_itself_and_others_fall_back_to_english() {
        for phrases in ALL {
            assert_eq!(Phrases::of(phrases.language()).lang, phrases.lang);
        }
        assert_eq!(Phrases::of("fr".parse().unwrap()).lang, "en");
    }

    #[test]
    fn openers_are_in_lower_case() {
        for phrases in ALL {
            for opener in [
                phrases.asks_how,
                phrases.asks_figure,
                phrases.points_elsewhere,
                phrases.leans_back,
            ]
            .concat()
            {
                assert_eq!(opener, opener.to_lowercase());
            }
        }
    }
}
