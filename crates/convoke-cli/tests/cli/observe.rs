//! Traces, metrics and the log of `convoke run`, `resume` and `chat`.

use serde_json::Value;

use crate::place::{Place, stderr, stdout};
use crate::sink::Sink;
use crate::workshop::{RESULT, RUN, unwatched, workshop};

const WIDTH: (&str, &str) = ("COLUMNS", "80");
/// A folder's file sends nothing to this machine unless its user agrees.
const TRUSTED: (&str, &str) = ("CONVOKE_TRUSTED_HOSTS", "127.0.0.1");

#[test]
fn a_run_is_one_trace_in_which_agents_are_below_their_goal() {
    let (place, sink) = (workshop(&unwatched()), Sink::start());
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*sink.url());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let output = place.convoke_with(&RUN, &[WIDTH, endpoint, ("TRACEPARENT", parent)]);
    assert_eq!(stdout(&output), format!("{RESULT}\n"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("delivered"), "{}", stderr(&output));
    let spans = sink.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let above = |span: &opentelemetry_proto::tonic::trace::v1::Span| {
        let parent = spans.iter().find(|other| other.span_id == span.parent_span_id);
        parent.map(|parent| parent.name.clone())
    };
    for agent in ["invoke_agent poet", "invoke_agent clerk"] {
        let mut lineage = vec![agent.to_owned()];
        let mut span = named(agent).clone();
        while let Some(name) = above(&span) {
            span = named(&name).clone();
            lineage.push(name);
        }
        assert!(lineage.contains(&"goal collect".to_owned()), "{lineage:?}");
        assert_eq!(lineage.last().map(String::as_str), Some("invoke_workflow letter"));
    }
    let trace: String = named("goal send").trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(trace, "4bf92f3577b34da6a3ce929d0e0e4736", "the caller's trace goes on");
    assert_eq!(spans.iter().filter(|span| span.name.starts_with("chat ")).count(), 7);
    assert!(!sink.has_seen("looms"), "what is said is not sent unless asked for");
}

#[test]
fn a_collector_that_is_not_there_changes_nothing_but_a_note() {
    let place = workshop(&unwatched());
    let (_socket, url) = Sink::nobody();
    place.write("convoke.toml", format!("[telemetry]\nendpoint = \"{url}\"\n"));
    let output = place.convoke_with(&RUN, &[WIDTH, TRUSTED]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), format!("{RESULT}\n")));
    let told = stderr(&output);
    assert!(told.contains("of the trace could not be delivered"), "{told}");
}

#[test]
fn telemetry_that_cannot_be_is_said_and_the_run_does_without() {
    let place = workshop(&unwatched());
    place.write("convoke.toml", "[telemetry]\nendpoint = \"https://collector.example\"\n");
    let output = place.convoke(&RUN);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), format!("{RESULT}\n")));
    let told = stderr(&output);
    assert!(told.contains("no traces are sent") && told.contains("trusted_hosts"), "{told}");
}

#[test]
fn a_conversation_is_a_trace_too() {
    let (place, sink) = (Place::empty(), Sink::start());
    place.write("script.toml", "[[rule]]\nreply = \"hello\"\n");
    let endpoint = ("CONVOKE_TELEMETRY_ENDPOINT", &*sink.url());
    for forget in [&[][..], &["--forget"]] {
        let arguments = [&["chat", "hi", "-m", "scripted/script.toml"], forget].concat();
        let output = place.convoke_with(&arguments, &[endpoint]);
        assert_eq!(stdout(&output), "hello\n", "{}", stderr(&output));
    }
    let runs = sink.spans().into_iter().filter(|span| span.name == "invoke_workflow chat");
    assert_eq!(runs.count(), 2);
}

#[test]
fn the_log_is_json_line_by_line_and_says_what_happens() {
    let place = workshop(&unwatched());
    let log = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [arguments, &["-q", "--log-format", "json"]].concat();
        let output = place.convoke_with(&arguments, variables);
        assert_eq!(stdout(&output), format!("{RESULT}\n"));
        let told = stderr(&output);
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let lines = log(&[&RUN[..], &["--log", "debug"]].concat(), &[WIDTH]);
    let has = |lines: &[Value], message: &str| lines.iter().any(|line| line["message"] == message);
    for message in ["run started", "model called", "model replied", "run completed"] {
        assert!(has(&lines, message), "{message}: {lines:?}");
    }
    assert!(lines.iter().all(|line| line["run"] == "letter-1"), "{lines:?}");
    place.write("convoke.toml", "[telemetry]\nlog_level = \"info\"\n");
    let other = [&RUN[..7], &["letter-2"]].concat();
    let lines = log(&other, &[WIDTH]);
    assert!(has(&lines, "run started") && !has(&lines, "model called"), "{lines:?}");
    assert!(log(&[&RUN[..7], &["letter-3", "--log", "off"]].concat(), &[WIDTH]).is_empty());
    assert!(log(&[&RUN[..7], &["letter-4"]].concat(), &[WIDTH, ("CONVOKE_LOG", "error")]).is_empty());
}

