//! Usage and cost of model calls, answered or not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use convoke::core::store::{NewMail, Totals};
use convoke::core::{
    CallContext, FinishReason, ModelError, ModelErrorKind, ModelRequest, Price, Reality, ReplyDelta,
    ReplyStream, Usage, Visibility,
};
use convoke::history::History;
use convoke::models::resilience::{Attempts, Fallback, MemoryReplies, ResponseCache, Retrying};
use convoke::prelude::*;
use futures_util::{StreamExt, stream};

type Log = Vec<String>;
type Piece = Result<ReplyDelta, ModelError>;

/// Says the same each time.
#[derive(Clone)]
struct Fixed {
    pieces: Vec<Piece>,
    price: Option<Price>,
    /// Whether nothing more comes after the pieces, not even an end.
    hangs: bool,
}

impl Fixed {
    fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let price = Price::new(Money::from_dollars(1), Money::from_dollars(10));
        Self { pieces: pieces.into_iter().collect(), price: Some(price), hangs: false }
    }

    fn at(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }
}

impl Model for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }

    fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
        let pieces = stream::iter(self.pieces.clone());
        if self.hangs { Box::pin(pieces.chain(stream::pending())) } else { Box::pin(pieces) }
    }

    fn price(&self) -> Option<Price> {
        self.price
    }
}

fn text() -> Piece {
    Ok(ReplyDelta::Text("Hm.".into()))
}

fn used(input: u64, output: u64) -> Piece {
    Ok(ReplyDelta::Usage(Usage::tokens(input, output)))
}

fn finished() -> Piece {
    Ok(ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None })
}

fn broken(kind: ModelErrorKind) -> Piece {
    Err(ModelError::new(kind, "broken"))
}

async fn call(scope: &Scope, model: &Arc<dyn Model>) -> Result<Usage, Error> {
    scope.model(model, ModelRequest::new("go"), Visibility::Hidden).await.map(|reply| reply.usage)
}

/// Calls a model.
fn calling(name: &'static str, model: impl Model + 'static) -> impl Step<Log> {
    let model: Arc<dyn Model> = Arc::new(model);
    task_boxed(name, move |scope, log: &mut Log| {
        let model = Arc::clone(&model);
        Box::pin(async move {
            let usage = call(scope, &model).await?;
            log.push(format!("{:?}", usage.cost));
            Ok(())
        })
    })
}

async fn ask(scope: &Scope, _: &mut Log) -> Result<(), Error> {
    scope.ask(Question::approval("go on?")).await.map(drop)
}

/// What a run of one call used.
async fn totals_of(model: impl Model + 'static) -> Totals {
    let workflow = Workflow::new(calling("call", model));
    Runtime::new().start(&workflow, Log::new()).await.unwrap().totals
}

/// Runs until a question, answers it, and runs to the end; what was used by then, each time, and by its history.
async fn totals_when_resumed(workflow: &Workflow<Log>, limits: Limits) -> [Totals; 2] {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let first = runtime.start(workflow, Log::new()).limits(limits.clone()).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended, "{:?}", first.error);
    agrees_with_history(&*store, &first).await;
    for pending in store.questions(None).await.unwrap() {
        store.answer(&pending.run, &pending.id, Answer::approve()).await.unwrap();
    }
    let second = runtime.resume(workflow, first.run.clone()).limits(limits).await.unwrap();
    assert_eq!(second.status, RunStatus::Completed, "{:?}", second.error);
    agrees_with_history(&*store, &second).await;
    [first.totals, second.totals]
}

async fn agrees_with_history(store: &dyn Store, outcome: &Outcome<Log>) {
    let spent = History::load(store, &outcome.run).await.unwrap().spent();
    let Totals { model_calls, unpriced_calls, usage, .. } = outcome.totals;
    assert_eq!((spent.model_calls, spent.unpriced_calls, spent.usage), (model_calls, unpriced_calls, usage));
}

#[tokio::test(start_paused = true)]
async fn what_attempts_used_counts_although_all_of_them_failed() {
    let failing = Fixed::new([used(100_000, 5_000), text(), broken(ModelErrorKind::Interrupted)]);
    let retrying = Retrying::new(Arc::new(failing), Attempts::at_most(4));
    let chain =
        Chain::new("main").then_or(calling("call", retrying), OnError::Continue).then(task("ask", ask));
    let [first, resumed] = totals_when_resumed(&Workflow::new(chain), Limits::default()).await;
    assert_eq!((first.usage.input_tokens, first.usage.output_tokens), (400_000, 20_000));
    assert_eq!(first.usage.cost, Some(Money::from_cents(60)));
    assert_eq!(
        (first.model_calls, first.unpriced_calls),
        (1, 1),
        "what came after it last said is not known"
    );
    assert_eq!(resumed, first);
}

