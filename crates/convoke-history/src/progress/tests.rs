//! Trees folded from hand-made events.

use convoke_core::{Answer, Event, EventKind, IdempotencyKey, Path, Question, StepEnd, Timestamp};
use serde_json::json;

use super::*;

fn letter(goals: &[&str]) -> RunProgress {
    let goal = |name: &&str| PlannedNode { kind: NodeKind::Goal, ..PlannedNode::workflow(name) };
    RunProgress::new(&PlannedNode {
        children: goals.iter().map(goal).collect(),
        ..PlannedNode::workflow("letter")
    })
}

fn apply(progress: &mut RunProgress, path: &str, kind: EventKind) {
    let (run, at) = ("letter-1".parse().unwrap(), Timestamp::from_micros(0));
    progress.apply(&Event { run, seq: 1, path: Path::from(path), at, replayed: false, position: None, kind });
}

fn start(progress: &mut RunProgress, path: &str, kind: &str) {
    apply(progress, path, EventKind::StepStarted { kind: kind.to_owned() });
}

#[test]
fn a_goal_that_is_skipped_is_settled_and_stays_skipped_when_its_step_ends() {
    let mut progress = letter(&["draft", "polish"]);
    start(&mut progress, "letter/draft", "goal");
    let value = json!({"goal": "draft", "reason": "nothing to do"});
    apply(&mut progress, "letter/draft", EventKind::Custom { name: "goal_skipped".to_owned(), value });
    apply(&mut progress, "letter/draft", EventKind::StepEnded(StepEnd::Completed));
    let draft = progress.node(&Path::from("letter/draft"));
    assert_eq!((draft.state, &*draft.note), (NodeState::Skipped, "nothing to do"));
    assert_eq!(progress.goals(), (1, 2));
}

#[test]
fn whoever_asks_a_person_waits_for_them_and_goes_on_after_the_answer() {
    let mut progress = letter(&["draft"]);
    start(&mut progress, "letter/draft", "goal");
    let id = IdempotencyKey::derive(&"letter-1".parse().unwrap(), &Path::from("letter/draft"), 0);
    let question = Question::confirm("Send\u{1b} it?");
    apply(&mut progress, "letter/draft", EventKind::QuestionAsked { id: id.clone(), question });
    let draft = progress.node(&Path::from("letter/draft"));
    assert_eq!((draft.state, &*draft.note), (NodeState::Person, "Send\\u{1b} it?"), "and nothing acts");
    let answer = Answer::approve();
    apply(&mut progress, "letter/draft", EventKind::QuestionAnswered { id, answer });
    assert_eq!(progress.node(&Path::from("letter/draft")).state, NodeState::Running);
}

#[test]
fn what_was_asked_is_not_said_of_something_that_is_done_without_the_answer() {
    let mut progress = letter(&["draft"]);
    start(&mut progress, "letter/draft", "goal");
    let id = IdempotencyKey::derive(&"letter-1".parse().unwrap(), &Path::from("letter/draft"), 0);
    let question = Question::text("What next?");
    apply(&mut progress, "letter/draft", EventKind::QuestionAsked { id, question });
    apply(&mut progress, "letter/draft", EventKind::StepEnded(StepEnd::Completed));
    let draft = progress.node(&Path::from("letter/draft"));
    assert_eq!((draft.state, &*draft.note), (NodeState::Done, ""));
}

#[test]
fn what_no_plan_has_is_added_where_it_begins_and_parts_belong_to_their_node() {
    let mut progress = letter(&["draft"]);
    start(&mut progress, "letter/draft", "goal");
    start(&mut progress, "letter/draft/critic", "agent");
    start(&mut progress, "letter/draft/commit", "commit");
    let nodes: Vec<_> = progress.nodes().iter().map(|node| (&*node.name, node.parent)).collect();
    assert_eq!(nodes, [("letter", None), ("draft", Some(0)), ("critic", Some(1))]);
    let (_, activity) = &progress.nodes()[1].activities[0];
    assert_eq!(activity.words(Timestamp::from_micros(0)), "committing to a plan");
}
