//! What a setter takes, from how its field's type is written.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{GenericArgument, Path, PathArguments, Type};

use super::attr::Reducer;

/// How a setter takes its value. Setters are there for comfort, so it does no harm that types are known by the last
/// part of their names only: under another name a type is taken as [`Setter::Into`].
pub(super) enum Setter {
    /// As it is, so that literals need no suffix.
    Value,
    /// A value or an `Option` of one.
    Optional,
    /// Anything that gives items.
    Items(Box<Type>),
    /// Anything that gives keys and values.
    Entries(Box<(Type, Type)>),
    /// Anything that converts.
    Into,
}

const BY_VALUE: &[&str] = &[
    "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "u128", "u16", "u32", "u64", "u8",
    "usize",
];
const LISTS: &[&str] = &["Vec", "VecDeque", "BTreeSet", "HashSet"];
const MAPS: &[&str] = &["BTreeMap", "HashMap", "Map"];

impl Setter {
    pub(super) fn of(ty: &Type, reducer: &Reducer) -> Self {
        let Some((name, arguments)) = last_segment(ty) else { return Self::Into };
        let is = |names: &[&str]| names.contains(&name.as_str());
        match (reducer, arguments.as_slice()) {
            (_, []) if is(BY_VALUE) => Self::Value,
            (_, [_]) if name == "Option" => Self::Optional,
            (Reducer::Append | Reducer::Union | Reducer::Messages, [item, ..]) if is(LISTS) => {
                Self::Items(Box::new(item.clone()))
            }
            (Reducer::Merge, [key, value, ..]) if is(MAPS) => Self::Entries(Box::new((key.clone(), value.clone()))),
            _ => Self::Into,
        }
    }

    /// The type of the parameter.
    pub(super) fn parameter(&self, ty: &Type) -> TokenStream {
        match self {
            Self::Value => quote!(#ty),
            Self::Optional | Self::Into => quote!(impl ::core::convert::Into<#ty>),
            Self::Items(item) => {
                let item = converts(item);
                quote!(impl ::core::iter::IntoIterator<Item = #item>)
            }
            Self::Entries(pair) => {
                let (key, value) = (converts(&pair.0), converts(&pair.1));
                quote!(impl ::core::iter::IntoIterator<Item = (#key, #value)>)
            }
        }
    }

    /// The field's value, from the parameter.
    pub(super) fn convert(&self, value: &TokenStream) -> TokenStream {
        let iter = quote!(::core::iter::IntoIterator::into_iter(#value));
        let into = quote!(::core::convert::Into::into);
        match self {
            Self::Value => quote!(#value),
            Self::Optional | Self::Into => quote!(#into(#value)),
            Self::Items(_) => quote!(::core::iter::Iterator::collect(::core::iter::Iterator::map(#iter, #into))),
            Self::Entries(..) => {
                let pair = quote!(|(key, value)| (#into(key), #into(value)));
                quote!(::core::iter::Iterator::collect(::core::iter::Iterator::map(#iter, #pair)))
            }
        }
    }
}

fn converts(ty: &Type) -> TokenStream {
    match last_segment(ty) {
        Some((name, arguments)) if arguments.is_empty() && BY_VALUE.contains(&name.as_str()) => quote!(#ty),
        _ => quote!(impl ::core::convert::Into<#ty>),
    }
}

/// Whether the type is written as an `Option`.
pub(super) fn is_option(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|(name, arguments)| name == "Option" && arguments.len() == 1)
}

/// The last part of a type's path, and the types it is given.
fn last_segment(ty: &Type) -> Option<(String, Vec<Type>)> {
    match ty {
        Type::Path(ty) if ty.qself.is_none() => segment(&ty.path),
        // A type that came through a macro may be wrapped.
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

fn segment(path: &Path) -> Option<(String, Vec<Type>)> {
    let last = path.segments.last()?;
    let types = match &last.arguments {
        PathArguments::None => Vec::new(),
        PathArguments::AngleBracketed(given) => given.args.iter().filter_map(type_argument).collect(),
        PathArguments::Parenthesized(_) => return None,
    };
    Some((last.ident.to_string(), types))
}

fn type_argument(argument: &GenericArgument) -> Option<Type> {
    match argument {
        GenericArgument::Type(ty) => Some(ty.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn types_are_known_by_their_last_name() {
        let of = |ty: Type, reducer| Setter::of(&ty, &reducer);
        assert!(matches!(of(parse_quote!(u64), Reducer::Last), Setter::Value));
        assert!(matches!(of(parse_quote!(core::primitive::u64), Reducer::Add), Setter::Value));
        assert!(matches!(of(parse_quote!(std::option::Option<u8>), Reducer::Last), Setter::Optional));
        assert!(matches!(of(parse_quote!(std::vec::Vec<u8>), Reducer::Append), Setter::Items(_)));
        assert!(matches!(of(parse_quote!(Vec<u8>), Reducer::Last), Setter::Into));
        assert!(matches!(of(parse_quote!(HashMap<String, u8, Hasher>), Reducer::Merge), Setter::Entries(..)));
        assert!(matches!(of(parse_quote!(String), Reducer::Append), Setter::Into));
        assert!(matches!(of(parse_quote!((u8, u8)), Reducer::Last), Setter::Into));
    }
}
