//! Packs from the files they are authored in.

use std::collections::BTreeMap;

use convoke_machine::pack::{Dialect, import, read};
use serde_json::json;

const ARENA: &str = "
apiVersion: promptkit/v1
kind: Arena
metadata: {name: shop}
spec:
  prompt_configs:
    - {id: greet, file: prompts/greet.yaml}
  tools:
    - {file: tools/look_up.yaml}
  workflow:
    version: 1
    entry: greet
    states: {greet: {prompt_task: greet, terminal: true}}
";
const PROMPT: &str = "
apiVersion: promptkit/v1
kind: PromptConfig
metadata: {name: Greeter}
spec:
  task_type: greet
  version: v1.2.0
  system_template: '{{house_style}} Hello {{name}}'
  fragments: [{name: house_style, path: style.txt, required: true}]
  variables: [{name: name, required: true, binding: {kind: project}}]
  allowed_tools: [look_up]
  validators: [{type: max_length, message: Too long, params: {max_characters: 9}}]
";
const TOOL: &str = "
apiVersion: promptkit/v1
kind: Tool
metadata: {name: look_up}
spec: {description: Looks up, input_schema: {type: object, properties: {}}, output_schema: {}}
";

fn open(name: &str) -> Result<String, String> {
    let files = BTreeMap::from([
        ("prompts/greet.yaml", PROMPT),
        ("tools/look_up.yaml", TOOL),
        ("style.txt", "Be kind.\n"),
        ("prompts/none.yaml", "kind: Tool"),
    ]);
    files.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "not there".to_owned())
}

#[test]
fn manifests_become_a_pack_that_both_dialects_accept() {
    let imported = import("shop", "arena.yaml", ARENA, &open).unwrap();
    let left_out = [
        "prompts/greet.yaml: `spec.variables[0].binding` of a PromptConfig has no place in a pack and is left out",
        "tools/look_up.yaml: `spec.output_schema` of a Tool has no place in a pack and is left out",
    ];
    assert_eq!(imported.left_out, left_out);
    let pack = imported.pack;
    let value = pack.to_value();
    assert_eq!(
        (&value["id"], &value["name"], &value["version"]),
        (&json!("shop"), &json!("shop"), &json!("v1.0.0"))
    );
    let prompt = &value["prompts"]["greet"];
    assert_eq!(prompt["variables"], json!([{"name": "name", "required": true, "type": "string"}]));
    let validator = json!([{"type": "max_length", "enabled": true, "params": {"max_characters": 9, "message": "Too long"}}]);
    assert_eq!(prompt["validators"], validator);
    assert_eq!((&prompt["name"], &prompt["tools"]), (&json!("Greeter"), &json!(["look_up"])));
    assert_eq!(value["tools"]["look_up"]["parameters"], json!({"type": "object", "properties": {}}));
    assert_eq!(value["fragments"], json!({"house_style": "Be kind."}));
    let (compiled, findings) = read(&serde_json::to_string(&pack).unwrap());
    assert_eq!(findings, []);
    let compatibility = compiled.unwrap().compatibility().clone();
    assert!(Dialect::ALL.into_iter().all(|dialect| compatibility.accepts(dialect)));
}

#[test]
fn a_pack_in_yaml_stays_as_it_is() {
    let pack = import("x", "p.yaml", "id: other\nzeta: 1\nalpha: [x]\n", &open).unwrap().pack;
    assert_eq!(serde_json::to_string(&pack).unwrap(), r#"{"id":"other","zeta":1,"alpha":["x"]}"#);
}

#[test]
fn everything_that_is_wrong_with_the_files_is_said() {
    let arena =
        "kind: Arena\nspec:\n  prompt_configs: [{file: prompts/gone.yaml}, {file: prompts/none.yaml}]\n";
    let said: Vec<String> =
        import("x", "a.yaml", arena, &open).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "prompts/gone.yaml: a.yaml names it: not there",
            "prompts/none.yaml: this is a `Tool`, not a `PromptConfig`"
        ]
    );
    let prompt = "kind: PromptConfig\napiVersion: v1\nmetadata: {name: x}\nspec: {}\n";
    assert_eq!(import("x", "p.yaml", prompt, &open).unwrap_err().len(), 1);
    assert!(import("x", "p.yaml", "kind: Scenario", &open).unwrap_err()[0].message.contains("Scenario"));
}

#[test]
fn what_has_no_place_in_a_pack_is_named_and_not_dropped_in_silence() {
    let prompt = PROMPT
        .replace("  allowed_tools:", "  metadata: {}\n  allowed_tool:")
        .replace("  validators:", "  validatrs:");
    let tool = TOOL
        .replace("output_schema: {}", "output_schema: {}, mode: mock")
        .replace("{name: look_up}", "{name: look_up, labels: {team: shop}}")
        + "status: {ready: true}\n";
    let arena = ARENA.replace("  workflow:", "  providers: []\n  workflow:");
    let open = |name: &str| match name {
        "prompts/greet.yaml" => Ok(prompt.clone()),
        "tools/look_up.yaml" => Ok(tool.clone()),
        other => open(other),
    };
    let left_out = import("shop", "arena.yaml", &arena, &open).unwrap().left_out;
    let said = |file: &str, field: &str, kind: &str, meant: &str| {
        let article = if kind == "Arena" { "an" } else { "a" };
        format!("{file}: `{field}` of {article} {kind} has no place in a pack and is left out{meant}")
    };
    let prompt = "prompts/greet.yaml";
    assert_eq!(
        left_out,
        [
            said("arena.yaml", "spec.providers", "Arena", ""),
            said(prompt, "spec.metadata", "PromptConfig", ""),
            said(prompt, "spec.allowed_tool", "PromptConfig", "; did you mean `allowed_tools`?"),
            said(prompt, "spec.validatrs", "PromptConfig", "; did you mean `validators`?"),
            said(prompt, "spec.variables[0].binding", "PromptConfig", ""),
            said("tools/look_up.yaml", "status", "Tool", ""),
            said("tools/look_up.yaml", "metadata.labels", "Tool", ""),
            said("tools/look_up.yaml", "spec.output_schema", "Tool", ""),
            said("tools/look_up.yaml", "spec.mode", "Tool", ""),
        ]
    );
}

#[test]
fn a_number_that_loses_digits_is_told_with_its_place() {
    let arena = format!("{ARENA}\nx_big: 12345678901234567890123456789\n");
    let left_out = import("shop", "arena.yaml", &arena, &open).unwrap().left_out;
    let digits = "`12345678901234567890123456789` has more digits than are kept";
    assert_eq!(left_out[0], format!("arena.yaml, /x_big: {digits}: it is read as 1.2345678901234568e+28"));
}
