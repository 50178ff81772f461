//! Statements: every clause of every kind, and what is missing in those that are not whole.

use crate::common::{errors, valid, valid_with};
use convoke_goals::agentfile::load::MemoryLoader;
use convoke_goals::agentfile::model::{Agentfile, Goal, Output, Persona, Supervision, Within};
use serde_json::json;

fn names(outputs: &[Output]) -> Vec<&str> {
    outputs.iter().map(|output| output.name.as_str()).collect()
}

/// The names of those a goal uses.
fn used<'f>(file: &'f Agentfile, goal: &Goal) -> Vec<&'f str> {
    goal.agents.iter().map(|agent| file.agent(*agent).name.as_str()).collect()
}

#[test]
fn agentcore_207_statements_of_all_kinds() {
    let files = MemoryLoader::default().with("x.md", "You are x.").with("y.md", "Do y.");
    let file = valid_with(
        "NAME my-name\nINPUT a\nINPUT b DEFAULT 3\nINPUT c DEFAULT \"s\"\nAGENT x FROM x.md\nAGENT z \"You are z.\"\n\
         GOAL g \"$a $b $c\"\nGOAL h FROM y.md USING z, x\nRUN r USING h, g",
        &files,
    );
    assert_eq!(file.name, "my-name");
    let inputs: Vec<_> =
        file.inputs.iter().map(|input| (input.name.as_str(), input.default.clone())).collect();
    assert_eq!(inputs, [("a", None), ("b", Some(json!("3"))), ("c", Some(json!("s")))]);
    let Persona::Prompt(prompt) = &file.agents[0].persona else { panic!("{:?}", file.agents[0]) };
    assert_eq!(
        (prompt.path.as_deref(), prompt.template.fill(|_| "?").as_str()),
        (Some("x.md"), "You are x.")
    );
    let [g, h] = &file.goals[..] else { panic!("two goals") };
    assert_eq!((g.text.template.fill(|_| "?").as_str(), used(&file, g)), ("? ? ?", vec![]));
    assert_eq!((h.text.template.fill(|_| "?").as_str(), used(&file, h)), ("Do y.", vec!["z", "x"]));
    let goals = file.steps[0].goals.iter().map(|goal| file.goal(*goal).name.as_str());
    assert_eq!(goals.collect::<Vec<_>>(), ["h", "g"]);
}

#[test]
fn agentcore_208_errors_say_their_line() {
    let rest = "GOAL whole \"x\"\nRUN main USING whole\nNAME n";
    for (statement, error) in [
        ("AGENT", "missing-name"),
        ("AGENT a", "missing-text"),
        ("GOAL", "missing-name"),
        ("GOAL g", "missing-text"),
        ("RUN", "missing-name"),
        ("RUN r", "missing-clause"),
    ] {
        assert_eq!(errors(&format!("{statement}\n{rest}")), [format!("{error} 1")], "{statement}");
        assert_eq!(errors(&format!("INPUT i\n{statement}\n{rest}")), [format!("{error} 2")], "{statement}");
    }
}

#[test]
fn agentcore_209_outputs_of_every_kind() {
    let file = valid(
        "NAME n\nAGENT z \"x\" -> a, b REQUIRES \"fast\"\nGOAL g \"x\" -> c, d USING z\n\
         CONVERGE h \"x\" -> e, f USING z WITHIN 3\nRUN r USING g, h",
    );
    let agent = &file.agents[0];
    assert_eq!((names(&agent.outputs), agent.requires.as_deref()), (vec!["a", "b"], Some("fast")));
    let [goal, convergence] = &file.goals[..] else { panic!("two goals") };
    assert_eq!((names(&goal.outputs), used(&file, goal)), (vec!["c", "d"], vec!["z"]));
    assert_eq!((names(&convergence.outputs), used(&file, convergence)), (vec!["e", "f"], vec!["z"]));
    assert_eq!(convergence.converge, Some(Within::Times(3)));
}

