//! Reads the standard `OTEL_…` environment variables.

use std::time::Duration;

use crate::{TelemetryConfig, TraceParent};

/// A variable that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid environment variable {name}: {problem}")]
pub struct InvalidVariable {
    /// The variable.
    pub name: &'static str,
    /// What is wrong, without the value: it may be secret.
    pub problem: String,
}

impl TelemetryConfig {
    /// This configuration with whatever the standard variables say instead. `variable` looks one up.
    ///
    /// ```
    /// use convoke_telemetry::TelemetryConfig;
    ///
    /// let config = TelemetryConfig::default().with_variables(|name| match name {
    ///     "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("http://collector:4318".to_owned()),
    ///     "OTEL_EXPORTER_OTLP_HEADERS" => Some("authorization=Bearer%20secret".to_owned()),
    ///     _ => None,
    /// })?;
    /// assert_eq!(config.endpoint.as_deref(), Some("http://collector:4318"));
    /// assert!(!format!("{config:?}").contains("secret"));
    /// # Ok::<(), convoke_telemetry::InvalidVariable>(())
    /// ```
    ///
    /// # Errors
    /// If one of them cannot be understood.
    pub fn with_variables(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, InvalidVariable> {
        let given =
            |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|v| !v.is_empty());
        let number = |name: &'static str| parsed::<u64>(name, given(name), "a whole number");
        if let Some(disabled) = given("OTEL_SDK_DISABLED") {
            self.enabled = !disabled.eq_ignore_ascii_case("true");
        }
        self.endpoint = given("OTEL_EXPORTER_OTLP_ENDPOINT").or(self.endpoint);
        self.traces_endpoint = given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or(self.traces_endpoint);
        self.metrics_endpoint = given("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").or(self.metrics_endpoint);
        if let Some(headers) = given("OTEL_EXPORTER_OTLP_HEADERS") {
            for (name, value) in pairs("OTEL_EXPORTER_OTLP_HEADERS", &headers)? {
                self.headers.insert(name, value);
            }
        }
        if let Some(attributes) = given("OTEL_RESOURCE_ATTRIBUTES") {
            self.resource_attributes.extend(pairs("OTEL_RESOURCE_ATTRIBUTES", &attributes)?);
        }
        if let Some(name) = self.resource_attributes.remove("service.name") {
            self.service_name = name;
        }
        self.service_name = given("OTEL_SERVICE_NAME").unwrap_or(self.service_name);
        const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
        if let Some(protocol) = given(PROTOCOL).filter(|protocol| protocol != "http/protobuf") {
            let problem = format!("`{protocol}` is not spoken here; leave it out, or say `http/protobuf`");
            return Err(InvalidVariable { name: PROTOCOL, problem });
        }
        const COMPRESSION: &str = "OTEL_EXPORTER_OTLP_COMPRESSION";
        self.gzip = match given(COMPRESSION).as_deref() {
            None => self.gzip,
            Some("none") => false,
            Some("gzip") => true,
            Some(other) => {
                let problem = format!("there is no compression `{other}`; there are gzip and none");
                return Err(InvalidVariable { name: COMPRESSION, problem });
            }
        };
        self.traces = exporter("OTEL_TRACES_EXPORTER", given("OTEL_TRACES_EXPORTER"))?.unwrap_or(self.traces);
        self.metrics =
            exporter("OTEL_METRICS_EXPORTER", given("OTEL_METRICS_EXPORTER"))?.unwrap_or(self.metrics);
        if let Some(sampler) = given("OTEL_TRACES_SAMPLER") {
            let share = || parsed::<f64>("OTEL_TRACES_SAMPLER_ARG", given("OTEL_TRACES_SAMPLER_ARG"), SHARE);
            (self.sample_ratio, self.follow_parent) = sampling(&sampler, share)?;
        }
        let millis = |value: Option<u64>, or: Duration| value.map_or(or, Duration::from_millis);
        self.timeout = millis(number("OTEL_EXPORTER_OTLP_TIMEOUT")?, self.timeout);
        self.batch_delay = millis(number("OTEL_BSP_SCHEDULE_DELAY")?, self.batch_delay);
        self.metrics_interval = millis(number("OTEL_METRIC_EXPORT_INTERVAL")?, self.metrics_interval);
        let size = |value: Option<u64>, or: usize| {
            value.map_or(or, |value| usize::try_from(value).unwrap_or(usize::MAX).clamp(1, 1 << 20))
        };
        self.queue_size = size(number("OTEL_BSP_MAX_QUEUE_SIZE")?, self.queue_size);
        self.batch_size = size(number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE")?, self.batch_size);
        if let Some(capture) = given("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") {
            let asked = ["true", "1", "span_only", "span_and_event"];
            self.record_content = asked.iter().any(|yes| capture.eq_ignore_ascii_case(yes));
        }
        if let Some(parent) = given("TRACEPARENT") {
            let invalid = |error| InvalidVariable { name: "TRACEPARENT", problem: format!("{error}") };
            let parent: TraceParent = parent.parse().map_err(invalid)?;
            self.parent = Some(parent.with_state(given("TRACESTATE").unwrap_or_default()));
        }
        Ok(self)
    }
}

const SHARE: &str = "a number from 0 to 1";

fn parsed<T: std::str::FromStr>(
    name: &'static str,
    value: Option<String>,
    wanted: &str,
) -> Result<Option<T>, InvalidVariable> {
    let Some(value) = value else { return Ok(None) };
    value
        .parse()
        .map(Some)
        .map_err(|_| InvalidVariable { name, problem: format!("`{value}` is not {wanted}") })
}

/// Which share of traces is sent, and whether the caller's decision takes precedence.
fn sampling(
    sampler: &str,
    share: impl Fn() -> Result<Option<f64>, InvalidVariable>,
) -> Result<(f64, bool), InvalidVariable> {
    let (plain, follow_parent) = match sampler.strip_prefix("parentbased_") {
        Some(plain) => (plain, true),
        None => (sampler, false),
    };
    let ratio = match plain {
        "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => share()?.unwrap_or(1.0),
        _ => {
            let problem = format!(
                "there is no sampler `{sampler}`; there are always_on, always_off and traceidratio, each also with \
                 `parentbased_` before it"
            );
            return Err(InvalidVariable { name: "OTEL_TRACES_SAMPLER", problem });
        }
    };
    if !(0.0..=1.0).contains(&ratio) {
        let problem = format!("`{ratio}` is not {SHARE}");
        return Err(InvalidVariable { name: "OTEL_TRACES_SAMPLER_ARG", problem });
    }
    Ok((ratio, follow_parent))
}

fn exporter(name: &'static str, value: Option<String>) -> Result<Option<bool>, InvalidVariable> {
    match value.as_deref() {
        None => Ok(None),
        Some("otlp") => Ok(Some(true)),
        Some("none") => Ok(Some(false)),
        Some(other) => {
            let problem = format!("there is no exporter `{other}`; there are otlp and none");
            Err(InvalidVariable { name, problem })
        }
    }
}

/// `key=value,key=value`, the values percent-encoded.
fn pairs(name: &'static str, text: &str) -> Result<Vec<(String, String)>, InvalidVariable> {
    let whole = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    whole
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok((key.trim().to_owned(), decoded(value.trim())))
            }
            _ => Err(InvalidVariable { name, problem: "it must be like `name=value,name=value`".to_owned() }),
        })
        .collect()
}

/// Percent-encoded text as what it stands for; what is not encoded properly is taken as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
