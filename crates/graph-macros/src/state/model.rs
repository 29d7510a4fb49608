//! The struct as the derive understands it.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Fields, GenericParam, Path, Result, Type, Visibility};

use super::attr::{self, FieldAttrs, Kind, Reducer};
use super::setter::Setter;

/// The most channels a state can have.
const MAX_FIELDS: usize = 65_535;
/// The longest name of a channel, in bytes.
const MAX_NAME_BYTES: usize = 1_024;

/// A state.
pub(super) struct Model {
    pub(super) state: Ident,
    pub(super) update: Ident,
    pub(super) vis: Visibility,
    pub(super) root: Path,
    pub(super) fields: Vec<Field>,
}

/// One of its fields.
pub(super) struct Field {
    pub(super) ident: Ident,
    /// The name of the channel: the identifier without `r#`.
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) docs: Vec<Attribute>,
    pub(super) reducer: Reducer,
    pub(super) kind: Kind,
    pub(super) input: bool,
    pub(super) output: bool,
    pub(super) setter: Setter,
    pub(super) overwrite: Ident,
}

impl Model {
    /// The path of the crate `pregel`, at a place of the user's, so that what the compiler says of it points there.
    pub(super) fn pregel(&self, span: Span) -> TokenStream {
        let span = span.resolved_at(Span::call_site());
        let root = &self.root;
        let path = quote!(#root::__macro::pregel).into_iter().map(|mut token| {
            token.set_span(span);
            token
        });
        path.collect()
    }

    pub(super) fn read(input: &DeriveInput) -> Result<Self> {
        let root = attr::root(&input.attrs)?;
        if let Some(message) = parameters(input) {
            return Err(Error::new_spanned(&input.generics, message));
        }
        let fields = read_fields(named_fields(input)?)?;
        Ok(Self {
            state: input.ident.clone(),
            update: format_ident!("{}Update", input.ident.unraw(), span = input.ident.span()),
            vis: input.vis.clone(),
            root,
            fields,
        })
    }
}

/// What is to be said of the parameters of the struct, if it has any.
fn parameters(input: &DeriveInput) -> Option<&'static str> {
    match input.generics.params.first()? {
        GenericParam::Lifetime(_) => {
            Some("a state borrows nothing: it outlives the call. Use types that own what they hold")
        }
        _ => Some(
            "a state has no parameters: channels have fixed types. Use a struct without parameters, with an enum or \
             `serde_json::Value` where types vary",
        ),
    }
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&syn::Field>> {
    let message = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return Ok(fields.named.iter().collect()),
            _ => "each channel of a state has a name: write the struct with named fields, `struct S { .. }`",
        },
        Data::Enum(_) => "a state is a struct, whose fields are its channels; put this enum into a field of one",
        Data::Union(_) => "a state is a struct, whose fields are its channels",
    };
    Err(Error::new_spanned(&input.ident, message))
}

fn read_fields(fields: Vec<&syn::Field>) -> Result<Vec<Field>> {
    let attrs = all(fields.iter().map(|field| FieldAttrs::read(&field.attrs)))?;
    let narrow_input = attrs.iter().any(|attrs| attrs.input.is_some());
    let narrow_output = attrs.iter().any(|attrs| attrs.output.is_some());
    let fields = fields.into_iter().zip(attrs).map(|(field, attrs)| {
        let open = |narrow: bool, named: Option<Span>| attrs.private.is_none() && (!narrow || named.is_some());
        let (input, output) = (open(narrow_input, attrs.input), open(narrow_output, attrs.output));
        Field::read(field, attrs, input, output)
    });
    let fields = all(fields)?;
    few_enough(&fields)?;
    distinct_setters(&fields)?;
    Ok(fields)
}

/// All values, or all errors.
fn all<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut values, mut errors) = (Vec::new(), None::<Error>);
    for result in results {
        match (result, &mut errors) {
            (Ok(value), _) => values.push(value),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), None) => errors = Some(error),
        }
    }
    errors.map_or(Ok(values), Err)
}

impl Field {
    fn read(field: &syn::Field, attrs: FieldAttrs, input: bool, output: bool) -> Result<Self> {
        let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "a channel has a name"))?;
        let name = ident.unraw().to_string();
        if name.len() > MAX_NAME_BYTES {
            return Err(Error::new_spanned(&ident, format!("a name has at most {MAX_NAME_BYTES} bytes")));
        }
        let reducer = attrs.reducer.map_or(Reducer::Last, |(reducer, _)| reducer);
        Ok(Self {
            overwrite: format_ident!("overwrite_{name}", span = ident.span()),
            docs: field.attrs.iter().filter(|attr| attr.path().is_ident("doc")).cloned().collect(),
            setter: Setter::of(&field.ty, &reducer),
            ty: field.ty.clone(),
            kind: attrs.kind.map_or(Kind::Tracked, |(kind, _)| kind),
            ident,
            name,
            reducer,
            input,
            output,
        })
    }
}

fn few_enough(fields: &[Field]) -> Result<()> {
    match fields.get(MAX_FIELDS) {
        Some(field) => Err(Error::new_spanned(&field.ident, format!("a state has at most {MAX_FIELDS} fields"))),
        None => Ok(()),
    }
}

/// Each field gets two methods, which must not be called as another's or as `new`.
fn distinct_setters(fields: &[Field]) -> Result<()> {
    let mut taken = HashMap::from([("new".to_owned(), "the constructor of the update".to_owned())]);
    for field in fields {
        taken.insert(field.overwrite.to_string(), format!("the method that overwrites `{}`", field.name));
    }
    let clash = |field: &Field| {
        let with = taken.get(&field.name)?;
        let message = format!("the setter of `{}` has the same name as {with}; rename the field", field.name);
        Some(Err(Error::new_spanned(&field.ident, message)))
    };
    all(fields.iter().filter_map(clash)).map(|_: Vec<()>| ())
}
