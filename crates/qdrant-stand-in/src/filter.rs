//! Whether a filter admits a point.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{Condition, FieldCondition, Filter, PointId, Range, Value};
use tonic::Status;

use crate::point::{Name, Payload};
use crate::service::{invalid, unknown};

/// No filter admits everything.
pub(crate) fn admits(
    filter: Option<&Filter>,
    name: Name,
    payload: &Payload,
) -> Result<bool, Status> {
    let Some(filter) = filter else { return Ok(true) };
    if filter.min_should.is_some() {
        return Err(unknown("min_should"));
    }
    let holds = |condition: &Condition| holds(condition, name, payload);
    Ok(all(&filter.must, holds)?
        && !any(&filter.must_not, holds)?
        && (filter.should.is_empty() || any(&filter.should, holds)?))
}

/// All are looked at, so that one that is not understood is never hidden by another.
fn all<T>(items: &[T], test: impl Fn(&T) -> Result<bool, Status>) -> Result<bool, Status> {
    items.iter().try_fold(true, |so_far, item| Ok(test(item)? && so_far))
}

fn any<T>(items: &[T], test: impl Fn(&T) -> Result<bool, Status>) -> Result<bool, Status> {
    items.iter().try_fold(false, |so_far, item| Ok(test(item)? || so_far))
}

fn holds(condition: &Condition, name: Name, payload: &Payload) -> Result<bool, Status> {
    match condition.condition_one_of.as_ref().ok_or_else(|| invalid("an empty condition"))? {
        ConditionOneOf::Field(field) => field_holds(field, payload),
        ConditionOneOf::Filter(filter) => admits(Some(filter), name, payload),
        ConditionOneOf::HasId(ids) => {
            any(&ids.has_id, |id: &PointId| Ok(Name::of(Some(id))? == name))
        }
        ConditionOneOf::IsEmpty(field) => Ok(values(payload, &field.key).is_empty()),
        ConditionOneOf::IsNull(_)
        | ConditionOneOf::Nested(_)
        | ConditionOneOf::HasVector(_)
        | ConditionOneOf::Slice(_) => Err(unknown("this condition")),
    }
}

fn field_holds(field: &FieldCondition, payload: &Payload) -> Result<bool, Status> {
    let values = values(payload, &field.key);
    if let Some(range) = &field.range {
        return Ok(values.iter().any(|value| in_range(value, range)));
    }
    let wanted = field.r#match.as_ref().and_then(|wanted| wanted.match_value.as_ref());
    let wanted = wanted.ok_or_else(|| unknown("this condition on a field"))?;
    any(&values, |value| matches(value, wanted))
}

/// The values of a field; those of a list one by one.
fn values<'a>(payload: &'a Payload, field: &str) -> Vec<&'a Kind> {
    match payload.get(field).and_then(|value| value.kind.as_ref()) {
        None | Some(Kind::NullValue(_)) => Vec::new(),
        Some(Kind::ListValue(list)) => {
            list.values.iter().filter_map(|value: &Value| value.kind.as_ref()).collect()
        }
        Some(one) => vec![one],
    }
}

fn matches(value: &Kind, wanted: &MatchValue) -> Result<bool, Status> {
    match (wanted, value) {
        (MatchValue::Keyword(wanted), Kind::StringValue(text)) => Ok(wanted == text),
        (MatchValue::Keywords(wanted), Kind::StringValue(text)) => {
            Ok(wanted.strings.contains(text))
        }
        (MatchValue::Integer(wanted), Kind::IntegerValue(number)) => Ok(wanted == number),
        (MatchValue::Integers(wanted), Kind::IntegerValue(number)) => {
            Ok(wanted.integers.contains(number))
        }
        (MatchValue::Boolean(wanted), Kind::BoolValue(truth)) => Ok(wanted == truth),
        (
            MatchValue::Keyword(_)
            | MatchValue::Keywords(_)
            | MatchValue::Integer(_)
            | MatchValue::Integers(_)
            | MatchValue::Boolean(_),
            _,
        ) => Ok(false),
        (
            MatchValue::Text(_)
            | MatchValue::ExceptIntegers(_)
            | MatchValue::ExceptKeywords(_)
            | MatchValue::Phrase(_)
            | MatchValue::TextAny(_)
            | MatchValue::Prefix(_)
            | MatchValue::Substring(_),
            _,
        ) => Err(unknown("this match")),
    }
}

fn in_range(value: &Kind, range: &Range) -> bool {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds travel as f64, so they are compared as such"
    )]
    let number = match value {
        Kind::IntegerValue(number) => *number as f64,
        Kind::DoubleValue(number) => *number,
        Kind::NullValue(_)
        | Kind::StringValue(_)
        | Kind::BoolValue(_)
        | Kind::StructValue(_)
        | Kind::ListValue(_) => return false,
    };
    range.lt.is_none_or(|bound| number < bound)
        && range.lte.is_none_or(|bound| number <= bound)
        && range.gt.is_none_or(|bound| number > bound)
        && range.gte.is_none_or(|bound| number >= bound)
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::IsEmptyCondition;

    use super::*;

    fn payload() -> Payload {
        let fields: [(&str, Value); 3] =
            [("lang", "en".into()), ("tags", vec!["a", "b"].into()), ("from", 7.into())];
        fields.map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[track_caller]
    fn check(filter: &Filter, admitted: bool) {
        assert_eq!(
            admits(Some(filter), Name::Number(1), &payload()).unwrap(),
            admitted,
            "{filter:?}"
        );
    }

    fn range(gt: Option<f64>, lte: Option<f64>) -> Condition {
        Condition::range("from", Range { gt, lte, ..Range::default() })
    }

    #[test]
    fn conditions_hold_as_documented() {
        let is = |field: &str, value: &str| Condition::matches(field, value.to_owned());
        check(&Filter::default(), true);
        check(&Filter::must([is("lang", "en"), is("tags", "a"), is("tags", "b")]), true);
        check(&Filter::must([is("lang", "en"), is("tags", "c")]), false);
        check(&Filter::must([is("nothing", "en")]), false);
        check(&Filter::should([is("lang", "ja"), is("tags", "b")]), true);
        check(&Filter::must_not([is("tags", "b")]), false);
        check(&Filter::must([range(Some(6.0), Some(7.0))]), true);
        check(&Filter::must([range(Some(7.0), None)]), false);
        check(&Filter::must([Condition::has_id([2_u64, 1])]), true);
        let empty = IsEmptyCondition { key: "nothing".to_owned() };
        check(&Filter::must([Condition::from(empty)]), true);
    }

    #[test]
    fn what_is_not_understood_is_refused_wherever_it_stands() {
        let unknown = Condition::matches_text("lang", "en");
        let filter = Filter::must([Condition::matches("lang", "ja".to_owned()), unknown]);
        assert!(admits(Some(&filter), Name::Number(1), &payload()).is_err());
    }
}
