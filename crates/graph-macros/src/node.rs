//! `#[node(State)]`: says of each part of a function by itself whether it fits a node.
//!
//! Whether a function is a node is one question with many parts, and the compiler answers it with yes or no. So this
//! puts beside the function, unchanged, another one that asks for each part, at that part's place.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Error, FnArg, GenericParam, ItemFn, LitStr, Path, Result, ReturnType, Token, Type};

/// The most parameters a node can have.
const MAX_PARAMETERS: usize = 6;

/// What stands in the attribute.
struct Options {
    state: Type,
    blocking: bool,
    root: Path,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(Error::new(Span::call_site(), "name the state of the graph: `#[node(State)]`"));
        }
        let mut options = Self { state: input.parse()?, blocking: false, root: syn::parse_quote!(::superstep) };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            options.option(input)?;
        }
        Ok(options)
    }
}

impl Options {
    fn option(&mut self, input: ParseStream<'_>) -> Result<()> {
        if input.is_empty() {
            return Ok(());
        }
        if input.peek(Token![crate]) {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            self.root = input.parse::<LitStr>()?.parse()?;
            return Ok(());
        }
        let option: Ident = input.parse()?;
        if option != "blocking" {
            return Err(Error::new(
                option.span(),
                "there is no such option; there are `blocking` and `crate = \"path\"`",
            ));
        }
        self.blocking = true;
        Ok(())
    }
}

/// The function as it is, and the one that asks. Where the function can be no node at all, the error beside it.
pub(crate) fn expand(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let check = || {
        let options: Options = syn::parse2(attr)?;
        let function: ItemFn = syn::parse2(item.clone())?;
        shape(&function, &options)?;
        Ok(asking(&function, &options))
    };
    let check = check().unwrap_or_else(Error::into_compile_error);
    quote! {
        #item
        #check
    }
}

/// What can be seen without types.
fn shape(function: &ItemFn, options: &Options) -> Result<()> {
    let signature = &function.sig;
    if let Some(FnArg::Receiver(receiver)) = signature.inputs.first() {
        let message = "a node is no method: it takes the state from the graph; what else it needs is a `Context<T>`";
        return Err(Error::new_spanned(receiver, message));
    }
    if let Some(extra) = signature.inputs.iter().nth(MAX_PARAMETERS) {
        let message = format!("a node takes at most {MAX_PARAMETERS} parameters; put some into one `Context<T>`");
        return Err(Error::new_spanned(extra, message));
    }
    match (signature.asyncness.is_some(), options.blocking) {
        (true, true) => Err(Error::new_spanned(signature.fn_token, "a blocking node is not `async`")),
        (false, false) => {
            let message = "a node is an `async fn`; one that blocks or computes for long becomes a node with \
                           `blocking(f)`, and is checked by `#[node(State, blocking)]`";
            Err(Error::new_spanned(signature.fn_token, message))
        }
        _ => Ok(()),
    }
}

/// A function that is never called and compiles only if every part fits.
fn asking(function: &ItemFn, options: &Options) -> TokenStream {
    let (state, root) = (&options.state, &options.root);
    let assert = quote!(#root::__macro::assert);
    let parameters = function.sig.inputs.iter().enumerate().filter_map(|(at, input)| match input {
        FnArg::Typed(input) => Some(parameter(&assert, state, at, &input.ty)),
        FnArg::Receiver(_) => None,
    });
    let output = output(&assert, state, &function.sig.output);
    let future = future(&assert, function, options);
    let name = format_ident!("__{}_fits_a_node", function.sig.ident, span = Span::call_site());
    let (generics, bounds) = (&function.sig.generics, &function.sig.generics.where_clause);
    quote! {
        #[doc(hidden)]
        #[allow(dead_code, unreachable_code, non_snake_case, clippy::all, clippy::pedantic, clippy::nursery)]
        fn #name #generics() #bounds {
            #(#parameters)*
            #output
            #future
        }
    }
}

fn parameter(assert: &TokenStream, state: &Type, at: usize, ty: &Type) -> TokenStream {
    match ty {
        // Its type has no name; what calls the function will check it.
        _ if has_no_name(ty) => TokenStream::new(),
        Type::Reference(reference) if at == 0 && reference.mutability.is_none() => {
            let behind = &reference.elem;
            quote_spanned!(ty.span()=> #assert::assert_state::<#state, #behind>();)
        }
        _ => quote_spanned!(ty.span()=> #assert::assert_extractor::<#state, #ty>();),
    }
}

fn output(assert: &TokenStream, state: &Type, output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => TokenStream::new(),
        ReturnType::Type(_, ty) if has_no_name(ty) => TokenStream::new(),
        ReturnType::Type(_, ty) => quote_spanned!(ty.span()=> #assert::assert_output::<#state, #ty>();),
    }
}

/// Whether the future may move between threads, which is asked of a call that never happens.
fn future(assert: &TokenStream, function: &ItemFn, options: &Options) -> TokenStream {
    let inputs = &function.sig.inputs;
    let nameless = inputs.iter().any(|input| matches!(input, FnArg::Typed(input) if has_no_name(&input.ty)));
    if options.blocking || nameless {
        return TokenStream::new();
    }
    let name = &function.sig.ident;
    let arguments = inputs.iter().map(|_| quote!(::core::panic!()));
    let types = function.sig.generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some(&param.ident),
        GenericParam::Const(param) => Some(&param.ident),
        GenericParam::Lifetime(_) => None,
    });
    let types: Vec<_> = types.collect();
    let turbofish = if types.is_empty() { TokenStream::new() } else { quote!(::<#(#types),*>) };
    let call = quote_spanned!(name.span()=> #name #turbofish (#(#arguments),*));
    quote_spanned!(name.span()=> #assert::assert_future(&#call);)
}

/// Whether there is an `impl Trait` in the type.
fn has_no_name(ty: &Type) -> bool {
    struct Finder(bool);

    impl<'ast> Visit<'ast> for Finder {
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = true;
        }
    }

    let mut finder = Finder(false);
    finder.visit_type(ty);
    finder.0
}