#[test]
fn agentcore_212_convergence() {
    // Without a number it is the variable that says how often.
    for (clauses, times, outputs, agents, supervision) in [
        ("WITHIN 3", Some(3), vec![], vec![], Supervision::Inherit),
        ("WITHIN $n", None, vec![], vec![], Supervision::Inherit),
        ("-> a WITHIN 3", Some(3), vec!["a"], vec![], Supervision::Inherit),
        ("USING b WITHIN 3", Some(3), vec![], vec!["b"], Supervision::Inherit),
        ("WITHIN 3 SUPERVISED", Some(3), vec![], vec![], Supervision::Llm),
        ("-> a USING b WITHIN $n SUPERVISED", None, vec!["a"], vec!["b"], Supervision::Llm),
    ] {
        let file =
            valid(&format!("NAME x\nINPUT n\nAGENT b \"y\"\nCONVERGE c \"x\" {clauses}\nRUN r USING c"));
        let goal = &file.goals[0];
        let variable = Within::Variable(file.variable_named("n").unwrap());
        assert_eq!(goal.converge, Some(times.map_or(variable, Within::Times)), "{clauses}");
        assert_eq!((names(&goal.outputs), used(&file, goal)), (outputs, agents), "{clauses}");
        assert_eq!(goal.supervision, supervision, "{clauses}");
    }
    assert_eq!(errors("NAME n\nCONVERGE c \"x\"\nRUN r USING c"), ["missing-clause 2"]);
}

#[test]
fn agentcore_219_profiles_and_supervision_of_a_file() {
    let file = valid(
        "NAME n\nAGENT a \"x\" REQUIRES \"fast\"\nAGENT b \"x\" REQUIRES \"deep\"\nAGENT c \"x\" REQUIRES \"fast\"\n\
         GOAL g \"x\" USING a, b, c\nRUN r USING g",
    );
    assert_eq!(file.profiles(), ["fast", "deep"]);
    assert!(!file.is_supervised() && !file.needs_human());

    // At every level, by a model and by a person.
    let level = |level: &str, word: &str| {
        let at = |own: &str| if own == level { word } else { "" };
        valid(&format!(
            "NAME n\n{}\nAGENT a \"x\" {}\nGOAL g \"x\" USING a {}\nCONVERGE c \"x\" WITHIN 2 {}\nRUN r USING g, c {}",
            at("file"),
            at("agent"),
            at("goal"),
            at("convergence"),
            at("run")
        ))
    };
    for name in ["file", "agent", "goal", "convergence", "run"] {
        for (word, human) in [("SUPERVISED", false), ("SUPERVISED HUMAN", true)] {
            let file = level(name, word);
            assert!(file.is_supervised(), "{name} {word}");
            assert_eq!(file.needs_human(), human, "{name} {word}");
        }
    }
    let mixed = valid("NAME n\nSUPERVISED\nGOAL g \"x\" SUPERVISED HUMAN\nRUN r USING g");
    assert!(mixed.is_supervised() && mixed.needs_human());
    let nobody = valid("NAME n\nGOAL g \"x\" UNSUPERVISED\nRUN r USING g");
    assert!(!nobody.is_supervised() && !nobody.needs_human());
}

#[test]
fn agentcore_219_who_watches_a_part_of_a_whole() {
    use Supervision::{Human, Inherit, Llm, Off};
    // Its own word counts, unless a person watches over the whole.
    let table = [
        (Inherit, [(Inherit, Inherit), (Off, Off), (Llm, Llm), (Human, Human)]),
        (Off, [(Inherit, Off), (Off, Off), (Llm, Off), (Human, Human)]),
        (Llm, [(Inherit, Llm), (Off, Llm), (Llm, Llm), (Human, Human)]),
        (Human, [(Inherit, Human), (Off, Human), (Llm, Human), (Human, Human)]),
    ];
    for (own, row) in table {
        for (whole, expected) in row {
            assert_eq!(own.within(whole), expected, "{own:?} in {whole:?}");
        }
    }
}
