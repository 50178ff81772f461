//! `convoke mcp list`

use convoke_config::UntrustedServer;
use convoke_host::{ConfiguredServers, Host};
use convoke_mcp::{ServerReport, ServerStatus};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Align, Column, Output, Table, Tone, text};

pub(super) async fn run(
    arguments: &Arguments,
    host: &Host,
    configured: ConfiguredServers,
    output: &mut Output,
) -> Result<(), Failure> {
    let ConfiguredServers { trusted, untrusted, .. } = configured;
    let servers = host.start_servers(&host.policies(None)?, trusted).await?;
    let (reports, warnings) = (servers.reports(), servers.warnings());
    servers.close().await;
    let down: Vec<&str> = reports
        .iter()
        .filter(|report| !matches!(report.status, ServerStatus::Ready { .. }))
        .map(|report| report.name.as_str())
        .collect();
    let result = match down.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(format!("not there: {}", down.join(", ")))),
    };
    if arguments.json {
        let all = reports.iter().map(ready).chain(untrusted.iter().map(waiting));
        output.json(&all.collect::<Vec<_>>())?;
        return result;
    }
    if reports.is_empty() && untrusted.is_empty() {
        super::none(output);
        return Ok(());
    }
    let left = |title| Column::new(title, Align::Left);
    let mut table = Table::new([
        left("SERVER"),
        left("STATE"),
        left("PROTOCOL"),
        left("IS"),
        Column::new("TOOLS", Align::Right),
    ]);
    let cell = |text: &str| (Tone::Plain, text::clean(text));
    for report in &reports {
        let (state, protocol, identity) = match &report.status {
            ServerStatus::Ready { protocol, identity } => {
                ((Tone::Good, "ready".to_owned()), protocol.as_str(), identity.as_str())
            }
            _ => ((Tone::Bad, "not there".to_owned()), "", ""),
        };
        table.row([
            cell(&report.name),
            state,
            cell(protocol),
            cell(identity),
            cell(&report.tools.to_string()),
        ]);
    }
    for server in &untrusted {
        table.row([cell(&server.name), (Tone::Bad, "not trusted".to_owned()), cell(""), cell(""), cell("0")]);
    }
    output.table(&table)?;
    for warning in warnings {
        output.note(&text::clean(&warning));
    }
    for server in untrusted {
        output.note(&text::clean(&server.to_string()));
    }
    result
}

fn ready(report: &ServerReport) -> Value {
    match &report.status {
        ServerStatus::Ready { protocol, identity } => json!({
            "server": report.name, "state": "ready", "protocol": protocol, "identity": identity, "tools": report.tools,
        }),
        ServerStatus::Down { problem } => {
            json!({"server": report.name, "state": "down", "problem": problem.to_string(), "tools": 0})
        }
        _ => json!({"server": report.name, "state": "closed", "tools": 0}),
    }
}

fn waiting(server: &UntrustedServer) -> Value {
    json!({
        "server": server.name,
        "state": "untrusted",
        "problem": server.to_string(),
        "fingerprint": server.fingerprint,
        "tools": 0,
    })
}
