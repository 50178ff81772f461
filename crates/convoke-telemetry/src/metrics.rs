//! The metrics: counters and histograms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convoke_core::{RunEnd, Usage};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};

use crate::convention;
use crate::export::Counts;

/// What the conventions want durations of operations sorted into, in seconds.
const OPERATION_SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// What the conventions want numbers of tokens sorted into.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// Whole runs take from milliseconds to days.
const RUN_SECONDS: [f64; 14] =
    [0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0];

/// The instruments.
pub(crate) struct Metrics {
    provider: SdkMeterProvider,
    operation: Histogram<f64>,
    tokens: Histogram<u64>,
    tool: Histogram<f64>,
    agent: Histogram<f64>,
    runs: Counter<u64>,
    run_duration: Histogram<f64>,
    cost: Counter<f64>,
    retries: Counter<u64>,
    tool_calls: Counter<u64>,
}

/// A call of a model, as metrics tell it from others.
pub(crate) struct MeasuredCall<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) response_model: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
    pub(crate) took: Duration,
    pub(crate) usage: Option<Usage>,
}

impl Metrics {
    pub(crate) fn new(
        resource: Resource,
        interval: Duration,
        exporter: impl PushMetricExporter,
        counts: Arc<Counts>,
    ) -> Self {
        let reader = PeriodicReader::builder(exporter).with_interval(interval).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = provider.meter("convoke");
        // Registered with the provider; the handle itself is of no further use.
        let _ = meter
            .u64_observable_counter("convoke.telemetry.dropped")
            .with_unit("{span}")
            .with_description("Spans that could not be delivered")
            .with_callback(move |observer| observer.observe(counts.so_far().dropped, &[]))
            .build();
        let seconds = |name: &'static str, what: &'static str, buckets: &[f64]| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(buckets.to_vec()).build()
        };
        let count = |name: &'static str, unit: &'static str, what: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(what).build()
        };
        Self {
            operation: seconds("gen_ai.client.operation.duration", "Calls of models", &OPERATION_SECONDS),
            tool: seconds("gen_ai.execute_tool.duration", "Calls of tools", &OPERATION_SECONDS),
            agent: seconds("gen_ai.invoke_agent.duration", "Agents at work", &OPERATION_SECONDS),
            run_duration: seconds("convoke.run.duration", "Runs, from start or resume to end", &RUN_SECONDS),
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Tokens a call of a model read and wrote")
                .with_boundaries(TOKENS.to_vec())
                .build(),
            cost: meter
                .f64_counter("convoke.cost")
                .with_unit("USD")
                .with_description("What calls of models cost, as far as prices are known")
                .build(),
            runs: count("convoke.runs", "{run}", "Runs, by how they ended"),
            retries: count("convoke.retries", "{retry}", "What was tried again"),
            tool_calls: count("convoke.tool.calls", "{call}", "Calls of tools"),
            provider,
        }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.provider.meter("convoke")
    }

    /// Exports what there is, and stops. Waits until then at most: the provider does not let itself be given a time.
    pub(crate) fn shutdown(&self, until: Instant) {
        let provider = self.provider.clone();
        let (done, waiting) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("convoke-metrics-end".to_owned()).spawn(move || {
            // Whatever went wrong has been said by the exporter.
            let _ = provider.shutdown();
            // Whoever waited may have gone.
            let _ = done.send(());
        });
        if thread.is_ok() {
            let _ = waiting.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
    }

    pub(crate) fn model_called(&self, call: &MeasuredCall<'_>) {
        let text = |key: &'static str, value: &str| KeyValue::new(key, value.to_owned());
        let mut attributes = vec![
            KeyValue::new(convention::OPERATION, "chat"),
            text(convention::PROVIDER, call.provider),
            text(convention::REQUEST_MODEL, call.model),
        ];
        attributes.extend(call.response_model.map(|model| text(convention::RESPONSE_MODEL, model)));
        if let Some(usage) = call.usage {
            for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                let mut attributes = attributes.clone();
                attributes.push(KeyValue::new(convention::TOKEN_TYPE, kind));
                self.tokens.record(tokens, &attributes);
            }
            if let Some(cost) = usage.cost {
                self.cost.add(dollars(cost), &attributes[1..3]);
            }
        }
        attributes.extend(call.error.map(|error| text(convention::ERROR_TYPE, error)));
        self.operation.record(call.took.as_secs_f64(), &attributes);
    }

    pub(crate) fn tool_called(&self, tool: &str, error: Option<&'static str>, took: Duration) {
        let mut attributes = vec![
            KeyValue::new(convention::OPERATION, "execute_tool"),
            KeyValue::new(convention::TOOL, tool.to_owned()),
        ];
        attributes.extend(error.map(|error| KeyValue::new(convention::ERROR_TYPE, error)));
        self.tool.record(took.as_secs_f64(), &attributes);
        self.tool_calls.add(1, &attributes[1..]);
    }

    pub(crate) fn agent_invoked(&self, agent: &str, error: Option<&str>, took: Duration) {
        let mut attributes = vec![
            KeyValue::new(convention::OPERATION, "invoke_agent"),
            KeyValue::new(convention::AGENT, agent.to_owned()),
        ];
        attributes.extend(error.map(|error| KeyValue::new(convention::ERROR_TYPE, error.to_owned())));
        self.agent.record(took.as_secs_f64(), &attributes);
    }

    pub(crate) fn retried(&self, what: &'static str) {
        self.retries.add(1, &[KeyValue::new(convention::RETRIED, what)]);
    }

    pub(crate) fn run_ended(&self, workflow: Option<&str>, end: &RunEnd, took: Option<Duration>) {
        let mut attributes = vec![KeyValue::new(convention::RUN_STATUS, end.status.name())];
        attributes.extend(workflow.map(|name| KeyValue::new(convention::WORKFLOW, name.to_owned())));
        self.runs.add(1, &attributes);
        if let Some(took) = took {
            self.run_duration.record(took.as_secs_f64(), &attributes);
        }
    }
}

/// Money as a number, for those who calculate with it.
pub(crate) fn dollars(cost: convoke_core::Money) -> f64 {
    cost.as_micros() as f64 / 1_000_000.0
}
