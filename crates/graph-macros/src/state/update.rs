//! The update struct and its setters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use super::model::{Field, Model};

/// The struct of what may be written, with its constructor and setters.
pub(super) fn update_struct(model: &Model) -> TokenStream {
    let Model { state, update, vis, root, fields } = model;
    let members = fields.iter().map(|field| member(field, root));
    let setters = fields.iter().map(|field| setters(field, root));
    let docs = format!("What a node writes to [`{state}`]: for each field, maybe a value.");
    let new_docs = format!("An update of [`{state}`] that writes nothing.");
    quote! {
        #[doc = #docs]
        #[derive(::core::clone::Clone, ::core::default::Default)]
        #[allow(dead_code, non_snake_case, private_interfaces, unreachable_pub, clippy::all, clippy::pedantic)]
        #vis struct #update {
            #(#members)*
        }

        #[automatically_derived]
        #[allow(dead_code, non_snake_case, private_interfaces, unreachable_pub, clippy::all, clippy::pedantic)]
        impl #update {
            #[doc = #new_docs]
            #[must_use]
            pub fn new() -> Self {
                <Self as ::core::default::Default>::default()
            }

            #(#setters)*
        }
    }
}

fn member(field: &Field, root: &syn::Path) -> TokenStream {
    let Field { ident, name, ty, docs, .. } = field;
    let summary = format!("What is written to `{name}`.");
    let own = own_docs(docs);
    quote! {
        #[doc = #summary]
        #own
        pub #ident: ::core::option::Option<#root::__macro::pregel::Write<#ty>>,
    }
}

fn setters(field: &Field, root: &syn::Path) -> TokenStream {
    let Field { ident, name, docs, overwrite, .. } = field;
    let put_docs = format!("Writes `{name}`, through its reducer.");
    let overwrite_docs = format!("Replaces `{name}`, whatever else this step writes to it.");
    let own = own_docs(docs);
    let put = method(field, root, ident, "Put");
    let overwrite = method(field, root, overwrite, "Overwrite");
    quote! {
        #[doc = #put_docs]
        #own
        #put

        #[doc = #overwrite_docs]
        #overwrite
    }
}

fn method(field: &Field, root: &syn::Path, name: &Ident, variant: &str) -> TokenStream {
    let Field { ident, ty, setter, .. } = field;
    let value = Ident::new("value", Span::mixed_site());
    let parameter = setter.parameter(ty);
    let converted = setter.convert(&quote!(#value));
    let variant = format_ident!("{variant}");
    quote! {
        #[must_use]
        pub fn #name(mut self, #value: #parameter) -> Self {
            self.#ident = ::core::option::Option::Some(#root::__macro::pregel::Write::#variant(#converted));
            self
        }
    }
}

/// What the user says of the field, as a paragraph of its own.
fn own_docs(docs: &[syn::Attribute]) -> TokenStream {
    if docs.is_empty() {
        return TokenStream::new();
    }
    quote! {
        #[doc = ""]
        #(#docs)*
    }
}
