//! What must not compile, and what its author is told.

#[test]
fn gains_017_steps_that_make_no_sense_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
