//! Tests of falling back to another model.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::asking::{Lingering, ask, pieces};
use convoke_core::{
    Category, FinishReason, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest, Money, Price,
    ReplyDelta, Usage,
};
use convoke_models::resilience::{Attempts, Fallback, PartialReply, Retrying};
use convoke_models::{Reply, ScriptedModel};
use tokio::time::advance;

async fn answer(model: &dyn Model) -> Result<ModelReply, ModelError> {
    ask(model, ModelRequest::new("go")).await
}

async fn all_pieces(model: &dyn Model) -> Vec<Result<ReplyDelta, ModelError>> {
    pieces(model, ModelRequest::new("go")).await
}

fn named(name: &str, replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    ScriptedModel::builder().name(name).replies(replies).build()
}

/// One that always answers like this.
fn always(name: &str, reply: impl Into<Reply>) -> ScriptedModel {
    ScriptedModel::builder().name(name).otherwise(reply.into()).build()
}

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "no")
}

fn fallback<const COUNT: usize>(models: [&ScriptedModel; COUNT]) -> Fallback {
    let mut models = models.into_iter().map(|model| -> Arc<dyn Model> { Arc::new(model.clone()) });
    let first = Fallback::new(models.next().unwrap());
    models.fold(first, Fallback::or)
}

#[tokio::test]
async fn the_first_answers_if_it_can() {
    let (first, second) = (named("first", ["one".into()]), named("second", []));
    let model = fallback([&first, &second]);
    let reply = answer(&model).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("one", "first"));
    assert_eq!((model.name(), second.calls()), ("first", 0));
}

#[tokio::test]
async fn the_next_is_asked_when_another_may_help() {
    for (kind, status, helps) in [
        (ModelErrorKind::Authentication, None, true),
        (ModelErrorKind::Quota, None, true),
        (ModelErrorKind::RateLimited, None, true),
        (ModelErrorKind::ContextTooLong, None, true),
        (ModelErrorKind::Overloaded, None, true),
        (ModelErrorKind::Network, None, true),
        (ModelErrorKind::TimedOut, None, true),
        (ModelErrorKind::Malformed, None, true),
        (ModelErrorKind::Interrupted, None, true),
        (ModelErrorKind::Empty, None, true),
        (ModelErrorKind::Missing, None, true),
        (ModelErrorKind::InvalidRequest, Some(400), false),
        (ModelErrorKind::InvalidRequest, None, false),
        (ModelErrorKind::InvalidRequest, Some(404), true),
        (ModelErrorKind::InvalidRequest, Some(413), true),
        (ModelErrorKind::Refused, None, false),
        (ModelErrorKind::Forbidden, None, false),
    ] {
        let error = ModelError { status, ..error(kind) };
        let (first, second) = (always("first", error.clone()), always("second", "two"));
        let outcome = answer(&fallback([&first, &second])).await;
        match outcome {
            Ok(reply) => {
                assert!(helps, "{error:?}");
                assert_eq!((reply.text().as_str(), reply.model.as_str()), ("two", "second"));
            }
            Err(given) => assert!(!helps && given == error && second.calls() == 0, "{given:?}"),
        }
    }
}

#[tokio::test]
async fn a_reply_that_breaks_in_the_middle_begins_anew_with_the_next_unless_it_must_not() {
    let first = || named("first", [Reply::text("half an answer").cut_after(2)]);
    let second = named("second", ["whole".into()]);
    let pieces_of = all_pieces(&fallback([&first(), &second])).await;
    assert_eq!(pieces_of[1], Ok(ReplyDelta::Text("an ".into())));
    let reason = "first failed: first: the stream ended before the reply did".to_owned();
    assert_eq!(pieces_of[2], Ok(ReplyDelta::Restarted { model: "second".into(), reason }));

    let second = named("second", ["whole".into()]);
    let kept = fallback([&first(), &second]).partial(PartialReply::Keep);
    let kept = all_pieces(&kept).await;
    assert_eq!(kept[2].as_ref().unwrap_err().kind, ModelErrorKind::Interrupted);
    assert_eq!((kept.len(), second.calls()), (3, 0));
}

