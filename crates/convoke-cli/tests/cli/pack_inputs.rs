//! What packs are given: whoever is asked about it says the same, and says everything.

use crate::place::{Place, stderr, stdout};

/// One prompt declares `who` with a default, the other uses it.
const TWO: &str = r#"
id: two
name: T
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts:
  a: {id: a, name: A, version: 1.0.0, system_template: "{{who}}", variables: [{name: who, type: string, required: false, default: dflt}]}
  w: {id: w, name: W, version: 1.0.0, system_template: "{{who}}"}
workflow:
  version: 2
  entry: a
  states:
    a: {prompt_task: a, on_event: {Go: w}}
    w: {prompt_task: w, terminal: true}
"#;

#[test]
fn that_a_variable_must_be_given_is_said_by_whoever_is_asked() {
    let place = Place::empty();
    place.write("two.pack.yaml", TWO);
    place.write("day.agent", "NAME day\nGOAL one FROM two.pack.yaml\nRUN main USING one\n");
    place.write("s.toml", "[[rule]]\nreply = \"x\"\n");
    let inspected = stdout(&place.convoke(&["inspect", "two.pack.yaml"]));
    assert!(inspected.contains("who: string, must be given"), "{inspected}");
    let run = place.convoke(&["run", "two.pack.yaml", "-m", "scripted/s.toml", "--no-input"]);
    assert!(stderr(&run).contains("who is missing"), "{}", stderr(&run));
    // An Agentfile that does not have it is told so before a goal is begun.
    let validated = place.convoke(&["validate", "day.agent"]);
    assert!(!validated.status.success() && stderr(&validated).contains("who"), "{}", stderr(&validated));
}

#[test]
fn everything_that_is_wrong_with_inputs_is_listed() {
    let place = Place::empty();
    let variables = "{name: n, type: number, required: true, validation: {minimum: 0}}, \
                     {name: o, type: object, required: true}, {name: l, type: array, required: true}";
    let prompts =
        format!("  a: {{id: a, name: A, version: 1.0.0, system_template: A, variables: [{variables}]}}\n");
    let head = TWO.split_once("  a:").unwrap().0;
    place.write("n.pack.yaml", format!("{head}{prompts}"));
    let wrong = ["run", "n.pack.yaml", "--no-input", "-i", "n=-1", "-i", "o=5", "-i", "l={}", "-i", "m=1"];
    let wrong = place.convoke(&wrong);
    let told = stderr(&wrong);
    assert_eq!(wrong.status.code(), Some(2), "{told}");
    for part in
        ["`n` is -1", "`o` must be of type object", "`l` must be of type array", "`m` is not an input"]
    {
        assert!(told.contains(part), "{part} is missing: {told}");
    }
}

#[test]
fn where_a_prompt_is_chosen_a_variable_of_another_one_takes_no_name_from_it() {
    let place = Place::empty();
    let head = TWO.split_once("  a:").unwrap().0;
    let variables = "[{name: message, type: string, required: true}]";
    let a = format!(
        "  a: {{id: a, name: A, version: 1.0.0, system_template: 'A {{{{message}}}}', variables: {variables}}}\n"
    );
    let b = "  b: {id: b, name: B, version: 1.0.0, system_template: B}\n";
    place.write("m.pack.yaml", format!("{head}{a}{b}"));
    place.write("s.toml", "[[rule]]\nwhen = {last_contains = \"hello\"}\nreply = \"Heard.\"\n");
    let inspected = stdout(&place.convoke(&["inspect", "m.pack.yaml"]));
    assert!(inspected.contains("prompt: string, must be given"), "{inspected}");
    let run = [
        "run",
        "m.pack.yaml",
        "-m",
        "scripted/s.toml",
        "--no-input",
        "-i",
        "prompt=b",
        "-i",
        "message=hello",
    ];
    let told = stderr(&place.convoke(&run));
    assert!(told.contains("said: Heard."), "{told}");
}
