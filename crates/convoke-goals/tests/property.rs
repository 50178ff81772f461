//! Properties of any text: nothing panics, and formatting changes nothing that matters.

use std::sync::Arc;

use convoke_core::Model;
use convoke_goals::agentfile::diagnostic::{KEPT, Style, render, to_json};
use convoke_goals::agentfile::lexer::lex;
use convoke_goals::agentfile::load::NoFiles;
use convoke_goals::agentfile::parser::parse;
use convoke_goals::agentfile::{Source, format, outline, read};
use convoke_goals::{Equipment, Models, Workflow};
use convoke_models::ScriptedModel;
use proptest::prelude::*;

const FILES: [&str; 4] = [
    include_str!("files/plan.agent"),
    include_str!("files/triage.agent"),
    include_str!("files/old.agent"),
    include_str!("files/odd.agent"),
];

/// There is a model of every name.
struct AnyModel;

impl Models for AnyModel {
    fn named(&self, _: &str) -> Result<Arc<dyn Model>, String> {
        Ok(Arc::new(ScriptedModel::replies(["x"])))
    }

    fn profile(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        self.named(name)
    }
}

/// Everything that can be done with a text.
fn all_of_it(text: &str) {
    let source = Source::new("x.agent", text);
    let (file, diagnostics) = read(&source, &NoFiles);
    assert_eq!(file.is_some(), diagnostics.errors() == 0);
    for found in &diagnostics {
        assert!(found.span.end <= text.len(), "{found:?}");
        assert!(
            text.is_char_boundary(found.span.start) && text.is_char_boundary(found.span.end),
            "{found:?}"
        );
        assert!(!found.help.is_empty(), "says what to do: {found:?}");
        for help in found.help.iter().filter_map(|help| help.edit.as_ref()) {
            assert!(text.get(help.0.range()).is_some(), "{found:?}");
        }
    }
    let shown = render(&source, &diagnostics, Style { color: true, width: 80 });
    assert_eq!(shown.is_empty(), diagnostics.is_empty());
    let _ = to_json(&source, &diagnostics);
    if let Some(file) = file {
        let _ = (outline::to_text(&file), outline::to_json(&file), outline::to_diagram(&file).to_mermaid());
        // What the language accepts can be run.
        let mut equipment = Equipment::default();
        equipment.models = Some(Arc::new(AnyModel));
        if let Err(problems) = Workflow::from(&file).prepare(&equipment) {
            panic!("{problems}\n{text}");
        }
    }
    formats(text);
}

/// Formatting keeps the meaning and all comments, and is done once and for all.
fn formats(text: &str) {
    let (before, diagnostics) = parse(text);
    let formatted = match format(text) {
        Ok(formatted) => formatted,
        Err(errors) => {
            assert!(errors.errors() > 0);
            return;
        }
    };
    assert_eq!(diagnostics.errors(), 0);
    let (after, diagnostics) = parse(&formatted);
    assert_eq!(diagnostics.errors(), 0, "{text:?} became {formatted:?}");
    assert_eq!(before, after, "{text:?} became {formatted:?}");
    let comments = |text: &str| -> Vec<String> {
        lex(text).comments.iter().map(|comment| comment.span.of(text).trim_end().to_owned()).collect()
    };
    assert_eq!(comments(text), comments(&formatted));
    assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()), "{text:?}");
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "NAME",
        "INPUT",
        "AGENT",
        "GOAL",
        "CONVERGE",
        "LOOP",
        "RUN",
        "FROM",
        "USING",
        "WITHIN",
        "DEFAULT",
        "REQUIRES",
        "SUPERVISED",
        "HUMAN",
        "UNSUPERVISED",
        "SECURITY",
        "MODEL",
        "TOOLS",
        "TIMEOUT",
        "RETRY",
        "AFTER",
        "BUDGET",
        "WHEN",
        "PARALLEL",
        "SECRET",
        "IS",
        "NOT",
        "IN",
        "AND",
        "OR",
        "CONTAINS",
        "none",
        "research",
        "a",
        "b-c",
        "c-",
        "bug",
        "int",
        "tokens",
        "usd",
        "5m",
        "3",
        "2.5",
        "$a",
        "${b-c}",
        "$",
        "->",
        ",",
        ":",
        "|",
        "[",
        "]",
        "<",
        ">=",
        "=",
        "\"x $a\"",
        "\"",
        "\"\"\"",
        "\"\"\"t\nt\"\"\"",
        "# c",
        "\n",
        "\n  ",
        "\r\n",
        "é",
        "\\",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

