//! A sink that counts events.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter as Instrument, Meter};

use super::{Notice, Sink};

/// Counts events by name, in `agentcore.NAME`, apart by `level` and by whether they are errors (`errored`).
pub struct Counter {
    meter: Option<Meter>,
    /// By the event's name, each made once.
    instruments: Mutex<HashMap<String, Instrument<u64>>>,
}

impl Counter {
    /// Counts with this meter ([`Telemetry::meter`](crate::Telemetry::meter) has one); without one, not at all.
    #[must_use]
    pub fn new(meter: Option<Meter>) -> Self {
        Self { meter, instruments: Mutex::default() }
    }
}

impl Sink for Counter {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        let Some(meter) = &self.meter else { return };
        let instrument = {
            let mut instruments = self.instruments.lock().unwrap_or_else(PoisonError::into_inner);
            match instruments.get(notice.name()) {
                Some(instrument) => instrument.clone(),
                None => {
                    let instrument = meter.u64_counter(format!("agentcore.{}", notice.name())).build();
                    instruments.insert(notice.name().to_owned(), instrument.clone());
                    instrument
                }
            }
        };
        let level = KeyValue::new("level", notice.level().name());
        instrument.add(1, &[level, KeyValue::new("errored", notice.error().is_some())]);
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Counter").field("meter", &self.meter.is_some()).finish()
    }
}
