//! A tree and a row → yes or no.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Names, Node, Operand, Operator};

pub(super) fn holds(node: &Node, names: &dyn Names) -> Result<bool, String> {
    match node {
        Node::Or(left, right) => Ok(holds(left, names)? || holds(right, names)?),
        Node::And(left, right) => Ok(holds(left, names)? && holds(right, names)?),
        Node::Not(inner) => Ok(!holds(inner, names)?),
        Node::Compare(operator, left, right) => {
            compare(*operator, &value(left, names), &value(right, names)).map_err(|reason| about(left, right, &reason))
        }
        Node::Truth(operand) => match &*value(operand, names) {
            Value::Bool(truth) => Ok(*truth),
            other => {
                Err(format!("{} is {}, not true or false; compare it with something", shown(operand), kind(other)))
            }
        },
    }
}

fn value<'v>(operand: &'v Operand, names: &'v dyn Names) -> Cow<'v, Value> {
    match operand {
        Operand::Literal(literal) => Cow::Borrowed(literal),
        Operand::Name(name) => names.value(name).unwrap_or(Cow::Owned(Value::Null)),
        Operand::List(items) => {
            Cow::Owned(Value::Array(items.iter().map(|item| value(item, names).into_owned()).collect()))
        }
    }
}

fn about(left: &Operand, right: &Operand, reason: &str) -> String {
    format!("cannot compare {} with {}: {reason}", shown(left), shown(right))
}

/// Names and literals of the suite may be shown; values of rows never.
fn shown(operand: &Operand) -> String {
    match operand {
        Operand::Name(name) => format!("`{name}`"),
        Operand::Literal(literal) => literal.to_string(),
        Operand::List(_) => "a list".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, String> {
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => equal(left, right).map(|same| !same),
        Operator::Less => Ok(order(left, right)? == Some(Ordering::Less)),
        Operator::LessOrEqual => Ok(matches!(order(left, right)?, Some(Ordering::Less | Ordering::Equal))),
        Operator::Greater => Ok(order(left, right)? == Some(Ordering::Greater)),
        Operator::GreaterOrEqual => Ok(matches!(order(left, right)?, Some(Ordering::Greater | Ordering::Equal))),
        Operator::In => member(left, right),
        Operator::NotIn => member(left, right).map(|found| !found),
        Operator::Contains => contains(left, right),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.is_null()),
        (Value::Array(lefts), Value::Array(rights)) => {
            if lefts.len() != rights.len() {
                return Ok(false);
            }
            lefts.iter().zip(rights).try_fold(true, |same, (left, right)| Ok(same && equal(left, right)?))
        }
        (Value::Array(_), _) | (_, Value::Array(_)) => Err("one side is a list; use `contains` or `in`".to_owned()),
        (Value::Object(_), _) | (_, Value::Object(_)) => Err("one side is an object".to_owned()),
        (Value::Bool(truth), Value::String(text)) | (Value::String(text), Value::Bool(truth)) => {
            Ok(text.parse() == Ok(*truth))
        }
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Bool(_), _) | (_, Value::Bool(_)) => Ok(false),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (left, right) => Ok(numbers(left, right) == Some(Ordering::Equal)),
    }
}

/// `None` where a side is null or the numbers have no order.
fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_)) => numbers(left, right)
            .map(Some)
            .ok_or_else(|| "one side is a number and the other is text that is no number".to_owned()),
        (left, right) => Err(format!("{} and {} have no order", kind(left), kind(right))),
    }
}

/// Both as numbers, whole ones exactly; `None` where one side is none.
fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => fraction(left)?.partial_cmp(&fraction(right)?),
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn fraction(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn member(item: &Value, list: &Value) -> Result<bool, String> {
    match list {
        Value::Null => Ok(false),
        Value::Array(items) => {
            for other in items {
                if equal(item, other)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        other => {
            Err(format!("the right side of `in` is {}, not a list; for a part of a text use `contains`", kind(other)))
        }
    }
}

fn contains(whole: &Value, part: &Value) -> Result<bool, String> {
    match (whole, part) {
        (Value::Null, _) => Ok(false),
        (Value::Array(_), part) => member(part, whole),
        (Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (Value::String(text), Value::Number(part)) => Ok(text.contains(&part.to_string())),
        (whole, part) => Err(format!("{} cannot contain {}", kind(whole), kind(part))),
    }
}
