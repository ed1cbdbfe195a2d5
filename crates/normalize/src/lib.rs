//! What a user typed → [`domain::Question`]: one spelling per text, within limits, with its language and
//! script. Pure and total: any string gives a question or an error that tells its sender what to do.

mod fold;
mod language;
mod question;
mod script;

pub use fold::{fold_text, short_name};
pub use question::{Limits, QuestionError, question};