#[tokio::test]
async fn a_refusal_leads_on_only_if_so_set() {
    let refuses = || [Reply::text("No.").finish(FinishReason::ContentFilter)];
    let reply = answer(&fallback([&named("first", refuses()), &always("second", "two")])).await.unwrap();
    assert_eq!((reply.finish, reply.text().as_str()), (FinishReason::ContentFilter, "No."));

    let even_then =
        |error: &ModelError| Fallback::another_may_help(error) || error.kind == ModelErrorKind::Refused;
    let model = fallback([&named("first", refuses()), &always("second", "two")]).when(even_then);
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    // The last one's refusal is what there is.
    let model = fallback([&named("first", refuses()), &named("second", refuses())]).when(even_then);
    assert_eq!(answer(&model).await.unwrap().finish, FinishReason::ContentFilter);
}

#[tokio::test]
async fn when_all_fail_the_error_names_each_and_may_pass_if_any_may() {
    let wrong_key = ModelError::of_status(401, "wrong key");
    let busy = ModelError::of_status(503, "second: busy").with_request_id("r2");
    let model = fallback([
        &always("first", wrong_key.clone()),
        &always("second", busy),
        &always("third", error(ModelErrorKind::Quota)),
    ]);
    let given = answer(&model).await.unwrap_err();
    assert_eq!(given.message, "none of 3 models answered: first: wrong key; second: busy; third: no");
    assert_eq!((given.kind, given.category()), (ModelErrorKind::Overloaded, Category::Transient));
    assert_eq!(given.request_id.as_deref(), Some("r2"));

    let model =
        fallback([&always("first", wrong_key.clone()), &always("second", error(ModelErrorKind::Quota))]);
    assert_eq!(answer(&model).await.unwrap_err().kind, ModelErrorKind::Authentication);
    assert_eq!(answer(&fallback([&always("only", wrong_key.clone())])).await, Err(wrong_key));
}