/// Statements that parse, written in an ugly way.
fn statements() -> impl Strategy<Value = String> {
    let statement = prop::sample::select(vec![
        "NAME  n",
        "INPUT a",
        "INPUT b :  int DEFAULT  3",
        "INPUT k SECRET",
        "AGENT x \"p\"",
        "AGENT y FROM p.md",
        "AGENT z FROM \"a b.md\"  REQUIRES \"f\"",
        "GOAL g SUPERVISED \"x\"  ->a,b:[ string ]",
        "GOAL h\n  \"x\" # c\n  USING x",
        "GOAL i \"\"\"\nx # no comment\n\"\"\" USING x,y",
        "CONVERGE c WITHIN $b \"x\"",
        "LOOP l USING g ,h WITHIN 3",
        "RUN r USING g , h PARALLEL",
        "RUN s\n # inside\n USING g\n UNSUPERVISED",
        "SUPERVISED   HUMAN",
        "SUPERVISED",
        "SECURITY   research   \"own\"",
        "SECURITY default",
        "MODEL   \"m/n\"",
        "TOOLS read , \"m*\"",
        "TIMEOUT  5m",
        "RETRY 3   AFTER 2s",
        "BUDGET 3   tokens,1.50 usd",
        "GOAL w \"x\" WHEN NOT $f AND $k IS  NOT \"a b\" OR $n>=3",
        "GOAL v \"x\" -> k:low|\"very high\"|int-like|\"int\"\n\tMODEL \"q\"\n\tTIMEOUT 5s SUPERVISED HUMAN",
    ]);
    let gap = prop::sample::select(vec![
        "\n",
        "\n\n",
        "\n\n\n\n",
        " # note\n",
        "\n# above\n",
        "\n  # indented\n\n",
        "\r\n",
    ]);
    prop::collection::vec((statement, gap), 0..14)
        .prop_map(|parts| parts.into_iter().map(|(statement, gap)| format!("{statement}{gap}")).collect())
}

/// Files that are often valid: whatever two goals, an agent and their clauses can be.
fn plausible_files() -> impl Strategy<Value = String> {
    let pick = |choices: &'static [&'static str]| prop::sample::select(choices.to_vec());
    let when =
        move || pick(&["", "", "", " WHEN $b", " WHEN NOT $b", " WHEN $k IS low", " WHEN $n >= 2 OR $b"]);
    let outputs = move || pick(&["", " -> x", " -> x, y:int", " -> k2:low|high", " -> n", " -> s", " -> g"]);
    let watch = move || pick(&["", "", " SUPERVISED", " SUPERVISED HUMAN", " UNSUPERVISED"]);
    let text = move || pick(&["\"t\"", "\"$a $s\"", "\"$x\"", "\"${g} $y\"", "\"$$ $k2\""]);
    let goal = move || (text(), outputs(), when(), watch());
    let run = pick(&[
        "RUN r USING g, h",
        "RUN r PARALLEL USING g, h",
        "RUN r USING g\nRUN q USING h WHEN $b",
        "RUN r USING h WHEN $b\nRUN q USING g, h",
        "LOOP r USING g, h WITHIN $n",
        "RUN r USING g, g, h SUPERVISED HUMAN",
    ]);
    let agent =
        pick(&["\"p $a\"", "\"p $x\" -> x", "\"p\" -> z REQUIRES \"f\"", "\"p\" TOOLS none UNSUPERVISED"]);
    let head = pick(&["", "", "SUPERVISED\n", "SUPERVISED HUMAN\n", "RETRY 2\nTIMEOUT 5m\n"]);
    (head, agent, goal(), goal(), run).prop_map(|(head, agent, g, h, run)| {
        let clauses =
            |(text, outputs, when, watch): (&str, &str, &str, &str)| format!("{text}{outputs}{when}{watch}");
        format!(
            "NAME w\n{head}INPUT a\nINPUT b:bool\nINPUT k:low|high\nINPUT n:int DEFAULT 3\nINPUT s SECRET\n\
             AGENT p {agent}\nGOAL g {} USING p\nGOAL h {}\n{run}\n",
            clauses(g),
            clauses(h)
        )
    })
}

fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), words());
    (prop::sample::select(FILES.to_vec()), prop::collection::vec(change, 1..4)).prop_map(|(file, changes)| {
        let mut text = file.to_owned();
        for (from, length, insert) in changes {
            let places: Vec<usize> = (0..=text.len()).filter(|place| text.is_char_boundary(*place)).collect();
            let from = from.index(places.len());
            let to = (from + length.index(12)).min(places.len() - 1);
            text.replace_range(places[from]..places[to], &insert[..insert.floor_char_boundary(20)]);
        }
        text
    })
}

proptest! {
    #[test]
    fn any_text_is_read(text in any::<String>()) {
        all_of_it(&text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        match Source::from_bytes("x", bytes) {
            Ok(source) => all_of_it(source.text()),
            Err(error) => {
                let (source, diagnostic) = *error;
                let mut diagnostics = convoke_goals::agentfile::diagnostic::Diagnostics::default();
                diagnostics.error(|| diagnostic);
                prop_assert!(!render(&source, &diagnostics, Style::default()).is_empty());
            }
        }
    }

    #[test]
    fn any_words_are_read(text in words()) {
        all_of_it(&text);
    }

    #[test]
    fn changed_files_are_read(text in mutated()) {
        all_of_it(&text);
    }

    #[test]
    fn whatever_is_valid_can_be_run(text in plausible_files()) {
        all_of_it(&text);
    }

    #[test]
    fn whatever_parses_can_be_formatted(text in statements()) {
        prop_assert_eq!(parse(&text).1.errors(), 0);
        all_of_it(&text);
    }
}

#[test]
fn good_files_are_good() {
    for text in FILES {
        let (file, diagnostics) = crate::common::read_text(text);
        assert!(file.is_some(), "{}", render(&Source::new("x", text), &diagnostics, Style::default()));
        all_of_it(text);
    }
}

#[test]
fn a_megabyte_of_garbage_is_a_few_errors_and_a_number() {
    let size = 1 << 20;
    for piece in [
        "@",
        "\"",
        "garbage ",
        "garbage\n",
        "$a ",
        "GOAL\n",
        "NAME a ",
        "\"\"\"\n",
        "USING a, ",
        "a b\n",
        "[",
        "#\n",
        "\u{0}",
        "GOAL a \"$b ${c} {{d}}\"\n",
        "INPUT a:[[[[\n",
        "RUN r USING x, y\n",
        "WHEN $a AND ",
        "FROM ",
        "é\n",
    ] {
        let text = piece.repeat(size / piece.len());
        let source = Source::new("garbage", text);
        let (_, diagnostics) = read(&source, &NoFiles);
        assert!(diagnostics.errors() > 0, "{piece:?}");
        assert!(diagnostics.iter().count() <= KEPT);
        let shown = render(&source, &diagnostics, Style::default());
        assert!(shown.len() < 200_000, "{piece:?} gives {} bytes", shown.len());
        if diagnostics.more() > 0 {
            assert!(shown.ends_with(&format!("... and {} more\n", diagnostics.more())));
        }
    }
}

#[test]
fn thousands_of_goals_with_a_mistake_each_are_read() {
    // Every step of it in proportion to the text: anything else takes minutes here.
    let goal = |index: usize| {
        let next = index + 1;
        format!("GOAL g{index} \"$g{next} ${{x}}\" USING a{index}\nRUN r{index} USING g{index}, h{index}\n")
    };
    let text: String = (0..20_000).map(goal).collect();
    let (_, diagnostics) = crate::common::read_text(&text);
    assert!(diagnostics.errors() > 60_000 && diagnostics.iter().count() == KEPT);
}
