//! The parser.

use crate::common::{errors, only_error, read_text, valid};
use convoke_goals::agentfile::diagnostic::{Style, render};
use convoke_goals::agentfile::model::{SecurityMode, StepKind, Supervision, Type, Within};
use convoke_goals::agentfile::parser::parse;
use convoke_goals::agentfile::{Source, Span, syntax};
use serde_json::json;

const REST: &str = "\nGOAL g \"x\"\nRUN r USING g\n";

fn with_rest(text: &str) -> String {
    format!("{text}{REST}")
}

#[test]
fn agent_021_a_file_has_a_name() {
    assert_eq!(valid(&with_rest("NAME my-workflow")).name, "my-workflow");
}

#[test]
fn agent_022_inputs_may_have_defaults() {
    let file = valid(&with_rest(
        "NAME n\nINPUT a\nINPUT b DEFAULT 10\nINPUT c DEFAULT \"hello world\"\nINPUT d DEFAULT auto",
    ));
    let defaults: Vec<_> = file.inputs.iter().map(|input| input.default.clone()).collect();
    assert_eq!(defaults, [None, Some(json!("10")), Some(json!("hello world")), Some(json!("auto"))]);
}

#[test]
fn agentcore_221_an_empty_default_is_a_default() {
    assert_eq!(valid(&with_rest("NAME n\nINPUT x DEFAULT \"\"")).inputs[0].default, Some(json!("")));
}

#[test]
fn agent_023_agents_have_a_text_or_a_path() {
    let body = |text: &str| {
        let (file, diagnostics) = parse(text);
        assert_eq!(diagnostics.errors(), 0, "{text}");
        file.statements[0].clauses.body.clone().unwrap().value
    };
    assert_eq!(body("AGENT a FROM p.md"), syntax::Body::From("p.md".to_owned()));
    assert!(matches!(body("AGENT a \"prompt\""), syntax::Body::Text(text) if text.value == "prompt"));
    assert_eq!(errors(&with_rest("NAME n\nAGENT a")), ["missing-text 2"]);
}

#[test]
fn agent_024_goals_have_a_text_or_a_path() {
    let (file, _) = parse("GOAL g \"text\"\nGOAL h FROM p");
    let bodies: Vec<_> = file.statements.iter().map(|one| one.clauses.body.clone().unwrap().value).collect();
    assert!(matches!(&bodies[0], syntax::Body::Text(text) if text.value == "text"));
    assert_eq!(bodies[1], syntax::Body::From("p".to_owned()));
    assert_eq!(errors("NAME n\nGOAL g\nRUN r USING g"), ["missing-text 2"]);
}