#[tokio::test]
async fn what_a_failed_call_used_is_taken_from_the_budget_now_and_after_a_resume() {
    let failing = Fixed::new([used(9_000, 500), broken(ModelErrorKind::Overloaded)]);
    let patient = ScriptedModel::builder().otherwise("Short.").build();
    let chain = Chain::new("main")
        .then_or(calling("fail", failing), OnError::Continue)
        .then(calling("before", patient.clone()))
        .then(task("ask", ask))
        .then(calling("after", patient.clone()));
    let limits = Limits::default().tokens(10_000);
    let [first, resumed] = totals_when_resumed(&Workflow::new(chain), limits).await;
    assert_eq!(
        first.unpriced_calls, 1,
        "the failure had used what it said and no more; a script has no price"
    );
    assert_eq!(resumed.model_calls, 3);
    let room: Vec<_> = patient.requests().iter().map(|request| request.params.max_tokens.unwrap()).collect();
    assert!(room.len() == 2 && room.iter().all(|room| (400..500).contains(room)), "{room:?}");
    assert!(room[1] < room[0], "{room:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_call_had_used_when_its_time_was_up_counts() {
    let hanging = Fixed { hangs: true, ..Fixed::new([used(1_000_000, 0), text()]) };
    let hurried = calling("call", hanging).timeout(Duration::from_secs(5));
    let chain = Chain::new("main").then_or(hurried, OnError::Continue).then(task("ask", ask));
    let [first, resumed] = totals_when_resumed(&Workflow::new(chain), Limits::default()).await;
    assert_eq!((first.model_calls, first.unpriced_calls), (1, 1));
    assert_eq!((first.usage.input_tokens, first.usage.cost), (1_000_000, Some(Money::from_dollars(1))));
    assert_eq!(resumed, first);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_interrupted_counts_in_the_record_and_in_the_history_now_and_after_a_resume() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let quick = || Fixed::new([text(), used(900_000, 10_000), finished()]);
    let chain = |second: Fixed| {
        Workflow::new(Chain::new("main").then(calling("one", quick())).then(calling("two", second)))
    };
    let hanging = Fixed { hangs: true, ..Fixed::new([used(2_000_000, 0), text()]) };
    let canceller = Canceller::new();
    let started = runtime.start(&chain(hanging), Log::new()).canceller(&canceller).into_future();
    let (stopped, ()) = tokio::join!(started, async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        canceller.cancel("enough");
    });
    let stopped = stopped.unwrap();
    assert_eq!(stopped.status, RunStatus::Cancelled);
    assert_eq!((stopped.totals.model_calls, stopped.totals.usage.cost), (2, Some(Money::from_dollars(3))));
    agrees_with_history(&*store, &stopped).await;
    assert_eq!(store.run(&stopped.run).await.unwrap().unwrap().totals, stopped.totals);
    let done = runtime.resume(&chain(quick()), stopped.run).await.unwrap();
    assert_eq!(done.status, RunStatus::Completed, "{:?}", done.error);
    assert_eq!((done.totals.model_calls, done.totals.usage.cost), (3, Some(Money::from_dollars(4))));
    agrees_with_history(&*store, &done).await;
}

#[tokio::test]
async fn what_a_run_had_used_stays_on_record_when_it_is_cancelled_before_it_was_told_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let quick = Fixed::new([text(), used(1_000_000, 0), finished()]);
    let workflow = Workflow::new(Chain::new("main").then(calling("one", quick)).then(task("ask", ask)));
    let waiting = runtime.start(&workflow, Log::new()).await.unwrap();
    store.post(&waiting.run, NewMail::cancel("by ann").unwrap()).await.unwrap();
    let ended = runtime.resume(&workflow, waiting.run.clone()).await.unwrap();
    assert_eq!(ended.status, RunStatus::Cancelled, "{:?}", ended.error);
    assert_eq!(ended.totals, waiting.totals);
    assert_eq!(store.run(&ended.run).await.unwrap().unwrap().totals, waiting.totals);
    agrees_with_history(&*store, &ended).await;
}

#[tokio::test(start_paused = true)]
async fn what_failed_calls_of_a_branch_that_lost_used_counts_after_a_resume() {
    fn nap(name: &'static str, seconds: u64) -> impl Step<Log> {
        task_boxed(name, move |scope, _: &mut Log| Box::pin(scope.sleep(Duration::from_secs(seconds))))
    }
    let failing = Fixed::new([used(2_000_000, 0), broken(ModelErrorKind::Interrupted)]);
    let loser = Chain::new("loser").then_or(calling("call", failing), OnError::Continue).then(nap("nap", 60));
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .project(nap("winner", 1), |_| Log::new(), |log: &mut Log, said| log.extend(said))
        .project(loser, |_| Log::new(), |log: &mut Log, said| log.extend(said))
        .build()
        .unwrap();
    let chain = Chain::new("main").then(race).then(task("ask", ask));
    let [first, resumed] = totals_when_resumed(&Workflow::new(chain), Limits::default()).await;
    assert_eq!((first.model_calls, first.usage.cost), (1, Some(Money::from_dollars(2))));
    assert_eq!(resumed, first);
}

