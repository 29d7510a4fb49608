//! What the compiler says of the likeliest mistakes. `TRYBUILD=overwrite` rewrites the expected texts.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
