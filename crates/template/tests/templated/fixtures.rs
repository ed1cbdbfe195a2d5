//! Passages of the help center of "Tsumugi", a photo app that does not exist.

use std::sync::Arc;

use analysis::{Analyzer, Han, Profile};
use domain::{ArticleId, Hit, Language, Passage, PassageId, Question, Script};

pub(crate) fn analyzer() -> Analyzer {
    Analyzer::new(Profile { han: Han::Japanese, latin: Language::ENGLISH })
}

pub(crate) fn question(lang: &str, text: &str) -> Question {
    Question::from_normalized(text.to_owned(), language(lang), Script::Other)
}

pub(crate) fn language(tag: &str) -> Language {
    tag.parse().expect("tests name languages")
}

pub(crate) fn passage(
    article: &str,
    ordinal: u32,
    title: &str,
    heading: &str,
    text: &str,
) -> Arc<Passage> {
    let lang =
        article.split('/').next().map(language).expect("an article id starts with its language");
    let headings: Vec<String> = Some(heading)
        .filter(|heading| !heading.is_empty())
        .map(str::to_owned)
        .into_iter()
        .collect();
    Arc::new(Passage {
        id: PassageId::from_bytes([0; 16]),
        article_id: ArticleId::new(article),
        title: title.to_owned(),
        headings,
        url: Some(format!("https://tsumugi.example/{article}#{ordinal}")),
        lang,
        tags: Vec::new(),
        ordinal,
        text: text.to_owned(),
    })
}

pub(crate) fn hits(passages: impl IntoIterator<Item = Arc<Passage>>) -> Vec<Hit> {
    passages
        .into_iter()
        .zip(1_u8..)
        // As fused from two lists in this order.
        .map(|(passage, rank)| Hit {
            passage,
            score: 2.0 / (10.0 + f32::from(rank)),
            keyword_rank: None,
            cosine: None,
        })
        .collect()
}

pub(crate) fn reset_password() -> Arc<Passage> {
    passage(
        "en/reset-password",
        1,
        "Reset your password",
        "Forgotten password",
        "You can choose a new password by email.\n\n\
         1. On the sign-in screen, tap Forgot password.\n\
         2. Enter your email address.\n\
         3. Open the link we send you and type a new password.\n\n\
         The link works for 30 minutes. It can be used once.",
    )
}

pub(crate) fn password_rules() -> Arc<Passage> {
    passage(
        "en/reset-password",
        2,
        "Reset your password",
        "Password rules",
        "A password needs at least 10 characters. It must not contain your email address.",
    )
}

pub(crate) fn cancel_plan() -> Arc<Passage> {
    passage(
        "en/cancel-plan",
        0,
        "Cancel your plan",
        "",
        "You can cancel the Plus plan at any time. Open Settings > Plan and tap Cancel plan. \
         Your photos are kept, but uploads stop above 5 GB. See also “Refunds”.",
    )
}

pub(crate) fn refunds() -> Arc<Passage> {
    passage(
        "en/refunds",
        0,
        "Refunds",
        "",
        "When can I get a refund?\n\nA yearly plan you cancel within 14 days is refunded in full [2]. \
         A monthly plan is not refunded.",
    )
}

pub(crate) fn trash() -> Arc<Passage> {
    passage(
        "en/trash",
        0,
        "Restore deleted photos",
        "",
        "Deleted photos stay in the trash for 30 days. After that they are erased for good. \
         Shared albums have a trash of their own.",
    )
}

pub(crate) fn shared_albums() -> Arc<Passage> {
    passage(
        "en/shared-albums",
        0,
        "Shared albums",
        "Roles",
        "Members of a shared album have one of these roles:\n\
         - Owner: invites members and deletes any photo.\n\
         - Editor: adds photos and deletes their own.\n\
         - Viewer: looks, likes and comments.",
    )
}

pub(crate) fn plans() -> Arc<Passage> {
    passage(
        "en/plans",
        0,
        "Plans and prices",
        "",
        "Plan: Free | Storage: 5 GB | Price: nothing\n\
         Plan: Plus | Storage: 100 GB | Price: $4.99 a month\n\
         Plan: Family | Storage: 1 TB | Price: $9.99 a month",
    )
}

pub(crate) fn error_1042() -> Arc<Passage> {
    passage(
        "en/tg-1042",
        0,
        "Error TG-1042",
        "",
        "Error TG-1042 means that your device's clock is wrong, e.g. after a flight. \
         Set date and time to automatic, then tap Retry. It needs version 3.2.1 or later.",
    )
}

pub(crate) fn reset_password_ja() -> Arc<Passage> {
    passage(
        "ja/reset-password",
        0,
        "パスワードを再設定する",
        "パスワードを忘れた場合",
        "パスワードは、メールを使って再設定できます。\n\n\
         1. サインイン画面で「パスワードを忘れた」をタップします。\n\
         2. メールアドレスを入力します。\n\
         3. 届いたメールのリンクを開き、新しいパスワードを入力します。\n\n\
         リンクの有効期限は30分です。",
    )
}

pub(crate) fn cancel_plan_ja() -> Arc<Passage> {
    passage(
        "ja/cancel-plan",
        0,
        "プランを解約する",
        "",
        "Plusプランはいつでも解約できます。「設定」→「プラン」を開き、「解約する」を押してください。\
         解約しても写真は消えません。詳しくは「返金」をご覧ください。",
    )
}

pub(crate) fn trash_ja() -> Arc<Passage> {
    passage(
        "ja/trash",
        0,
        "削除した写真を元に戻す",
        "",
        "削除した写真は、30日間ゴミ箱に残ります。「30日を過ぎました。復元できません。」と表示された写真は元に戻せません。",
    )
}

pub(crate) fn error_1042_ja() -> Arc<Passage> {
    passage(
        "ja/tg-1042",
        0,
        "エラー TG-1042",
        "",
        "TG-1042は、端末の時計がずれているときに表示されます。日付と時刻を自動設定にして、「再試行」を押してください。",
    )
}

pub(crate) fn all() -> Vec<Arc<Passage>> {
    vec![
        reset_password(),
        password_rules(),
        cancel_plan(),
        refunds(),
        trash(),
        shared_albums(),
        plans(),
        error_1042(),
        reset_password_ja(),
        cancel_plan_ja(),
        trash_ja(),
        error_1042_ja(),
    ]
}
