//! Workflows by name, started with JSON.

use crate::common::events::{end, must_be_well_formed, told};
use crate::common::{Trail, add, fails};
use convoke_core::{Error, Event, Outcome, Registry, RunOptions, RunStatus, Runner, Runtime, Workflow};
use convoke_steps::func;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Search {
    query: String,
    result: String,
}

fn search() -> Workflow<Search> {
    let shout = func("shout", |search: &mut Search| {
        search.result = search.query.to_uppercase();
        Ok::<_, Error>(())
    });
    Workflow::new(shout).named("search")
}

async fn stream(runner: &Runner, input: Option<Value>) -> (Vec<Event>, Result<Outcome<Value>, Error>) {
    let (events, outcome) =
        runner.stream(&Runtime::new(), input, None, RunOptions::default()).collect().await;
    must_be_well_formed(&events);
    (events, outcome)
}

#[tokio::test]
async fn gains_138_143_a_runner_reads_its_state_from_json_and_ends_with_the_final_one() {
    let (events, outcome) = stream(&Runner::new(&search()), Some(json!({"query": "hello world"}))).await;
    let expected = json!({"query": "hello world", "result": "HELLO WORLD"});
    assert_eq!(told(&events), ["run started", "shout started", "shout completed", "run completed"]);
    assert_eq!(end(&events).state, Some(expected.clone()));
    assert_eq!(outcome.unwrap().completed().unwrap(), expected);
}

#[tokio::test]
async fn gains_139_without_input_the_state_is_the_default() {
    for input in [None, Some(Value::Null)] {
        let outcome = stream(&Runner::new(&search()), input).await.1;
        assert_eq!(outcome.unwrap().completed().unwrap(), json!({"query": "", "result": ""}));
    }
}

#[tokio::test]
async fn gains_140_input_of_the_wrong_type_is_refused_with_one_event() {
    let (events, outcome) = stream(&Runner::new(&search()), Some(json!({"query": 5}))).await;
    assert_eq!(told(&events), ["run failed"]);
    assert!(end(&events).error.as_deref().unwrap().contains("unmarshalled"));
    assert!(matches!(outcome, Err(Error::Refused(_))));
}

#[tokio::test]
async fn gains_141_a_factory_makes_the_state_of_the_input() {
    let runner = Runner::with_factory(&search(), |input| {
        let query = input.as_ref().and_then(|input| input["q"].as_str()).ok_or("there is no `q`")?;
        Ok(Search { query: query.to_owned(), ..Search::default() })
    });
    let outcome = stream(&runner, Some(json!({"q": "hi"}))).await.1;
    assert_eq!(outcome.unwrap().state["result"], "HI");
    let (events, outcome) = stream(&runner, None).await;
    assert_eq!(told(&events), ["run failed"]);
    assert_eq!(outcome.unwrap_err().to_string(), "there is no `q`");
}

#[tokio::test]
async fn a_factory_that_panics_is_a_run_that_could_not_begin() {
    let runner = Runner::with_factory(&search(), |_| panic!("a bug"));
    let (events, outcome) = stream(&runner, None).await;
    assert_eq!(told(&events), ["run failed"]);
    assert!(matches!(outcome, Err(Error::Panicked { .. })));
}

#[tokio::test]
async fn gains_142_a_failed_run_has_one_end() {
    let (events, outcome) = stream(&Runner::new(&Workflow::new(fails("b"))), None).await;
    assert_eq!(told(&events), ["run started", "b started", "b failed", "run failed"]);
    assert_eq!(outcome.unwrap().status, RunStatus::Failed);
}

#[tokio::test]
async fn gains_144_a_registry_has_runners_by_name() {
    let registry = Registry::new();
    assert!(registry.is_empty());
    registry.register(Runner::new(&search()));
    registry.register(Runner::new(&Workflow::new(add("a")).named("other")));
    assert!(registry.has("search") && !registry.has("x"));
    let found = registry.get("search").unwrap();
    assert_eq!((found.name(), found.outline()), ("search", search().outline()));
    let input = Some(json!({"query": "hi"}));
    assert_eq!(stream(&found, input).await.1.unwrap().state["result"], "HI");
    assert!(registry.get("x").is_err());
    assert_eq!((registry.len(), registry.names()), (2, vec!["other".to_owned(), "search".to_owned()]));

    let replaced = Workflow::new(add("replaced")).named("search");
    registry.register(Runner::new(&replaced));
    assert_eq!(registry.len(), 2);
    assert_eq!(registry.get("search").unwrap().outline().name, "replaced");

    assert!(registry.unregister("search") && !registry.unregister("search"));
    assert_eq!((registry.len(), registry.names()), (1, vec!["other".to_owned()]));
    assert!(!registry.has("search") && registry.get("search").is_err());
}

#[tokio::test]
async fn gains_145_an_unknown_name_is_one_event() {
    let registry = Registry::new();
    registry.register(Runner::new(&Workflow::new(add("a")).named("known")));
    let stream = registry.stream(&Runtime::new(), "x", None, None, RunOptions::default());
    let (events, outcome) = stream.collect().await;
    must_be_well_formed(&events);
    assert_eq!(told(&events), ["run failed"]);
    assert_eq!(end(&events).error.as_deref(), Some("workflow not found: x (known: known)"));
    assert!(outcome.is_err());
}

#[tokio::test]
async fn a_known_name_is_run() {
    let registry = Registry::new();
    registry.register(Runner::new(&search()));
    let input = Some(json!({"query": "hi"}));
    let (_, outcome) =
        registry.stream(&Runtime::new(), "search", input, None, RunOptions::default()).collect().await;
    assert_eq!(outcome.unwrap().state["result"], "HI");
    let runner = registry.get("search").unwrap();
    let outcome = runner.run(&Runtime::new(), None, None, RunOptions::default()).await.unwrap();
    assert_eq!(outcome.state, serde_json::to_value(Search::default()).unwrap());
    let trail = Runner::new(&Workflow::<Trail>::new(add("a")));
    assert_eq!(trail.name(), "a");
}
