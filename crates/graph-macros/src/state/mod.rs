//! `derive(State)`: reads the struct, then writes the update struct and the table of fields.

mod attr;
mod model;
mod setter;
mod table;
mod update;

use proc_macro2::TokenStream;
use quote::quote;

use model::Model;

/// All that the derive makes, or the errors at their places.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    match syn::parse2(input).and_then(|input| Model::read(&input)) {
        Ok(model) => expand(&model),
        Err(error) => error.into_compile_error(),
    }
}

fn expand(model: &Model) -> TokenStream {
    let Model { state, update, root, .. } = model;
    let update_struct = update::update_struct(model);
    let table = table::table(model);
    quote! {
        #update_struct
        #table
        #root::__macro::state_glue!(#state, #update);
    }
}
