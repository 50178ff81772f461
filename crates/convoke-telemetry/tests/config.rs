//! Tests of the standard variables and of `traceparent`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use convoke_telemetry::{InvalidVariable, Telemetry, TelemetryConfig, TraceParent};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};

fn of(variables: &[(&str, &str)]) -> Result<TelemetryConfig, InvalidVariable> {
    TelemetryConfig::default().with_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_standard_variables_are_understood() {
    let config = of(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, other=c"),
        ("OTEL_SERVICE_NAME", "weaver"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=ignored"),
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ("OTEL_METRICS_EXPORTER", "none"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("TRACESTATE", "vendor=1"),
    ])
    .unwrap();
    assert_eq!(config.headers.names().collect::<Vec<_>>(), ["api-key", "other"]);
    assert_eq!(config.service_name, "weaver");
    assert_eq!(config.resource_attributes["deployment.environment"], "test");
    assert_eq!((config.sample_ratio, config.follow_parent), (0.25, false));
    assert_eq!(config.timeout, Duration::from_millis(2_500));
    assert!(!config.metrics && config.traces && config.record_content);
    assert_eq!(config.parent.unwrap().state(), "vendor=1");
}

#[test]
fn what_cannot_be_understood_is_said_without_showing_secrets() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_HEADERS", "hush-hush"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("TRACEPARENT", "00-x"),
    ] {
        let error = of(&[(name, value)]).unwrap_err();
        assert_eq!(error.name, name);
        assert!(!error.to_string().contains("hush-hush"), "{error}");
    }
    let share = of(&[("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "7")]);
    assert_eq!(share.unwrap_err().name, "OTEL_TRACES_SAMPLER_ARG");
}

#[test]
fn without_an_endpoint_or_disabled_nothing_is_started() {
    let disabled = of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "true")]);
    for config in [TelemetryConfig::default(), disabled.unwrap()] {
        let telemetry = Telemetry::start(&config).unwrap();
        assert!(!telemetry.is_on() && telemetry.observer().is_none() && telemetry.meter().is_none());
    }
}

#[test]
fn a_traceparent_must_be_whole_and_lower_case() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let good = |text: &str| text.parse::<TraceParent>();
    assert!(!good(&format!("00-{trace}-00f067aa0ba902b7-00")).unwrap().is_sampled());
    assert!(good(&format!("01-{trace}-00f067aa0ba902b7-01-more")).is_ok(), "a later version may say more");
    for bad in [
        String::new(),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("00-{trace}-00f067aa0ba902b7-01-more"),
        format!("ff-{trace}-00f067aa0ba902b7-01"),
        format!("00-{trace}-0000000000000000-01"),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
        format!("00-{trace}é-00f067aa0ba902b7-01"),
    ] {
        assert!(good(&bad).is_err(), "{bad}");
    }
}

#[test]
fn the_current_span_of_a_caller_with_opentelemetry_is_known() {
    assert_eq!(TraceParent::current(), None);
    let span = SpanContext::new(
        TraceId::from_bytes([1; 16]),
        SpanId::from_bytes([2; 8]),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    );
    let _guard = opentelemetry::Context::new().with_remote_span_context(span).attach();
    let parent = TraceParent::current().unwrap();
    assert_eq!(parent.to_string(), format!("00-{}-{}-01", "01".repeat(16), "02".repeat(8)));
}
