//! [`FaultPlan`]: rules and scripts, per stage, changeable while running.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Fault, FaultKind, Stage};
use crate::draws::{Draws, Key};

/// What goes wrong with calls of each stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FaultPlan {
    pub generate: StageFaults,
    pub embed: StageFaults,
}

/// What goes wrong with calls of one stage: first the steps of the script, one per call, in order of
/// arrival; then the rules, of which the first that a call's luck picks holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageFaults {
    pub script: VecDeque<Step>,
    pub rules: Vec<Fault>,
}

/// What happens to one call: a fault, or nothing.
pub type Step = Option<Fault>;

/// A plan that cannot be.
#[derive(Debug, Error)]
pub enum FaultPlanError {
    #[error("not a fault plan: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{kind} cannot happen to {stage:?} calls")]
    WrongStage { kind: FaultKind, stage: Stage },
    #[error("a rate lies between 0 and 1, not at {0}")]
    Rate(f64),
    #[error("a fault is written KIND=RATE or STAGE:KIND=RATE, not {0:?}")]
    Spelling(String),
    #[error(transparent)]
    Unknown(#[from] super::UnknownFault),
}

/// A stage's faults as they may be written: one fault, several, or a script and rules.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(Fault),
    Several(Vec<Fault>),
    Full(WrittenInFull),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInFull {
    #[serde(default)]
    script: Vec<WrittenStep>,
    #[serde(default)]
    rules: Vec<Fault>,
}

/// A step: a fault, its bare name, or `null` or `"ok"` for none.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenStep {
    Name(String),
    Fault(Fault),
    None(()),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlan {
    #[serde(default)]
    generate: Value,
    #[serde(default)]
    embed: Value,
}

impl FaultPlan {
    /// Reads `{"generate": …, "embed": …}`; a stage that is left out goes well. Each is a fault
    /// (`{"kind": "unavailable", "rate": 0.1}`), an array of them, or `{"script": […], "rules": […]}`,
    /// where a script's steps may be bare names, or `"ok"`.
    ///
    /// # Errors
    ///
    /// [`FaultPlanError`], naming what is wrong.
    pub fn from_json(text: &[u8]) -> Result<Self, FaultPlanError> {
        let written: WrittenPlan = serde_json::from_slice(text)?;
        let generate = StageFaults::read(written.generate, Stage::Generate)?;
        let embed = StageFaults::read(written.embed, Stage::Embed)?;
        Ok(Self { generate, embed })
    }

    /// Adds a rule written `KIND=RATE` (for every stage it can happen in) or `STAGE:KIND=RATE`.
    ///
    /// # Errors
    ///
    /// [`FaultPlanError`], naming what is wrong.
    pub fn add(&mut self, rule: &str) -> Result<(), FaultPlanError> {
        let spelling = || FaultPlanError::Spelling(rule.to_owned());
        let (what, rate) = rule.split_once('=').ok_or_else(spelling)?;
        let rate: f64 = rate.trim().parse().map_err(|_| spelling())?;
        let (stages, kind): (&[Stage], _) = match what.split_once(':') {
            None => (&[Stage::Generate, Stage::Embed], what),
            Some(("generate", kind)) => (&[Stage::Generate], kind),
            Some(("embed", kind)) => (&[Stage::Embed], kind),
            Some(_) => return Err(spelling()),
        };
        let fault = Fault::always(kind.trim().parse()?).with_rate(rate);
        let named = stages.len() == 1;
        for &stage in stages.iter().filter(|stage| named || fault.kind.concerns(**stage)) {
            check(&fault, stage)?;
            self.of_mut(stage).rules.push(fault.clone());
        }
        Ok(())
    }

    pub(crate) fn of_mut(&mut self, stage: Stage) -> &mut StageFaults {
        match stage {
            Stage::Generate => &mut self.generate,
            Stage::Embed => &mut self.embed,
        }
    }

    /// Whether no call of any stage will be let in.
    pub(crate) fn refuses_everything(&self) -> bool {
        self.generate.refuses_everything() && self.embed.refuses_everything()
    }
}

impl StageFaults {
    /// `fault`, as often as it says.
    #[must_use]
    pub fn rule(fault: Fault) -> Self {
        Self { rules: vec![fault], script: VecDeque::new() }
    }

    /// `steps`, one per call, and then nothing.
    #[must_use]
    pub fn script(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { script: steps.into_iter().collect(), rules: Vec::new() }
    }

    fn read(written: Value, stage: Stage) -> Result<Self, FaultPlanError> {
        if written.is_null() {
            return Ok(Self::default());
        }
        // The untagged error says nothing, so the likely form is tried for its own.
        let faults = match serde_json::from_value(written.clone()) {
            Ok(Written::One(fault)) => Self::rule(fault),
            Ok(Written::Several(rules)) => Self { rules, script: VecDeque::new() },
            Ok(Written::Full(WrittenInFull { script, rules })) => {
                let script = script.into_iter().map(step).collect::<Result<_, _>>()?;
                Self { script, rules }
            }
            Err(error) if written.get("kind").is_some() => {
                return Err(serde_json::from_value::<Fault>(written).err().unwrap_or(error).into());
            }
            Err(error) => return Err(error.into()),
        };
        faults.script.iter().flatten().chain(&faults.rules).try_for_each(|f| check(f, stage))?;
        Ok(faults)
    }