#[tokio::test]
async fn a_model_that_does_not_say_what_it_used_has_no_known_cost_unless_it_is_free() {
    let silent = Fixed::new([text(), finished()]);
    let totals = totals_of(silent.clone()).await;
    assert_eq!((totals.unpriced_calls, totals.usage.cost), (1, None));
    let free = totals_of(silent.clone().at(Some(Price::FREE))).await;
    assert_eq!((free.unpriced_calls, free.usage.cost), (0, Some(Money::ZERO)));

    let cache = ResponseCache::new(Arc::new(silent), Arc::new(MemoryReplies::default())).at_any_temperature();
    let cache: Arc<dyn Model> = Arc::new(cache);
    let twice = task_boxed("twice", move |scope, log: &mut Log| {
        let cache = Arc::clone(&cache);
        Box::pin(async move {
            for _ in 0..2 {
                let is_hit = ResponseCache::is_hit(&call(scope, &cache).await?);
                log.push(is_hit.to_string());
            }
            Ok(())
        })
    });
    let outcome = Runtime::new().start(&Workflow::new(twice), Log::new()).await.unwrap();
    assert_eq!((outcome.totals.unpriced_calls, outcome.totals.usage.cost), (1, Some(Money::ZERO)));
    assert_eq!(outcome.completed().unwrap(), ["false", "true"]);
}

#[tokio::test]
async fn a_fallback_of_unknown_price_is_not_charged_at_anothers() {
    let failing = || Arc::new(Fixed::new([broken(ModelErrorKind::Authentication)]));
    let answering = |price| Arc::new(Fixed::new([text(), used(1_000_000, 0), finished()]).at(price));
    let unknown = totals_of(Fallback::new(failing()).or(answering(None))).await;
    assert_eq!((unknown.unpriced_calls, unknown.usage.cost), (1, None));
    // Nor by whoever wraps it.
    let inner = Arc::new(Fallback::new(failing()).or(answering(None)));
    let unknown = totals_of(Retrying::new(inner, Attempts::default())).await;
    assert_eq!((unknown.unpriced_calls, unknown.usage.cost), (1, None));
    let dear = Price::new(Money::from_dollars(7), Money::from_dollars(7));
    let known = totals_of(Fallback::new(failing()).or(answering(Some(dear)))).await;
    assert_eq!((known.unpriced_calls, known.usage.cost), (0, Some(Money::from_dollars(7))));
}

#[tokio::test]
async fn a_budget_cuts_an_answer_short_only_if_there_is_no_room_for_it() {
    let asked = |limits: Limits, max_tokens: Option<u32>| async move {
        let price = Price::new(Money::ZERO, Money::from_dollars(1));
        let model = ScriptedModel::builder().price(price).otherwise("Fine.").build();
        let params =
            max_tokens.map_or_else(ModelParams::default, |most| ModelParams::default().max_tokens(most));
        let step = prompt("say", |_: &String| "Say it.").params(params).text(|said: &mut String| said);
        let runtime = Runtime::builder().model(model.clone()).build();
        let workflow = Workflow::new(step);
        runtime.start(&workflow, String::new()).limits(limits).await.unwrap().completed().unwrap();
        model.last_request().unwrap().params.max_tokens
    };
    let tokens = |most| Limits::default().tokens(most);
    assert_eq!(asked(tokens(100_000), None).await, None, "as long as it likes");
    assert_eq!(asked(tokens(100_000), Some(50_000)).await, Some(50_000));
    assert_eq!(asked(Limits::default().cost(Money::from_dollars(1)), None).await, None);
    assert!(asked(tokens(1_000), None).await.is_some_and(|most| (900..1_000).contains(&most)));
    assert!(asked(tokens(1_000), Some(2_000)).await.is_some_and(|most| (900..1_000).contains(&most)));
    assert_eq!(asked(Limits::default().cost(Money::from_micros(300)), None).await, Some(300));
}

#[tokio::test]
async fn counts_beyond_all_measure_use_a_budget_up_and_break_nothing() {
    let hostile = Fixed::new([text(), used(u64::MAX, u64::MAX), finished()]);
    let chain = Chain::new("main").then(calling("one", hostile.clone())).then(calling("two", hostile));
    let limits = Limits::default().tokens(100_000);
    let outcome = Runtime::new().start(&Workflow::new(chain), Log::new()).limits(limits).await.unwrap();
    assert_eq!(outcome.status, RunStatus::BudgetExhausted, "{:?}", outcome.error);
    assert_eq!((outcome.totals.model_calls, outcome.totals.usage.total_tokens()), (1, u64::MAX));
}
