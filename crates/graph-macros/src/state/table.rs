//! The table of fields, and what the crate `pregel` needs to know of each.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident as SynIdent};

use super::attr::{Kind, Reducer};
use super::model::{Field, Model};
use super::setter::is_option;

/// The implementations, in a scope of their own.
pub(super) fn table(model: &Model) -> TokenStream {
    let Model { state, update, fields, .. } = model;
    let pregel = model.pregel(Span::call_site());
    let numbered = || fields.iter().enumerate().map(|(at, field)| (Literal::usize_unsuffixed(at), field));
    let impls = numbered().map(|(at, field)| field_impl(model, &pregel, &at, field));
    let typed = typed_impl(model, &pregel);
    let name = update.to_string();
    quote! {
        #[allow(deprecated, clippy::all, clippy::pedantic)]
        const _: () = {
            struct __At<const FIELD: usize>;

            #[automatically_derived]
            impl #pregel::typed::Owner for #state {
                type Writes = #update;
            }

            #(#impls)*
            #typed
            #pregel::__impl_state!(#state, #update);

            #[automatically_derived]
            impl ::core::fmt::Debug for #update {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #pregel::typed::debug_update::<#state>(#name, self, f)
                }
            }
        };
    }
}

fn field_impl(model: &Model, pregel: &TokenStream, at: &Literal, field: &Field) -> TokenStream {
    let Model { state, update, .. } = model;
    let Field { ident, ty, .. } = field;
    let (function, reducer) = reducer_type(model, field);
    quote! {
        #function

        #[automatically_derived]
        impl #pregel::typed::Field<__At<#at>> for #state {
            type Value = #ty;
            type Reducer = #reducer;

            fn get(&self) -> &Self::Value {
                &self.#ident
            }

            fn get_mut(&mut self) -> &mut Self::Value {
                &mut self.#ident
            }

            fn write(update: &#update) -> &::core::option::Option<#pregel::Write<Self::Value>> {
                &update.#ident
            }

            fn write_mut(update: &mut #update) -> &mut ::core::option::Option<#pregel::Write<Self::Value>> {
                &mut update.#ident
            }
        }
    }
}