#[tokio::test(start_paused = true)]
async fn each_model_tries_again_by_itself_before_the_next_is_asked() {
    let first = always("first", ModelError::of_status(503, "busy"));
    let second = named("second", [ModelError::of_status(503, "busy").into(), "two".into()]);
    let retrying = |model: &ScriptedModel| -> Arc<dyn Model> {
        Arc::new(Retrying::new(Arc::new(model.clone()), Attempts::at_most(3)))
    };
    let reply = answer(&Fallback::new(retrying(&first)).or(retrying(&second))).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("two", "second"));
    assert_eq!((first.calls(), second.calls()), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn one_with_a_wrong_key_is_left_alone_for_a_time() {
    for kind in [ModelErrorKind::Authentication, ModelErrorKind::Quota] {
        let first = named("first", [error(kind).into(), "one".into(), "one again".into()]);
        let second = always("second", "two");
        let model = fallback([&first, &second]).rest(Duration::from_mins(1));
        for _ in 0..3 {
            let reply = answer(&model).await.unwrap();
            assert_eq!((reply.text().as_str(), reply.model.as_str()), ("two", "second"));
        }
        assert_eq!(first.calls(), 1, "the others did not pay for finding out");
        let said = all_pieces(&model).await;
        let reason = "first is left alone for a time: no".to_owned();
        assert_eq!(said[0], Ok(ReplyDelta::Restarted { model: "second".into(), reason }));
        advance(Duration::from_mins(1)).await;
        assert_eq!(answer(&model).await.unwrap().text(), "one");
        assert_eq!(answer(&model).await.unwrap().text(), "one again");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_asked_to_be_left_alone_is_and_others_are_not() {
    let later = ModelError::of_status(429, "later").with_retry_after(Duration::from_secs(20));
    let first = named("first", [later.into(), error(ModelErrorKind::Overloaded).into(), "one".into()]);
    let second = always("second", "two");
    let model = fallback([&first, &second]);
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    assert_eq!(first.calls(), 1);
    advance(Duration::from_secs(20)).await;
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    assert_eq!(answer(&model).await.unwrap().text(), "one", "overload is not remembered");
}

#[tokio::test(start_paused = true)]
async fn those_that_are_left_alone_are_asked_when_nobody_else_answers() {
    let first = named("first", [error(ModelErrorKind::Quota).into(), "one".into(), "one again".into()]);
    let second = named("second", ["two".into(), error(ModelErrorKind::Overloaded).into()]);
    let model = fallback([&first, &second]);
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    let reply = answer(&model).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("one", "first"));
    assert_eq!(answer(&model).await.unwrap().text(), "one again", "it has answered: its turn is back");
    assert_eq!(second.calls(), 2);
}

#[test]
fn it_is_as_real_as_any_of_its_models() {
    use convoke_core::Reality;
    let simulated = always("first", "one");
    assert_eq!(fallback([&simulated, &always("second", "two")]).reality(), Reality::Simulated);
    let real = Arc::new(crate::asking::Fixed(Vec::new()));
    assert_eq!(real.reality(), Reality::Live);
    assert_eq!(fallback([&simulated]).or(real).reality(), Reality::Live);
}

fn priced(name: &str, dollars: Option<u64>, replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    let builder = ScriptedModel::builder().name(name).replies(replies);
    match dollars.map(Money::from_dollars) {
        Some(price) => builder.price(Price::new(price, price)).build(),
        None => builder.build(),
    }
}

#[tokio::test]
async fn each_model_is_paid_by_its_own_price_and_budgets_reckon_with_the_dearest() {
    let empty = |tokens| Reply::empty().usage(Usage::tokens(tokens, 0));
    let said = |tokens| Reply::text("two").usage(Usage::tokens(tokens, 0));
    let cost = |first: Option<u64>, second: Option<u64>| async move {
        let first = priced("first", first, [empty(1_000_000)]);
        let second = priced("second", second, [said(2_000_000)]);
        let model = fallback([&first, &second]);
        let usage = answer(&model).await.unwrap().usage;
        assert_eq!(usage.input_tokens, 3_000_000);
        (usage.cost, model.highest_price().map(|price| price.input))
    };
    let dollars = |amount| Some(Money::from_dollars(amount));
    assert_eq!(cost(Some(3), Some(1)).await, (dollars(5), dollars(3)));
    assert_eq!(cost(Some(1), Some(3)).await, (dollars(7), dollars(3)));
    assert_eq!(cost(Some(3), Some(0)).await, (dollars(3), dollars(3)));
    assert_eq!(cost(Some(3), None).await, (None, dollars(3)), "unknown stays unknown");
    assert_eq!(cost(None, Some(3)).await, (None, dollars(3)), "a part is not the whole");
    assert_eq!(cost(None, None).await, (None, None));
}

#[tokio::test]
async fn it_has_a_price_only_if_all_its_models_have_the_same() {
    let price = |first, second| {
        let model = fallback([&priced("first", first, []), &priced("second", second, [])]);
        model.price().map(|price| price.input)
    };
    assert_eq!(price(Some(3), Some(3)), Some(Money::from_dollars(3)));
    assert_eq!((price(Some(3), Some(1)), price(Some(3), None), price(None, Some(3))), (None, None, None));
}

#[tokio::test(start_paused = true)]
async fn one_may_be_left_alone_for_ever() {
    let first = named("first", [error(ModelErrorKind::Authentication).into(), "one".into()]);
    let second = always("second", "two");
    let model = fallback([&first, &second]).rest(Duration::MAX);
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    advance(Duration::from_hours(24 * 365)).await;
    assert_eq!(answer(&model).await.unwrap().text(), "two");
    assert_eq!(first.calls(), 1);
}

#[tokio::test]
async fn the_stream_of_whoever_answered_is_heard_to_its_very_end() {
    let (lingering, ended) = Lingering::new();
    let model = Fallback::new(Arc::new(always("first", error(ModelErrorKind::Quota)))).or(lingering);
    assert_eq!(answer(&model).await.unwrap().text(), "Bye.");
    assert!(ended.load(Ordering::Relaxed));
}
