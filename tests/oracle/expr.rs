//! Expressions of scenarios.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep::{Dispatch, DynUpdate, END, Route, START, Write};

use crate::term::{Computed, NoValue, Term};

/// What an expression can look up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    /// The state, and what was sent, of a node or router; none in a call.
    pub(crate) given: Option<Term>,
    pub(crate) vars: BTreeMap<String, Term>,
}

impl Env {
    /// The surroundings of a node or router.
    pub(crate) fn of(given: Term) -> Self {
        Self { given: Some(given), vars: BTreeMap::new() }
    }

    fn look_up(&self, path: &str) -> Term {
        let mut keys = path.split('.');
        let (head, first) = (keys.next(), keys.next());
        let found = match (head, first) {
            (Some("state" | "arg"), None) => self.given.clone(),
            (Some("state" | "arg"), Some(key)) => self.given.as_ref().and_then(|given| entry(given, key)),
            (Some("var"), None) => Some(Term::Map(self.vars.clone())),
            (Some("var"), Some(key)) => self.vars.get(key).cloned(),
            _ => None,
        };
        keys.fold(found.unwrap_or(Term::NULL), |term, key| entry(&term, key).unwrap_or(Term::NULL))
    }
}

fn entry(term: &Term, key: &str) -> Option<Term> {
    match term {
        Term::Map(entries) => entries.get(key).cloned(),
        _ => None,
    }
}

/// The name of a node; START and END are the ends.
pub(crate) fn name(name: &str) -> String {
    match name {
        "START" => START.to_owned(),
        "END" => END.to_owned(),
        other => other.to_owned(),
    }
}

/// The value of an expression.
pub(crate) fn eval(expr: &Value, env: &Env) -> Computed {
    match expr {
        Value::Array(items) => Ok(Term::List(items.iter().map(|item| eval(item, env)).collect::<Result<_, _>>()?)),
        Value::Object(object) => eval_object(object, env),
        plain => Ok(Term::Plain(plain.clone())),
    }
}

fn eval_object(object: &Map<String, Value>, env: &Env) -> Computed {
    let mut entries = object.iter();
    if let (Some((op, operand)), None) = (entries.next(), entries.next())
        && let Some(value) = operate(op, operand, env)
    {
        return value;
    }
    let entries = object.iter().map(|(key, value)| Ok((key.clone(), eval(value, env)?)));
    Ok(Term::Map(entries.collect::<Result<_, NoValue>>()?))
}

/// The value of an operation; none if the word is no operation.
fn operate(op: &str, operand: &Value, env: &Env) -> Option<Computed> {
    let value = || eval(operand, env);
    Some(match op {
        "$" => operand.as_str().map(|path| env.look_up(path)).ok_or_else(|| malformed(op)),
        "$lit" => Ok(operand.clone().into()),
        "$add" => pair(operand, env).and_then(|(a, b)| a.add(b)),
        "$eq" => pair(operand, env).map(|(a, b)| truth(a.same(&b))),
        "$lt" => pair(operand, env).and_then(|(a, b)| a.less(b)).map(truth),
        "$len" => value().and_then(|value| value.len()).map(|len| Term::Plain(len.into())),
        "$not" => value().map(|value| truth(!value.truth())),
        "$str" => value().map(|value| Term::Plain(value.text().into())),
        "$overwrite" => value().map(|value| Term::Overwrite(Box::new(value))),
        "$range" => value().and_then(|value| range(&value)),
        "$if" => choose(operand, env),
        "$send" => send(operand, env),
        "$each" => each(operand, env),
        _ => return None,
    })
}

fn malformed(op: &str) -> NoValue {
    NoValue(format!("the operand of {op} is malformed"))
}

fn truth(value: bool) -> Term {
    Term::Plain(Value::Bool(value))
}

fn pair(operand: &Value, env: &Env) -> Result<(Term, Term), NoValue> {
    let items = eval(operand, env)?.items()?;
    <[Term; 2]>::try_from(items).map(|[a, b]| (a, b)).map_err(|_| NoValue("two operands are wanted".to_owned()))
}

fn range(value: &Term) -> Computed {
    let end = value.integer().ok_or_else(|| malformed("$range"))?;
    let end = i64::try_from(end).map_err(|_| malformed("$range"))?;
    Ok(Term::List((0..end).map(|number| Term::Plain(number.into())).collect()))
}

fn choose(operand: &Value, env: &Env) -> Computed {
    let Some([condition, then, otherwise]) = operand.as_array().map(Vec::as_slice) else {
        return Err(malformed("$if"));
    };
    if eval(condition, env)?.truth() { eval(then, env) } else { eval(otherwise, env) }
}

fn send(operand: &Value, env: &Env) -> Computed {
    let node = operand["node"].as_str().ok_or_else(|| malformed("$send"))?;
    Ok(Term::Send { node: name(node), arg: Box::new(eval(&operand["arg"], env)?) })
}

fn each(operand: &Value, env: &Env) -> Computed {
    let variable = operand["as"].as_str().ok_or_else(|| malformed("$each"))?;
    let mut inner = env.clone();
    let mut list = Vec::new();
    for item in eval(&operand["in"], env)?.items()? {
        inner.vars.insert(variable.to_owned(), item);
        list.push(eval(&operand["do"], &inner)?);
    }
    Ok(Term::List(list))
}

/// A value as an update of the state.
pub(crate) fn update(term: Term) -> Result<DynUpdate, NoValue> {
    let Term::Map(entries) = term else { return Err(NoValue("an update is an object".to_owned())) };
    let write = |update: DynUpdate, (key, term)| {
        let write = match term {
            Term::Overwrite(value) => Write::Overwrite(value.to_json()),
            term => Write::Put(term.to_json()),
        };
        update.write(key, write)
    };
    Ok(entries.into_iter().fold(DynUpdate::new(), write))
}

/// A value as destinations: a name, a Send, or a list of them.
pub(crate) fn routes(term: Term) -> Result<Vec<Route>, NoValue> {
    match term {
        Term::Plain(Value::String(node)) => Ok(vec![Route::Node(name(&node))]),
        Term::Send { node, arg } => Ok(vec![Route::Send(Dispatch::to(node, arg.to_json()))]),
        Term::List(items) => {
            let parts = items.into_iter().map(routes).collect::<Result<Vec<_>, _>>()?;
            Ok(parts.into_iter().flatten().collect())
        }
        other => Err(NoValue(format!("{} is no destination", other.text()))),
    }
}