/// The reducer as a type, after the item that makes it, if it needs one. It stands where the reducer is named, so that
/// what the compiler says of it points there.
fn reducer_type(model: &Model, field: &Field) -> (TokenStream, TokenStream) {
    let (span, optional) = (field.ty.span(), is_option(&field.ty));
    let pregel = model.pregel(span);
    let name = match &field.reducer {
        Reducer::Last => "Last",
        Reducer::Append => "Append",
        Reducer::Add => "Add",
        Reducer::Max if optional => "MaxSome",
        Reducer::Max => "Max",
        Reducer::Min if optional => "MinSome",
        Reducer::Min => "Min",
        Reducer::Merge => "Merge",
        Reducer::Union => "Union",
        Reducer::Messages => "Messages",
        Reducer::With(path) => return with_type(model, field, path),
    };
    let name = Ident::new(name, span);
    (TokenStream::new(), quote_spanned!(span=> #pregel::reduce::#name))
}

fn with_type(model: &Model, field: &Field, path: &Expr) -> (TokenStream, TokenStream) {
    let pregel = model.pregel(field.ty.span());
    let marker = format_ident!("__With_{}", field.name);
    let ty = &field.ty;
    // Hygienic names, as the user's path may be any word.
    let [reduce, current, put] = ["reduce", "current", "put"].map(|name| Ident::new(name, Span::mixed_site()));
    let path = without_self(path, &model.state);
    let binding = quote_spanned!(path.span()=> let #reduce: fn(&mut #ty, #ty) = #path;);
    let function = quote! {
        #[allow(non_camel_case_types)]
        struct #marker;

        #[automatically_derived]
        impl #pregel::reduce::Function<#ty> for #marker {
            fn call(#current: &mut #ty, #put: #ty) {
                #binding
                #reduce(#current, #put)
            }
        }
    };
    (function, quote_spanned!(field.ty.span()=> #pregel::reduce::With<#marker>))
}

/// `Self` in the attribute is the state, but would be another type where the path is used.
fn without_self(path: &Expr, state: &SynIdent) -> TokenStream {
    let mut path = path.clone();
    if let Expr::Path(expr) = &mut path
        && let Some(first) = expr.path.segments.first_mut()
        && first.ident == "Self"
    {
        first.ident = SynIdent::new(&state.to_string(), first.ident.span());
    }
    path.to_token_stream()
}

fn typed_impl(model: &Model, pregel: &TokenStream) -> TokenStream {
    let Model { state, update, fields, .. } = model;
    let name = state.to_string();
    let rows = fields.iter().enumerate().map(|(at, field)| row(model, at, field));
    let fleeting = fields.iter().enumerate().filter(|(_, field)| matches!(field.kind, Kind::Ephemeral | Kind::Any));
    let fleeting = fleeting.map(|(at, _)| Literal::usize_unsuffixed(at));
    let stored = || fields.iter().filter(|field| field.kind != Kind::Untracked);
    let entries = stored().map(|Field { ident, name, ty, .. }| {
        let pregel = model.pregel(ty.span());
        quote_spanned!(ty.span()=> #pregel::typed::write_entry(map, #name, &update.#ident)?;)
    });
    let arms = stored().map(|Field { ident, name, ty, .. }| {
        let pregel = model.pregel(ty.span());
        let value = quote_spanned!(ty.span()=> #pregel::__private::MapAccess::next_value(map)?);
        quote!(#name => update.#ident = ::core::option::Option::Some(#value),)
    });
    let (access, writer) = (quote!(#pregel::__private::MapAccess<'de>), quote!(#pregel::__private::SerializeMap));
    quote! {
        #[automatically_derived]
        impl #pregel::typed::Typed for #state {
            const NAME: &'static str = #name;
            const ROWS: &'static [#pregel::typed::Row<Self>] = &[#(#rows),*];
            const FLEETING: &'static [u16] = &[#(#fleeting),*];

            fn specs() -> &'static [#pregel::ChannelSpec] {
                static SPECS: #pregel::typed::Specs = #pregel::typed::Specs::new();
                SPECS.get::<Self>()
            }

            #[allow(unused_variables)]
            fn write_entries<M: #writer>(update: &#update, map: &mut M) -> ::core::result::Result<(), M::Error> {
                #(#entries)*
                ::core::result::Result::Ok(())
            }

            #[allow(unused_variables)]
            fn read_entry<'de, A: #access>(
                update: &mut #update,
                name: &str,
                map: &mut A,
            ) -> ::core::result::Result<bool, A::Error> {
                match name {
                    #(#arms)*
                    _ => return ::core::result::Result::Ok(false),
                }
                #[allow(unreachable_code)]
                ::core::result::Result::Ok(true)
            }
        }
    }
}

/// One row of the table. Its constructor stands at the field's type, which must be able to be stored.
fn row(model: &Model, at: usize, field: &Field) -> TokenStream {
    let Field { name, ty, .. } = field;
    let pregel = &model.pregel(ty.span());
    let (mut at, reducer) = (Literal::usize_unsuffixed(at), reducer_value(pregel, &field.reducer));
    at.set_span(ty.span());
    let constructor = Ident::new(if field.kind == Kind::Untracked { "untracked" } else { "tracked" }, ty.span());
    let mut row = quote_spanned!(ty.span()=> #pregel::typed::Row::#constructor::<__At<#at>>(#name, #reducer));
    if let Kind::Ephemeral | Kind::Any = field.kind {
        let kind = Ident::new(if field.kind == Kind::Any { "Any" } else { "Ephemeral" }, Span::call_site());
        row = quote_spanned!(ty.span()=> #pregel::typed::Row::fleeting::<__At<#at>>(#row, #pregel::Kind::#kind));
    }
    if !(field.input && field.output) {
        let side = |open: bool| Ident::new(if open { "Open" } else { "Closed" }, Span::call_site());
        let (input, output) = (side(field.input), side(field.output));
        row = quote!(#row.sides(#pregel::Side::#input, #pregel::Side::#output));
    }
    row
}

fn reducer_value(pregel: &TokenStream, reducer: &Reducer) -> TokenStream {
    let name = match reducer {
        Reducer::Last => "Last",
        Reducer::Append => "Append",
        Reducer::Add => "Add",
        Reducer::Max => "Max",
        Reducer::Min => "Min",
        Reducer::Merge => "Merge",
        Reducer::Union => "Union",
        Reducer::Messages => "Messages",
        Reducer::With(path) => {
            let path = path.to_token_stream().to_string().replace(' ', "");
            return quote!(#pregel::Reducer::With(#path));
        }
    };
    let name = Ident::new(name, Span::call_site());
    quote!(#pregel::Reducer::#name)
}
