//! Cases 141 and 165 to 167: what listeners hear.

use convoke_machine::conversation::{MachineState, Talk};
use convoke_machine::workflow::Status;
use convoke_models::ScriptedModel;
use serde_json::{Value, json};

use super::{Home, in_state, support, transition};

fn moving() -> ScriptedModel {
    ScriptedModel::builder()
        .when(in_state("closed"), "Goodbye.")
        .when(in_state("specialist"), transition("Resolve", "solved"))
        .when(in_state("intake"), transition("Escalate", "a refund"))
        .build()
}

async fn run(workflow: Value, model: ScriptedModel) -> (Home, MachineState) {
    let home = Home::new(workflow, model);
    let done = home.start(MachineState::saying("hi").talk(Talk::Once)).await.completed().unwrap();
    (home, done)
}

#[tokio::test]
async fn promptkit_165_167_events_come_in_order_and_the_end_after_the_last_state_has_spoken() {
    let (home, done) = run(support(), moving()).await;
    assert_eq!(done.status, Status::Completed);
    assert_eq!(
        home.heard.names(),
        [
            "state_entered",
            "spoke",
            "state_exited",
            "transitioned",
            "state_entered",
            "spoke",
            "state_exited",
            "transitioned",
            "state_entered",
            "spoke",
            "completed"
        ]
    );
    assert_eq!(
        home.heard.all("transitioned")[0],
        json!({"from_state": "intake", "to_state": "specialist", "event": "Escalate", "prompt_task": "specialist"})
    );
    assert_eq!(home.heard.all("completed"), [json!({"final_state": "closed", "transition_count": 2})]);
}

#[tokio::test]
async fn promptkit_165_a_redirect_is_told_before_the_transition() {
    let mut workflow = support();
    workflow["states"]["specialist"]["on_event"] = json!({"Again": "intake"});
    workflow["states"]["intake"]["max_visits"] = json!(1);
    workflow["states"]["intake"]["on_max_visits"] = json!("closed");
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Goodbye.")
        .when(in_state("specialist"), transition("Again", ""))
        .when(in_state("intake"), transition("Escalate", ""))
        .build();
    let (home, done) = run(workflow, model).await;
    assert_eq!(done.context.unwrap().current_state(), "closed");
    assert_eq!(
        home.heard.all("max_visits_exceeded"),
        [json!({"from_state": "specialist", "original_target": "intake", "event": "Again", "visit_count": 1,
            "max_visits": 1, "redirected_to": "closed", "terminated": false})]
    );
    let names = home.heard.names();
    let redirect = names.iter().position(|name| name == "max_visits_exceeded").unwrap();
    assert_eq!(names[redirect + 1], "transitioned");
}

#[tokio::test]
async fn promptkit_155_166_what_cannot_happen_ends_the_workflow_and_keeps_the_reply() {
    let mut workflow = support();
    workflow["states"]["specialist"]["on_event"] = json!({"Again": "intake"});
    workflow["states"]["intake"]["max_visits"] = json!(1);
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), transition("Again", "").and_text("Back to the start."))
        .when(in_state("intake"), transition("Escalate", ""))
        .build();
    let (home, done) = run(workflow, model).await;
    assert_eq!((done.status, done.last.as_deref()), (Status::MaxVisitsExceeded, Some("Back to the start.")));
    assert_eq!(done.cut_short["specialist"], "max visits exceeded: state \"intake\" visited 1 times (max 1)");
    let told = home.heard.all("max_visits_exceeded");
    assert_eq!((told.len(), &told[0]["terminated"]), (1, &json!(true)));
    assert_eq!(home.heard.all("concluded"), [json!({"status": "max_visits_exceeded"})]);

    let mut workflow = support();
    workflow["engine"] = json!({"budget": {"max_total_visits": 2}});
    let (home, done) = run(workflow, moving()).await;
    assert_eq!(done.status, Status::BudgetExhausted);
    let told = home.heard.all("budget_exhausted");
    assert_eq!(
        told,
        [
            json!({"limit": "max_total_visits", "current": 2, "max": 2, "current_state": "specialist", "transition_count": 1})
        ]
    );
    assert_eq!(done.context.unwrap().concluded(), Some(Status::BudgetExhausted));
}

#[tokio::test]
async fn promptkit_141_every_reply_says_which_state_gave_it() {
    let (home, _) = run(support(), moving()).await;
    let spoke: Vec<Value> = home.heard.all("spoke");
    assert_eq!(spoke.last().unwrap()["text"], "Goodbye.");
    let said_in: Vec<Value> = spoke
        .iter()
        .map(|spoke| json!({"current_workflow_state": spoke["current_workflow_state"]}))
        .collect();
    assert_eq!(
        said_in,
        [
            json!({"current_workflow_state": {"current_state": "intake", "description": "asks", "terminal": false}}),
            json!({"current_workflow_state": {"current_state": "specialist", "terminal": false}}),
            json!({"current_workflow_state": {"current_state": "closed", "terminal": true}}),
        ]
    );
}