    /// What happens to the next call, of `model`, with the luck of `key`.
    pub(crate) fn next(&mut self, draws: &Draws, key: Key, model: &str) -> Option<Fault> {
        if let Some(step) = self.script.pop_front() {
            return step;
        }
        let mut hits = self.rules.iter().filter(|fault| fault.is_for(model));
        let hit = hits.find(|fault| draws.chance(key, fault.kind.name()).happens(fault.rate));
        hit.cloned()
    }

    fn refuses_everything(&self) -> bool {
        let refuses = |fault: &Fault| {
            fault.kind == FaultKind::Refused && fault.rate >= 1.0 && fault.model.is_none()
        };
        self.script.is_empty() && self.rules.first().is_some_and(refuses)
    }
}

fn step(written: WrittenStep) -> Result<Step, FaultPlanError> {
    Ok(match written {
        WrittenStep::Name(name) if name == "ok" => None,
        WrittenStep::Name(name) => Some(Fault::always(name.parse()?)),
        WrittenStep::Fault(fault) => Some(fault),
        WrittenStep::None(()) => None,
    })
}

fn check(fault: &Fault, stage: Stage) -> Result<(), FaultPlanError> {
    if !(0.0..=1.0).contains(&fault.rate) {
        return Err(FaultPlanError::Rate(fault.rate));
    }
    let kind = fault.kind;
    if kind.concerns(stage) { Ok(()) } else { Err(FaultPlanError::WrongStage { kind, stage }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Profile;

    #[track_caller]
    fn read(text: &str) -> FaultPlan {
        FaultPlan::from_json(text.as_bytes()).unwrap()
    }

    #[test]
    fn plans_are_written_in_three_ways() {
        let one = read(r#"{"generate": {"kind": "stall_midstream", "after_chunks": 2}}"#);
        let fault = Fault::always(FaultKind::StallMidstream).after_chunks(2);
        assert_eq!(one.generate, StageFaults::rule(fault));
        assert_eq!(one.embed, StageFaults::default());
        let several =
            read(r#"{"embed": [{"kind": "internal", "rate": 0.5}, {"kind": "html_502"}]}"#);
        assert_eq!(several.embed.rules.len(), 2);
        let script =
            read(r#"{"generate": {"script": ["ok", null, "unavailable", {"kind": "refused"}]}}"#);
        let kinds: Vec<_> =
            script.generate.script.iter().map(|s| s.as_ref().map(|f| f.kind)).collect();
        assert_eq!(kinds, [None, None, Some(FaultKind::Unavailable), Some(FaultKind::Refused)]);
    }

    #[test]
    fn impossible_plans_are_refused() {
        for bad in [
            r#"{"generate": {"kind": "explodes"}}"#,
            r#"{"generate": {"kind": "internal", "rate": 1.5}}"#,
            r#"{"embed": {"kind": "sentinel"}}"#,
            r#"{"vector": {"kind": "internal"}}"#,
            r#"{"embed": {"kind": "internal", "often": true}}"#,
        ] {
            assert!(FaultPlan::from_json(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn rules_of_the_command_line() {
        let mut plan = FaultPlan::default();
        plan.add("unavailable=0.1").unwrap();
        plan.add("sentinel=0.2").unwrap();
        plan.add("embed:refused=1").unwrap();
        assert_eq!((plan.generate.rules.len(), plan.embed.rules.len()), (2, 2));
        for bad in ["unavailable", "vector:internal=1", "embed:sentinel=1", "x=1", "internal=2"] {
            assert!(plan.add(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_script_is_used_up_and_rules_hit_their_share_of_keys() {
        let draws = Draws::new(7, Profile::Zero);
        let mut faults = StageFaults::rule(Fault::always(FaultKind::Internal).with_rate(0.25));
        faults.script = [None, Some(Fault::always(FaultKind::Html502))].into();
        assert_eq!(faults.next(&draws, Key::counted(0), "m"), None);
        assert_eq!(faults.next(&draws, Key::counted(0), "m").unwrap().kind, FaultKind::Html502);
        let hits: Vec<u64> =
            (0..10_000).filter(|n| faults.next(&draws, Key::counted(*n), "m").is_some()).collect();
        assert!((2350..2650).contains(&hits.len()), "{}", hits.len());
        assert!(faults.next(&draws, Key::counted(hits[0]), "m").is_some(), "the same luck again");
    }

    #[test]
    fn every_name_is_known() {
        for kind in FaultKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{kind}\""));
        }
    }
}
