//! Templated answers, from outside: as they read, and what holds for all of them.

mod answers;
mod fixtures;
mod laws;
