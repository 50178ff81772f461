//! The formatter.

use convoke_goals::agentfile::format;

fn formatted(text: &str) -> String {
    format(text).unwrap()
}

#[test]
fn words_are_one_space_apart_and_clauses_in_order() {
    assert_eq!(
        formatted("GOAL  g   UNSUPERVISED WHEN $a IS  b TIMEOUT 5m USING x ,y ->a:int,b:x|y\"text  here\""),
        "GOAL g \"text  here\" -> a:int, b:x|y USING x, y TIMEOUT 5m WHEN $a IS b UNSUPERVISED\n"
    );
}

#[test]
fn comments_and_blank_lines_stay() {
    let text = "# top\n\n\n# about the name\nNAME n # here\n\n# end\n";
    assert_eq!(formatted(text), "# top\n\n# about the name\nNAME n  # here\n\n# end\n");
}

#[test]
fn what_was_spread_over_lines_stays_spread() {
    let text = "GOAL g SUPERVISED\n    USING a # who\n    \"x\"\n\n    TIMEOUT 5m\nRUN r USING g";
    assert_eq!(formatted(text), "# who\nGOAL g \"x\"\n  USING a\n  TIMEOUT 5m SUPERVISED\nRUN r USING g\n");
}

#[test]
fn statements_of_one_line_get_their_own() {
    assert_eq!(formatted("NAME a SUPERVISED RUN b USING c # d"), "NAME a\nSUPERVISED\nRUN b USING c  # d\n");
}

#[test]
fn texts_stay_to_the_byte() {
    let text = "GOAL g \"\"\"\r\n  a # b\r\n\t\"\"\"\nGOAL h \"a\\qb\\\n c\"\n";
    assert_eq!(formatted(text), text);
}

#[test]
fn a_file_with_syntax_errors_is_left_alone() {
    assert_eq!(format("GOAL g").unwrap_err().errors(), 1);
    assert!(format("RUN r USING nothing").is_ok(), "names do not matter");
}

#[test]
fn nothing_stays_nothing() {
    assert_eq!(formatted(""), "");
    assert_eq!(formatted("\n\n  \n"), "");
}
