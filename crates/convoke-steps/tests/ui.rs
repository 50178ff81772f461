//! Code that must not compile, and the errors its author sees.

#[test]
fn gains_017_steps_that_make_no_sense_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
