//! A real workflow, looked at, answered, forked and resumed.

use convoke_core::{BoxFuture, Decision, Error, Question, RunStatus, Runtime, Scope, Step, Workflow};

use crate::place::{Place, stdout, wait};

/// Fetches a price, asks whether it is right, and takes note of the answer.
struct Quote;

impl Step<String> for Quote {
    fn name(&self) -> &str {
        "quote"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut String) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let price: u32 =
                scope.custom("price").request(&"loom").perform(|_| async { Ok::<_, Error>(300) }).await?;
            let answer = scope.ask(Question::approval(format!("Offer it for {price}?"))).await?;
            *state = match answer.decision {
                Decision::Approve => format!("offered for {price}"),
                _ => format!("not offered for {price}"),
            };
            Ok(())
        })
    }
}

fn runtime(place: &Place) -> Runtime {
    Runtime::builder().shared_store(place.store()).build()
}

#[test]
fn a_suspended_run_goes_on_with_the_answer_given_on_the_command_line() {
    let place = Place::empty();
    let workflow = Workflow::new(Quote);
    let start = runtime(&place).start(&workflow, String::new()).id("quote-1".parse().unwrap());
    assert_eq!(wait(start.into_future()).unwrap().status, RunStatus::Suspended);

    let shown = stdout(&place.convoke(&["show", "quote-1"]));
    assert!(shown.contains("custom price(\"loom\") → 300"), "{shown}");
    let command = shown.lines().find(|line| line.contains("--approve")).unwrap();
    let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
    assert!(place.convoke(&arguments).status.success(), "the command that was shown works: {command}");

    let resumed = wait(runtime(&place).resume(&workflow, "quote-1".parse().unwrap()).into_future()).unwrap();
    assert_eq!(resumed.completed().unwrap(), "offered for 300");
    let shown = stdout(&place.convoke(&["show", "quote-1", "--state"]));
    assert!(shown.contains("→ approved (by ann)") && shown.ends_with("\"offered for 300\"\n"), "{shown}");
    let told = stdout(&place.convoke(&["replay", "quote-1"]));
    assert!(told.contains("taken up 2 times") && told.contains("approved (by ann)"), "{told}");
}

#[test]
fn a_fork_made_on_the_command_line_goes_another_way() {
    let place = Place::empty();
    let workflow = Workflow::new(Quote);
    let start = runtime(&place).start(&workflow, String::new()).id("quote-1".parse().unwrap());
    assert_eq!(wait(start.into_future()).unwrap().status, RunStatus::Suspended);

    let shown = stdout(&place.convoke(&["show", "quote-1"]));
    let number = shown.split("custom price").next().unwrap().rsplit('#').next().unwrap().trim();
    let forked = place.convoke(&["fork", "quote-1", "--at", number, "--outcome", "250", "--id", "quote-2"]);
    assert_eq!(stdout(&forked), "quote-2\n");
    let outcome = wait(runtime(&place).resume(&workflow, "quote-2".parse().unwrap()).into_future()).unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert!(place.convoke(&["answer", "quote-2", "--reject", "too cheap"]).status.success());
    let resumed = wait(runtime(&place).resume(&workflow, "quote-2".parse().unwrap()).into_future()).unwrap();
    assert_eq!(resumed.completed().unwrap(), "not offered for 250");
}
