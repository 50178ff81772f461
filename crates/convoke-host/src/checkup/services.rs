//! Services of models: whether there is a key for each, and whether one that needs none is there.

use std::time::Duration;

use convoke_models::choose::{Service, address};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::models::Models;

/// Longer than any program on this machine takes to be reached.
const PATIENCE: Duration = Duration::from_millis(500);

/// The standing of a service: its key, or whether it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceStanding {
    /// It has a key, and where.
    Key(String),
    /// It needs no key, and answers at this address or has not been asked there.
    Open(String),
    /// It needs no key, and nothing answers at this address.
    Absent(String),
    /// It needs no key, but nobody says where it is.
    Nowhere,
    /// It needs a key, which could be in these variables.
    NoKey(String),
}

impl ServiceStanding {
    /// Returns it as JSON.
    #[must_use]
    pub fn as_json(&self) -> Value {
        match self {
            Self::Key(place) => json!({"key": place}),
            Self::Open(address) => json!({"key": "not needed", "address": address}),
            Self::Absent(address) => json!({"key": "not needed", "address": address, "answers": false}),
            Self::Nowhere => json!({"key": "not needed", "address": null}),
            Self::NoKey(variables) => json!({"key": null, "set": variables}),
        }
    }
}

impl Models {
    /// Looks at every service: whether it has a key, and whether one that needs none answers.
    pub async fn services(&self) -> Vec<(&'static Service, ServiceStanding)> {
        let mut all = Vec::new();
        for service in Service::ALL {
            all.push((service, standing(self, service).await));
        }
        all
    }
}

async fn standing(models: &Models, service: &'static Service) -> ServiceStanding {
    let environment = models.config.environment();
    if let Some((_, place)) = models.credentials.key(service, environment) {
        return ServiceStanding::Key(place.to_string());
    }
    if service.needs_key {
        return ServiceStanding::NoKey(service.key_variables.join(" or "));
    }
    let Some(url) = models.config.models().base_url(service, environment) else {
        return ServiceStanding::Nowhere;
    };
    let shown = address::shown(&url);
    // Nothing is sent anywhere but to this machine: a folder's file may name the address.
    match address::is_local(&url) && !answers(&url).await {
        true => ServiceStanding::Absent(shown),
        false => ServiceStanding::Open(shown),
    }
}

/// Whether somebody listens there.
async fn answers(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let Some(host) = uri.host() else { return false };
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let reached = TcpStream::connect((host, uri.port_u16().unwrap_or(usual)));
    matches!(tokio::time::timeout(PATIENCE, reached).await, Ok(Ok(_)))
}
