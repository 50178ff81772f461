//! Tests of metrics.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::work::{fan_out, model, notes};
use common::{Collector, shown};
use convoke_core::{Error, ModelError, ModelErrorKind, Runtime, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{Retry, RetryPolicy, func, prompt};
use convoke_telemetry::Telemetry;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;

fn has(attributes: &[KeyValue], wanted: &[(&str, &str)]) -> bool {
    wanted.iter().all(|(key, value)| {
        attributes.iter().any(|attribute| attribute.key == *key && shown(attribute) == *value)
    })
}

/// The sum of all points of a counter with these attributes.
fn total(metric: &Metric, wanted: &[(&str, &str)]) -> f64 {
    let Some(Data::Sum(sum)) = &metric.data else { panic!("{} is no counter", metric.name) };
    assert!(sum.is_monotonic);
    let points = sum.data_points.iter().filter(|point| has(&point.attributes, wanted));
    points
        .map(|point| match point.value {
            Some(Value::AsInt(value)) => value as f64,
            Some(Value::AsDouble(value)) => value,
            None => 0.0,
        })
        .sum()
}

/// How often something was measured, and what it comes to.
fn measured(metric: &Metric, wanted: &[(&str, &str)]) -> (u64, f64, Vec<f64>) {
    let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{} is no histogram", metric.name) };
    let points: Vec<_> =
        histogram.data_points.iter().filter(|point| has(&point.attributes, wanted)).collect();
    let bounds = points.first().map(|point| point.explicit_bounds.clone()).unwrap_or_default();
    (points.iter().map(|point| point.count).sum(), points.iter().filter_map(|point| point.sum).sum(), bounds)
}

#[tokio::test]
async fn runs_calls_tokens_and_cost_are_counted() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let _ = runtime.start(&fan_out(), notes()).await.unwrap();
    let broken = Workflow::new(func("broken", |_: &mut u8| Err::<(), _>(Error::failed("no"))));
    let _ = runtime.start(&broken, 0).await.unwrap();
    telemetry.shutdown_async().await;
    let metrics = collector.metrics();

    assert_eq!(total(&metrics["convoke.runs"], &[("convoke.run.status", "completed")]), 1.0);
    let failed = [("convoke.run.status", "failed"), ("gen_ai.workflow.name", "broken")];
    assert_eq!(total(&metrics["convoke.runs"], &failed), 1.0);
    assert_eq!(measured(&metrics["convoke.run.duration"], &[]).0, 2);
    let by_model = [("gen_ai.provider.name", "anthropic"), ("gen_ai.request.model", "claude-test")];
    let (calls, _, bounds) = measured(&metrics["gen_ai.client.operation.duration"], &by_model);
    assert_eq!((calls, bounds.len(), bounds[0]), (7, 14, 0.01));
    let tokens = |kind| measured(&metrics["gen_ai.client.token.usage"], &[("gen_ai.token.type", kind)]);
    let (calls, read, bounds) = tokens("input");
    assert_eq!((calls, bounds[13]), (7, 67_108_864.0));
    let root_says = collector.spans();
    let root = root_says.named("invoke_workflow research");
    assert_eq!(common::attribute(root, "gen_ai.usage.input_tokens"), Some(read.to_string()));
    let cost = total(&metrics["convoke.cost"], &by_model);
    let said: f64 = common::attribute(root, "convoke.cost.usd").unwrap().parse().unwrap();
    assert!((cost - said).abs() < 1e-9 && cost > 0.0, "{cost} {said}");
    assert_eq!(total(&metrics["convoke.tool.calls"], &[("gen_ai.tool.name", "search")]), 4.0);
    assert_eq!(measured(&metrics["gen_ai.execute_tool.duration"], &[]).0, 5);
    assert_eq!(measured(&metrics["gen_ai.invoke_agent.duration"], &[("gen_ai.agent.name", "inner")]).0, 1);
    assert_eq!(total(&metrics["convoke.telemetry.dropped"], &[]), 0.0);
}

#[tokio::test(start_paused = true)]
async fn retries_and_failed_calls_are_counted() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let busy = Reply::error(ModelError::new(ModelErrorKind::Overloaded, "busy"));
    let model =
        ScriptedModel::builder().name("scripted").when(Match::call(1), busy).otherwise("fine").build();
    let step = prompt("ask", |_: &String| "hello".to_owned()).text(|state| state);
    let step = Retry::new(step, RetryPolicy::attempts(3).unwrap());
    let runtime = telemetry.watch(Runtime::builder()).model(model).build();
    runtime.start(&Workflow::new(step), String::new()).await.unwrap().completed().unwrap();
    telemetry.shutdown_async().await;
    let metrics = collector.metrics();
    assert_eq!(total(&metrics["convoke.retries"], &[("convoke.retried", "step")]), 1.0);
    let failed = measured(&metrics["gen_ai.client.operation.duration"], &[("error.type", "overloaded")]);
    assert_eq!(failed.0, 1);
}