#[test]
fn a_filter_that_makes_no_sense_is_a_mistake_of_the_command_line() {
    let place = workshop(&unwatched());
    let output = place.convoke(&[&RUN[..], &["--log", "convoke=loud"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("invalid log filter"), "{}", stderr(&output));
    assert!(!place.file().exists());
    assert_eq!(place.convoke(&["runs", "--log-format", "xml"]).status.code(), Some(2));
}

/// What is logged and sent of a run, and whether it has this in it.
fn tells(
    place: &Place,
    sink: &Sink,
    arguments: &[&str],
    variables: &[(&str, &str)],
    words: &str,
) -> [bool; 2] {
    let arguments = [arguments, &["--log", "trace", "--log-format", "json"]].concat();
    let output = place.convoke_with(&arguments, variables);
    let told = stderr(&output);
    let log: Vec<&str> = told.lines().filter(|line| line.starts_with('{')).collect();
    assert!(log.iter().any(|line| line.contains("run started")), "{told}");
    [log.iter().any(|line| line.contains(words)), sink.has_seen(words)]
}

#[test]
fn what_people_and_supervisors_say_is_not_in_errors_that_are_logged_or_sent() {
    let agentfile = "NAME x\nGOAL sign \"Sign it\" SUPERVISED HUMAN\nRUN main USING sign\n";
    let run = ["run", "letter.agent", "-m", "scripted/script.toml", "--id", "signed"];
    for (content, sent) in [("false", false), ("true", true)] {
        let (place, sink) = (workshop(agentfile), Sink::start());
        let (url, recording) = (sink.url(), ("CONVOKE_TELEMETRY_RECORD_CONTENT", content));
        let variables = [WIDTH, ("OTEL_EXPORTER_OTLP_ENDPOINT", &*url), recording];
        assert!(!tells(&place, &sink, &run, &variables, "waiting for 1 answer(s): ")[0]);
        assert!(place.convoke(&["answer", "signed", "--reject", "R-E-A-S-O-N"]).status.success());
        let told = tells(&place, &sink, &["resume", "signed"], &variables, "R-E-A-S-O-N");
        assert_eq!(told, [false, sent], "by a person, recording content: {content}");
        assert!(sink.has_seen("halted"));

        let (place, sink) = (workshop(&agentfile.replace(" HUMAN", "")), Sink::start());
        place.write(
            "script.toml",
            r#"
[[rule]]
when.output = "commitment"
json = { interpretation = "Sign the letter.", approach = "With a name.", confidence = "high" }

[[rule]]
when.output = "assessment"
json = { met_commitment = false, deviations = ["none of it"] }

[[rule]]
when.output = "judgement"
json = { verdict = "halt", reason = "R-E-A-S-O-N", correction = "", question = "" }

[[rule]]
reply = "Ben"
"#,
        );
        let url = sink.url();
        let variables = [WIDTH, ("OTEL_EXPORTER_OTLP_ENDPOINT", &*url), recording];
        let told = tells(&place, &sink, &run, &variables, "R-E-A-S-O-N");
        assert!(stdout(&place.convoke(&["show", "signed"])).contains("R-E-A-S-O-N"));
        assert_eq!(told, [false, sent], "by a model, recording content: {content}");
    }
}

#[test]
fn secrets_are_neither_sent_nor_logged() {
    let (place, sink) = (Place::empty(), Sink::start());
    place.write("Agentfile", "NAME x\nINPUT key SECRET\nGOAL a \"Sign with $key\"\nRUN main USING a\n");
    place.write("script.toml", "[[rule]]\nreply = \"Signed.\"\n");
    place.write(
        "convoke.toml",
        format!(
            "[telemetry]\nendpoint = \"{}\"\nheaders = {{ authorization = \"Bearer h-e-a-d\" }}\n",
            sink.url()
        ),
    );
    let variables = [WIDTH, TRUSTED, ("CONVOKE_TELEMETRY_RECORD_CONTENT", "true")];
    let arguments = ["run", "-m", "scripted/script.toml", "-i", "key=s-e-c-r-e-t", "--log", "trace"];
    let output = place.convoke_with(&arguments, &variables);
    assert_eq!(stdout(&output), "Signed.\n", "{}", stderr(&output));
    assert!(sink.has_seen("Bearer h-e-a-d") && sink.has_seen("Signed."), "headers and content are sent");
    assert!(!sink.has_seen("s-e-c-r-e-t"));
    let told = stderr(&output);
    assert!(
        told.contains("run started") && !told.contains("s-e-c-r-e-t") && !told.contains("h-e-a-d"),
        "{told}"
    );
}
