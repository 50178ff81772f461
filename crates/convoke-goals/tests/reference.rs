//! The examples of the reference are valid, and formatted.

use convoke_goals::agentfile::format;

#[test]
fn every_example_of_the_reference_is_valid_and_formatted() {
    let reference = include_str!("../../../docs/agentfile.md");
    let examples: Vec<&str> =
        reference.split("```agentfile\n").skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect();
    assert!(examples.len() >= 6);
    for example in examples {
        crate::common::valid(example);
        assert_eq!(crate::common::warnings(example), [""; 0], "{example}");
        assert_eq!(format(example).as_deref(), Ok(example));
    }
}
