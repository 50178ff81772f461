//! An event of a run under way, as JSON.

use std::time::Duration;

use convoke_core::{Event, EventKind};
use serde_json::{Value, json};

use super::question::{AnswerView, question_json};
use super::{SpentView, UsageView, seconds, time};

/// An event with its own fields, but times, durations and money in the shapes that every other document has.
///
/// # Errors
/// If an event of a program of its own cannot be written as JSON.
pub fn event_json(event: &Event) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(event)?;
    let mut set = |key: &str, new: Value| value[key] = new;
    set("at", time(event.at).into());
    match &event.kind {
        EventKind::MessageEnded { usage, .. } | EventKind::ModelCallEnded { usage: Some(usage), .. } => {
            set("usage", json!(UsageView::from(usage)));
        }
        EventKind::QuestionAsked { question, .. } => set("question", question_json(question)),
        EventKind::QuestionAnswered { answer, .. } => set("answer", json!(AnswerView::from(answer))),
        EventKind::RetryScheduled { delay, .. } => rename(&mut value, "delay", *delay),
        EventKind::RunEnded(end) => {
            set("spent", json!(SpentView::from(&end.totals)));
            remove(&mut value, "totals");
        }
        _ => {}
    }
    Ok(value)
}

fn rename(value: &mut Value, key: &str, duration: Duration) {
    remove(value, key);
    value[format!("{key}_seconds")] = seconds(duration).into();
}

fn remove(value: &mut Value, key: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::store::Totals;
    use convoke_core::{Money, Path, Question, RunEnd, RunStatus, Timestamp, Usage};

    use super::*;

    fn shown(kind: EventKind) -> Value {
        let at = Timestamp::from_micros(1_767_603_600_000_000);
        let (run, path) = ("plan-1".parse().unwrap(), Path::from("plan"));
        event_json(&Event { run, seq: 1, path, at, replayed: false, position: None, kind }).unwrap()
    }

    #[test]
    fn events_have_times_durations_and_money_in_the_shapes_of_every_other_document() {
        let usage = Usage { cost: Some(Money::from_micros(3_735)), ..Usage::tokens(120, 30) };
        let said =
            shown(EventKind::MessageEnded { id: "m".to_owned(), finish: None, usage, text: String::new() });
        assert_eq!(said["at"], "2026-01-05T09:00:00.000Z");
        assert_eq!((&said["usage"]["cost_usd"], &said["usage"]["cost"]), (&json!(0.003_735), &Value::Null));
        let totals = Totals { model_calls: 1, usage, ..Totals::default() };
        let end = RunEnd { status: RunStatus::Completed, error: None, refused: None, state: None, totals };
        let ended = shown(EventKind::RunEnded(end));
        assert_eq!((&ended["spent"]["cost_usd"], ended.get("totals")), (&json!(0.003_735), None));
        let again = shown(EventKind::RetryScheduled { attempt: 1, delay: Duration::from_millis(1_500) });
        assert_eq!((&again["delay_seconds"], again.get("delay")), (&json!(1.5), None));
        let question = Question::confirm("Go?").expires_after(Duration::from_secs(60));
        let id = convoke_core::IdempotencyKey::derive(&"plan-1".parse().unwrap(), &Path::from("plan"), 0);
        let asked = shown(EventKind::QuestionAsked { id, question });
        assert_eq!(asked["question"]["expiry"]["after_seconds"], 60.0);
        assert_eq!(asked["question"]["expiry"].get("after"), None);
    }
}
