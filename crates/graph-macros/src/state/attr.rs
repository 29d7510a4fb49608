//! The attributes `#[reducer(..)]` and `#[state(..)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, LitStr, Path, Result};

/// A reducer as written.
#[derive(Clone)]
pub(super) enum Reducer {
    Last,
    Append,
    Add,
    Max,
    Min,
    Merge,
    Union,
    Messages,
    With(Box<Expr>),
}

/// How long a field lives.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Tracked,
    Untracked,
    Ephemeral,
    Any,
}

/// What the attributes of a field say, with the places where they say it.
#[derive(Default)]
pub(super) struct FieldAttrs {
    pub(super) reducer: Option<(Reducer, Span)>,
    pub(super) kind: Option<(Kind, Span)>,
    pub(super) input: Option<Span>,
    pub(super) output: Option<Span>,
    pub(super) private: Option<Span>,
}

const REDUCERS: &[&str] = &["last", "append", "add", "max", "min", "merge", "union", "messages", "with", "any"];
const OPTIONS: &[&str] = &["untracked", "ephemeral", "any", "input", "output", "private"];

impl FieldAttrs {
    pub(super) fn read(attrs: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attr in attrs {
            if attr.path().is_ident("reducer") {
                read.reducer(attr)?;
            } else if attr.path().is_ident("state") {
                attr.parse_nested_meta(|meta| read.option(&meta))?;
            }
        }
        read.consistent().map(|()| read)
    }

    fn reducer(&mut self, attr: &Attribute) -> Result<()> {
        if attr.meta.require_list().is_ok_and(|list| list.tokens.is_empty()) {
            return Err(Error::new_spanned(attr, format!("name a reducer: {}", listed(REDUCERS))));
        }
        attr.parse_nested_meta(|meta| {
            let span = meta.path.span();
            if meta.path.is_ident("any") {
                return self.set_kind(Kind::Any, span);
            }
            let reducer = reducer(&meta)?;
            once(&mut self.reducer, (reducer, span), span, "a field has one reducer")
        })
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let span = meta.path.span();
        let twice = "this is said twice";
        match word(&meta.path).as_str() {
            "untracked" => self.set_kind(Kind::Untracked, span),
            "ephemeral" => self.set_kind(Kind::Ephemeral, span),
            "any" => self.set_kind(Kind::Any, span),
            "input" => once(&mut self.input, span, span, twice),
            "output" => once(&mut self.output, span, span, twice),
            "private" => once(&mut self.private, span, span, twice),
            "crate" => Err(meta.error("`crate` stands on the struct, not on a field")),
            other if REDUCERS.contains(&other) => Err(meta.error(format!("write `#[reducer({other})]`"))),
            other => Err(meta.error(unknown("option", other, OPTIONS))),
        }
    }

    fn set_kind(&mut self, kind: Kind, span: Span) -> Result<()> {
        let message = "a field is one of `untracked`, `ephemeral` and `any`, once";
        once(&mut self.kind, (kind, span), span, message)
    }

    fn consistent(&self) -> Result<()> {
        if let (Some(private), Some(_)) = (self.private, self.input.or(self.output)) {
            let message = "`private` closes the field to callers, `input` and `output` open it; use one or the other";
            return Err(Error::new(private, message));
        }
        match (&self.kind, &self.reducer) {
            (_, Some((Reducer::Last, _)) | None) => Ok(()),
            (Some((Kind::Any, span)), Some(_)) => {
                Err(Error::new(*span, "`any` keeps the last value in task order and has no other reducer"))
            }
            _ => Ok(()),
        }
    }
}

fn reducer(meta: &ParseNestedMeta<'_>) -> Result<Reducer> {
    Ok(match word(&meta.path).as_str() {
        "last" => Reducer::Last,
        "append" => Reducer::Append,
        "add" => Reducer::Add,
        "max" => Reducer::Max,
        "min" => Reducer::Min,
        "merge" => Reducer::Merge,
        "union" => Reducer::Union,
        "messages" => Reducer::Messages,
        "with" => return function(meta).map(|path| Reducer::With(Box::new(path))),
        other if OPTIONS.contains(&other) => return Err(meta.error(format!("write `#[state({other})]`"))),
        other => return Err(meta.error(unknown("reducer", other, REDUCERS))),
    })
}

fn function(meta: &ParseNestedMeta<'_>) -> Result<Expr> {
    let value = meta.value().map_err(|_| meta.error("write `with = path`, a function `fn(&mut T, T)`"))?;
    if value.peek(LitStr) {
        return Err(value.error("write the path without quotes: `with = path::to::function`"));
    }
    value.parse()
}

/// The path of `#[state(crate = "path")]` on the struct.
pub(super) fn root(attrs: &[Attribute]) -> Result<Path> {
    let mut root = syn::parse_quote!(::superstep);
    for attr in attrs {
        if attr.path().is_ident("reducer") {
            return Err(Error::new_spanned(attr, "a reducer stands on a field, not on the struct"));
        }
        if attr.path().is_ident("state") {
            attr.parse_nested_meta(|meta| match word(&meta.path).as_str() {
                "crate" => meta.value()?.parse::<LitStr>()?.parse().map(|path| root = path),
                other if OPTIONS.contains(&other) => Err(meta.error(format!("`{other}` stands on a field"))),
                other => Err(meta.error(unknown("option", other, &["crate"]))),
            })?;
        }
    }
    Ok(root)
}

fn once<T>(slot: &mut Option<T>, value: T, span: Span, message: &str) -> Result<()> {
    match slot.replace(value) {
        Some(_) => Err(Error::new(span, message)),
        None => Ok(()),
    }
}

fn word(path: &Path) -> String {
    path.get_ident().map(ToString::to_string).unwrap_or_default()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn unknown(what: &str, found: &str, names: &[&str]) -> String {
    let nearest = names.iter().min_by_key(|name| distance(name, found));
    match nearest.filter(|name| distance(name, found) <= 2) {
        Some(name) => format!("there is no {what} `{found}`; did you mean `{name}`?"),
        None => format!("there is no {what} `{found}`; there are {}", listed(names)),
    }
}

/// How many letters must be changed, added or taken out to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested() {
        assert_eq!(distance("append", "apend"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(unknown("reducer", "appendd", REDUCERS), "there is no reducer `appendd`; did you mean `append`?");
        assert!(unknown("reducer", "concatenate", REDUCERS).contains("there are `last`, "));
    }
}
