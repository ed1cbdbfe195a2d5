use thiserror::Error;

use super::{Depth, Knob};

/// Why a model cannot be asked as it is configured. Each message names the model and the setting.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ModelError {
    #[error("{name:?} is no model name; letters, digits and - _ . : / @ may be in one")]
    Name { name: String },
    #[error("{model} has the thinking knob {known}, so thinking.knob cannot be {wanted}")]
    WrongKnob { model: String, known: Knob, wanted: Knob },
    #[error(
        "nothing is known of how {model} thinks; set thinking.knob along with thinking.{setting}"
    )]
    NoKnob { model: String, setting: &'static str },
    #[error("thinking.{setting} must be set for {model} along with thinking.knob")]
    Missing { model: String, setting: &'static str },
    #[error("{model} does not take {value} as thinking.{setting}; it takes {allowed}")]
    Depth { model: String, setting: &'static str, value: Depth, allowed: String },
    #[error("thinking.levels of {model} must name each level once, least first")]
    Levels { model: String },
    #[error("{model} ignores or refuses sampling, so temperature cannot be set")]
    Sampling { model: String },
    #[error("{setting} of {model} is {value}, which is not within {least} and {most}")]
    Range { model: String, setting: &'static str, value: f64, least: f64, most: f64 },
    #[error(
        "{model} cannot be asked over this wire with a thinking {knob}; set thinking.knob to none or use {instead}"
    )]
    Wire { model: String, knob: &'static str, instead: &'static str },
}