#[test]
fn agent_025_agents_are_used_in_order() {
    let (file, _) = parse("GOAL g FROM p USING a, b");
    let using = file.statements[0].clauses.using.clone().unwrap().value;
    assert_eq!(using.into_iter().map(|name| name.value).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn agent_026_outputs() {
    let names = |text: &str| {
        let file = valid(&format!("NAME n\nAGENT z \"y\"\n{text}\nRUN r USING g"));
        let goal = &file.goals[0];
        (goal.outputs.iter().map(|output| output.name.clone()).collect::<Vec<_>>(), goal.agents.len())
    };
    assert_eq!(names("GOAL g \"x\" -> a, b, c").0, ["a", "b", "c"]);
    assert_eq!(names("GOAL g \"x\" -> a, b USING z"), (vec!["a".to_owned(), "b".to_owned()], 1));
}

#[test]
fn agent_027_an_agent_with_every_clause() {
    let text = "NAME n\nAGENT r \"p\" -> f, s REQUIRES \"fast\" SUPERVISED HUMAN\nGOAL g \"x\" USING r\nRUN x USING g";
    let file = valid(text);
    let agent = &file.agents[0];
    assert_eq!(agent.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>(), ["f", "s"]);
    assert_eq!(agent.requires.as_deref(), Some("fast"));
    assert_eq!(agent.supervision, Supervision::Human);
    assert!(matches!(&agent.persona, convoke_goals::agentfile::model::Persona::Prompt(text)
        if text.template.fill(|_| "") == "p"));
}

#[test]
fn agent_028_clauses_come_in_any_order() {
    let file = valid("NAME n\nGOAL g \"x\" SUPERVISED -> out\nRUN r USING g");
    assert_eq!(file.goals[0].supervision, Supervision::Llm);
    assert_eq!(file.goals[0].outputs[0].name, "out");
    let (first, diagnostics) = parse("CONVERGE g SUPERVISED WITHIN 3 USING a -> out \"x\"");
    assert_eq!(diagnostics.errors(), 0);
    let second = parse("CONVERGE g \"x\" -> out USING a WITHIN 3 SUPERVISED").0;
    assert_eq!(first, second);
    let reference = include_str!("../../../docs/agentfile.md");
    assert!(reference.contains("in any order"), "the reference says so");
}

#[test]
fn agent_029_steps() {
    let file = valid("NAME n\nGOAL a \"x\"\nGOAL b \"x\"\nRUN s USING a, b");
    let goals = file.steps[0].goals.iter().map(|goal| file.goal(*goal).name.as_str());
    assert_eq!(goals.collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(errors("NAME n\nGOAL a \"x\"\nRUN s"), ["missing-clause 3"]);
    assert_eq!(errors("NAME n\nGOAL a \"x\"\nRUN s USING a,\nGOAL b \"y\""), ["missing-value 3"]);
}

#[test]
fn agent_030_convergence_has_a_limit() {
    let file = valid(
        "NAME n\nINPUT max\nCONVERGE c \"x\" WITHIN 10\nCONVERGE d \"x\" WITHIN $max\nRUN r USING c, d",
    );
    assert_eq!(file.goals[0].converge, Some(Within::Times(10)));
    assert_eq!(file.goals[1].converge, Some(Within::Variable(file.variable_named("max").unwrap())));
}

#[test]
fn agent_031_convergence_with_every_clause() {
    let file =
        valid("NAME n\nAGENT rev \"y\"\nCONVERGE c \"x\" -> r USING rev WITHIN 8 SUPERVISED\nRUN s USING c");
    let goal = &file.goals[0];
    assert_eq!(goal.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>(), ["r"]);
    assert_eq!(goal.agents.len(), 1);
    assert_eq!(goal.converge, Some(Within::Times(8)));
    assert_eq!(goal.supervision, Supervision::Llm);
    assert_eq!(errors("NAME n\nCONVERGE c \"x\"\nRUN s USING c"), ["missing-clause 2"]);
}

#[test]
fn agent_032_a_whole_file_can_be_supervised() {
    assert_eq!(valid(&with_rest("NAME n\nSUPERVISED")).supervision, Supervision::Llm);
    assert_eq!(valid(&with_rest("SUPERVISED HUMAN\nNAME n")).supervision, Supervision::Human);
    assert_eq!(valid(&with_rest("NAME n\nSUPERVISED HUMAN\nSUPERVISED")).supervision, Supervision::Human);
    assert_eq!(valid(&with_rest("NAME n")).supervision, Supervision::Off);
}

#[test]
fn agent_033_goals_agents_and_steps_say_who_watches() {
    goals_agents_and_steps_say_who_watches();
}

#[test]
fn agentcore_210_goals_agents_and_steps_say_who_watches() {
    goals_agents_and_steps_say_who_watches();
}

fn goals_agents_and_steps_say_who_watches() {
    for (word, expected) in [
        ("", Supervision::Inherit),
        (" SUPERVISED", Supervision::Llm),
        (" SUPERVISED HUMAN", Supervision::Human),
        (" UNSUPERVISED", Supervision::Off),
    ] {
        let text = format!(
            "NAME n\nAGENT a \"x\"{word}\nGOAL g \"x\" USING a{word}\nCONVERGE c \"x\" WITHIN 2{word}\n\
             RUN r USING g, c{word}"
        );
        let file = valid(&text);
        assert_eq!(file.agents[0].supervision, expected);
        assert_eq!(file.goals[0].supervision, expected);
        assert_eq!(file.goals[1].supervision, expected);
        assert_eq!(file.steps[0].supervision, expected);
    }
}

#[test]
fn agentcore_210_a_whole_file_says_who_watches() {
    for (word, expected) in [
        ("", Supervision::Off),
        ("\nSUPERVISED", Supervision::Llm),
        ("\nSUPERVISED HUMAN", Supervision::Human),
    ] {
        let file = valid(&with_rest(&format!("NAME n{word}")));
        assert_eq!((file.supervision, file.goals[0].supervision), (expected, Supervision::Inherit), "{word}");
    }
}

#[test]
fn agent_034_a_file_of_all_kinds() {
    let file = valid(
        "NAME n\nSUPERVISED\nGOAL a \"x\"\nGOAL b \"x\" UNSUPERVISED\nGOAL c \"x\" SUPERVISED HUMAN\nRUN r USING a, b, c",
    );
    let own: Vec<_> = file.goals.iter().map(|goal| goal.supervision).collect();
    assert_eq!(own, [Supervision::Inherit, Supervision::Off, Supervision::Human]);
    let effective: Vec<_> = own.into_iter().map(|own| own.within(file.supervision)).collect();
    assert_eq!(effective, [Supervision::Llm, Supervision::Off, Supervision::Human]);
}

#[test]
fn agent_035_security_modes() {
    security_modes();
}

#[test]
fn agentcore_211_security_modes() {
    security_modes();
}

fn security_modes() {
    let mode = |text: &str| valid(&with_rest(&format!("NAME n\nSECURITY {text}"))).security;
    assert_eq!(mode("default"), Some(SecurityMode::Default));
    assert_eq!(mode("paranoid"), Some(SecurityMode::Paranoid));
    assert_eq!(mode("research \"scope\""), Some(SecurityMode::Research { scope: "scope".to_owned() }));
    assert_eq!(errors(&with_rest("NAME n\nSECURITY invalid")), ["bad-value 2"]);
    assert_eq!(errors(&with_rest("NAME n\nSECURITY research")), ["missing-value 2"]);
    assert_eq!(errors(&with_rest("NAME n\nSECURITY Paranoid")), ["bad-value 2"]);
    assert_eq!(errors(&with_rest("NAME n\nSECURITY paranoid\nSECURITY default")), ["contradiction 3"]);
}

#[test]
fn agent_036_goals_may_be_defined_after_they_are_used() {
    valid("RUN r USING g\nGOAL g \"x $h\"\nNAME n\nINPUT h");
}

#[test]
fn words_that_begin_no_statement_are_errors() {
    assert_eq!(errors(&with_rest("NAME n\nVERSION 1.0.0")), ["unknown-statement 2"]);
    assert_eq!(errors(&with_rest("NAME n\nINVALID foo")), ["unknown-statement 2"]);
    assert_eq!(errors(&with_rest("NAME n\nWORKFLOW foo")), ["unknown-statement 2"], "one cause, one error");
    assert_eq!(errors(&with_rest("workflow foo")), ["unknown-statement 1"], "nor two for small letters");
}

#[test]
fn a_quote_of_another_kind_is_shown_as_it_is() {
    for (quote, shown) in [("'", "`'` has no meaning here"), ("\\", "`\\` has no meaning here")] {
        let text = format!("NAME n\nGOAL a {quote}A{quote}\nRUN main USING a\n");
        let (_, diagnostics) = read_text(&text);
        let told = render(&Source::new("x", &text), &diagnostics, Style::default());
        assert!(told.contains(shown), "{told}");
    }
}

#[test]
fn agent_038_steps_come_in_the_order_of_the_file() {
    let file = valid("NAME n\nGOAL g \"x\"\nRUN one USING g\nRUN two USING g\nRUN three USING g");
    assert_eq!(file.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
}

#[test]
fn agent_039_where_a_person_is_needed() {
    let file = |text: &str| valid(&format!("NAME n\n{text}"));
    let plain = "GOAL a \"x\"\nGOAL b \"x\"\nRUN r USING a, b";
    assert!(!file(plain).needs_human());
    assert!(!file(&format!("SUPERVISED\n{plain}")).needs_human());
    let whole = file(&format!("SUPERVISED HUMAN\n{plain}"));
    assert!(whole.needs_human());
    assert_eq!(whole.human_names(), ["r", "a", "b"]);
    assert!(file(&format!("SUPERVISED\n{plain}")).human_names().is_empty());
    let goal = file("GOAL a \"x\" SUPERVISED HUMAN\nGOAL b \"x\" SUPERVISED\nRUN r USING a, b");
    assert!(goal.needs_human());
    assert_eq!(goal.human_names(), ["a"]);
    let one =
        file("GOAL a \"x\" SUPERVISED HUMAN\nGOAL b \"x\"\nRUN r USING a\nRUN s USING b SUPERVISED HUMAN");
    assert!(one.needs_human());
    assert_eq!(one.human_names(), ["s", "a"]);
}

#[test]
fn agent_040_names_are_unique() {
    names_are_unique();
}

#[test]
fn agentcore_118_130_names_are_unique() {
    names_are_unique();
}

fn names_are_unique() {
    let text = "NAME n\nNAME m\nINPUT i\nINPUT i\nAGENT a \"$i\"\nAGENT a \"y\"\nGOAL g \"x\" USING a\nGOAL g \"y\"\n\
                RUN r USING g\nRUN r USING g";
    let (_, diagnostics) = read_text(text);
    let source = Source::new("Agentfile", text);
    let line = |span: Span| source.position(span.start).line;
    let found = diagnostics.iter().filter(|found| found.code.name() == "duplicate-name");
    let places: Vec<_> = found
        .map(|found| {
            let related: Vec<usize> = found.related.iter().map(|first| line(first.span)).collect();
            (line(found.span), related)
        })
        .collect();
    // Each says where the first one is.
    assert_eq!(places.len(), 5);
    for second in [2, 4, 6, 8, 10] {
        assert!(places.contains(&(second, vec![second - 1])), "{places:?}");
    }
}

#[test]
fn words_of_later_versions_are_still_names() {
    let file = valid(
        "NAME MODEL\nINPUT WHEN DEFAULT TIMEOUT\nAGENT TOOLS \"x $WHEN\"\nGOAL PARALLEL \"x\" -> LOOP, SECRET USING TOOLS\n\
         RUN RETRY USING PARALLEL",
    );
    assert_eq!(file.name, "MODEL");
    assert_eq!(file.inputs[0].default, Some(json!("TIMEOUT")));
    assert_eq!(file.goals[0].outputs[1].name, "SECRET");
}

#[test]
fn statements_may_share_a_line() {
    let file = valid("NAME a INPUT b GOAL c \"$b\" RUN d USING c SUPERVISED");
    assert_eq!(file.supervision, Supervision::Off);
    assert_eq!(file.steps[0].supervision, Supervision::Llm);
    assert_eq!(valid("NAME a SUPERVISED GOAL c \"x\" RUN d USING c").supervision, Supervision::Llm);
}

#[test]
fn indented_lines_go_on_with_a_statement() {
    let file = valid(
        "NAME n\nAGENT a \"x\"\nGOAL g\n  \"Do it\"\n  -> out:int # what comes of it\n\n  USING a\n  TIMEOUT 5m\nRUN r USING g",
    );
    let goal = &file.goals[0];
    assert_eq!((goal.outputs.len(), goal.agents.len()), (1, 1));
    assert_eq!(goal.overrides.timeout, Some(std::time::Duration::from_secs(300)));
    assert_eq!(errors("NAME n\nGOAL g \"x\"\n-> a\nRUN r USING g"), ["unexpected-token 3"]);
}

#[test]
fn loops_repeat_goals_or_are_convergence() {
    let file = valid(
        "NAME n\nGOAL a \"x\"\nGOAL b \"x\"\nLOOP improve USING a, b WITHIN 4\nLOOP c \"x\" WITHIN 2\nRUN r USING c",
    );
    assert_eq!(file.steps[0].kind, StepKind::Loop(Within::Times(4)));
    assert_eq!(file.goals[2].converge, Some(Within::Times(2)));
    assert_eq!(errors("NAME n\nGOAL a \"x\"\nLOOP l USING a"), ["missing-clause 3"]);
}

#[test]
fn overrides_hold_for_files_steps_goals_and_agents() {
    let file = valid(
        "NAME n\nMODEL \"a/b\"\nTIMEOUT 1h30m\nAGENT a \"x\" TOOLS none\n\
         GOAL g \"x\" USING a MODEL \"c/d\" TOOLS read, \"mcp_*\" RETRY 3 AFTER 10s BUDGET 20000 tokens, 0.50 usd, 3 tool-calls\n\
         RUN r USING g TIMEOUT 90s",
    );
    assert_eq!(file.overrides.model.as_deref(), Some("a/b"));
    assert_eq!(file.overrides.timeout.unwrap().as_secs(), 5400);
    let goal = &file.goals[0].overrides;
    assert_eq!(goal.model.as_deref(), Some("c/d"));
    assert!(goal.tools.as_ref().unwrap().allow("mcp_files"));
    assert!(!file.agents[0].overrides.tools.as_ref().unwrap().allow("read"));
    let retry = goal.retry.unwrap();
    assert_eq!((retry.times, retry.after.unwrap().as_secs()), (3, 10));
    let budget = goal.budget.as_ref().unwrap();
    assert_eq!(
        (budget.tokens, budget.tool_calls, budget.cost.unwrap().as_micros()),
        (Some(20000), Some(3), 500_000)
    );
    assert_eq!(file.steps[0].overrides.timeout.unwrap().as_secs(), 90);
}

#[test]
fn durations_are_written_as_everywhere_else_and_end_where_the_next_clause_begins() {
    for (text, millis) in [
        ("90 s", 90_000),
        ("1.5s", 1_500),
        ("4w", 2_419_200_000),
        ("1h 30 min", 5_400_000),
        ("1h1.5s", 3_601_500),
        ("2500µs", 2),
    ] {
        let file =
            valid(&format!("NAME n\nGOAL g \"x\" TIMEOUT {text} RETRY 2 AFTER {text} # so\nRUN r USING g"));
        let goal = &file.goals[0].overrides;
        assert_eq!(goal.timeout.unwrap().as_millis(), millis, "{text}");
        assert_eq!(goal.retry.unwrap().after, goal.timeout, "{text}");
    }
}

#[test]
fn what_is_no_duration_is_pointed_at_and_the_rest_of_the_file_is_read() {
    for (text, at) in [
        ("5x", "5x"),
        ("5", "5"),
        ("5 RETRY 2", "5"),
        ("5m3", "5m3"),
        ("5 x", "5"),
        ("99999999999999999w", "99999999999999999w"),
    ] {
        let file = format!("NAME n\nGOAL g \"x\" TIMEOUT {text}\nRUN r USING g");
        let error = only_error(&file);
        assert_eq!(error.span.of(&file), at, "{text}");
        assert!(error.message.starts_with(&format!("invalid duration `{at}`: ")), "{}", error.message);
    }
    let error = only_error("NAME n\nGOAL g \"x\" TIMEOUT 0s\nRUN r USING g");
    assert_eq!(error.message, "invalid duration `0s`: it must be more than zero");
}

#[test]
fn nothing_in_a_file_controls_the_terminal() {
    let source = Source::new("Age\u{9b}ntfile", "NAME n\nGOAL \u{1b}[31m \"x\"\n\u{7}RUN r USING \u{1b}g");
    let (_, diagnostics) = read_text(source.text());
    let shown = render(&source, &diagnostics, Style::default());
    assert!(shown.contains("error"), "{shown}");
    assert!(!shown.contains(|letter: char| letter.is_control() && letter != '\n'), "{shown:?}");
}

#[test]
fn a_budget_of_nothing_says_what_to_write() {
    let error = |budget: &str| only_error(&format!("NAME n\nGOAL g \"x\" BUDGET {budget}\nRUN r USING g"));
    for (budget, label) in [
        ("0 calls", "must be above 0: `10 calls`, for instance"),
        ("00 tool-calls", "must be above 0: `10 tool-calls`, for instance"),
        ("9 turns, 0.00 usd", "must be above 0: `0.50 usd`, for instance"),
    ] {
        let found = error(budget);
        assert_eq!(found.label, label, "{budget}");
        assert!(found.help.iter().any(|help| help.text.contains("leave this limit out")), "{found:?}");
    }
    assert!(error("0 tool-calls").help.iter().any(|help| help.text.contains("`TOOLS none`")));
    for budget in ["1.5 calls", "0.0000001 usd"] {
        assert!(error(budget).label.starts_with("must be a whole number"), "{budget}");
    }
}

#[test]
fn inputs_and_outputs_have_types() {
    let file = valid(
        "NAME n\nINPUT a:int DEFAULT 3\nINPUT b:low|high DEFAULT low\nINPUT c:[string] DEFAULT \"x, y\"\nINPUT d SECRET\n\
         GOAL g \"$a $b $c $d\" -> count:int, tags:[string], kind:bug|\"new feature\"\nRUN r USING g",
    );
    assert_eq!(file.inputs[0].default, Some(json!(3)));
    assert_eq!(file.inputs[2].default, Some(json!(["x", "y"])));
    assert!(file.inputs[3].secret && file.variables[3].secret);
    assert_eq!(file.goals[0].outputs[2].ty, Type::OneOf(vec!["bug".to_owned(), "new feature".to_owned()]));
    assert_eq!(file.goals[0].outputs[1].ty.schema(), json!({"type": "array", "items": {"type": "string"}}));
    for (text, error) in [
        ("INPUT a:int DEFAULT x", "bad-value 2"),
        ("INPUT a:lo|hi DEFAULT low", "bad-value 2"),
        ("INPUT a:integer", "unknown-type 2"),
        ("INPUT a SECRET DEFAULT x", "secret-shown 2"),
        ("INPUT a:int SECRET", "contradiction 2"),
        ("INPUT a:[[[[[[[[[[[[string", "bad-value 2"),
    ] {
        assert_eq!(errors(&with_rest(&format!("NAME n\n{text}"))), [error], "{text}");
    }
}

#[test]
fn what_follows_supervised_and_is_not_human_is_answered_with_it() {
    for text in [
        "NAME n\nSUPERVISED HUMN\nGOAL g \"x\"\nRUN r USING g",
        "NAME n\nGOAL g \"x\" SUPERVISED HUMN\nRUN r USING g",
        "NAME n\nGOAL g \"x\" SUPERVISED HUMAN2 TIMEOUT 5m\nRUN r USING g",
        "NAME n\nGOAL g \"x\" SUPERVISED person\nRUN r USING g",
    ] {
        only_error(text);
        let told = render(&Source::new("x", text), &read_text(text).1, Style::default());
        assert!(
            told.contains("did you mean `HUMAN`?") || told.contains("`SUPERVISED HUMAN` for a person"),
            "{told}"
        );
    }
}

#[test]
fn a_default_of_too_many_times_says_how_many_there_may_be() {
    let text = "NAME n\nINPUT m DEFAULT \"4294967296\"\nCONVERGE g \"x\" WITHIN $m\nRUN r USING g";
    let told = render(&Source::new("x", text), &read_text(text).1, Style::default());
    assert!(told.contains("less than 4,294,967,296"), "{told}");
}

#[test]
fn one_slip_is_one_error() {
    for text in [
        "NAME n\ngoal g \"x\"\nRUN r USING g",
        "NAME n\nGAOL g \"x\"\nRUN r USING g",
        "NAME n\nGOAL g \"x\"\nRUN r USIGN g",
        "NAME n\nGOAL g \"x\" TIMEOUT 5\nRUN r USING g",
        "NAME n\nAGENT a \"y\"\nGOAL g \"x\" USING a->bar\nRUN r USING g",
        "NAME n\nGOAL g->bar \"x\"\nRUN r USING g",
        "NAME n\nGOAL g \"two\nlines\"\nRUN r USING h\nGOAL h \"x\"",
        "NAME n\nGOAL g\n  do it, please!\n  now\nRUN r USING g",
        "NAME n\nGOAL g \"x\" TIMEOT 5m\nRUN r USING g",
        "NAME n\nGOAL a \"x\"\nGOAL b \"x\"\nRUN r USING a b",
    ] {
        only_error(text);
    }
}
