//! Translates each section of an `agent.toml`.

use std::path::{Component, Path};

use toml::{Table, Value};

use super::{Draft, model};

pub(super) fn translate(name: &str, section: &Table, all: &Table, draft: &mut Draft) {
    match name {
        "agent" => agent(section, draft),
        "llm" => llm(section, draft),
        "profiles" => profiles(section, all, draft),
        "telemetry" => telemetry(section, draft),
        "mcp" => servers(section, all, draft),
        "skills" => skills(section, draft),
        "timeouts" => timeouts(section, all, draft),
        "small_llm" => draft.note(
            name,
            "has no counterpart: every model does its own work here; write it as a profile if agents are to ask for it",
        ),
        "state" | "storage" => draft.note(
            name,
            "is not carried over: runs are kept where your data is (`convoke config path` says where), and the old files are not read",
        ),
        "security" => draft.note(name, "has no counterpart: `convoke policy` says what tools may do"),
        "web" => draft.note(name, "has no counterpart: web tools are set up by their keys"),
        "embedding" => draft.note(name, "has no counterpart"),
        "service" => draft.note(name, "has no counterpart: there is no service to run yet"),
        _ => draft.note(name, "is not known"),
    }
}

fn agent(section: &Table, draft: &mut Draft) {
    for (key, value) in section {
        match (key.as_str(), value.as_str()) {
            // The working folder, which it is anyway.
            ("workspace", Some("" | "." | "./")) => {}
            ("workspace", Some(path)) if leads_out(path) => {
                draft.note(
                    "agent.workspace",
                    &format!(
                        "is left out: {path} is not in the folder, and only you can let agents work elsewhere; set \
                         `workspace.path` in your own convoke.toml (`convoke config path` says where), or CONVOKE_WORKSPACE"
                    ),
                );
                draft.comments.push(format!("[workspace]\npath = {}", Value::from(path)));
            }
            ("workspace", Some(path)) => draft.set(&["workspace"], "path", path),
            ("id", _) => {
                draft.note("agent.id", "has no counterpart: a workflow has its name in the Agentfile")
            }
            _ => draft.note(&format!("agent.{key}"), "is not known"),
        }
    }
}

/// Whether a path may be outside of the folder that it is said in, where it is refused.
fn leads_out(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    path.starts_with('~') || !parts.all(|part| matches!(part, Component::CurDir | Component::Normal(_)))
}

fn llm(section: &Table, draft: &mut Draft) {
    model::write("llm", section, None, &[], draft);
    for key in section.keys() {
        let name = format!("llm.{key}");
        match key.as_str() {
            "model" | "provider" | "base_url" => {}
            "api_key_env" => {
                draft.note(&name, "is left out: `convoke doctor` says which variable has a service's key")
            }
            "max_tokens" | "thinking" => draft
                .note(&name, "has no counterpart for all models: profiles have `max_tokens` and `reasoning`"),
            "max_retries" | "retry_backoff" => draft.note(
                &name,
                "has no counterpart: what can be tried again is, as long as the provider asks for",
            ),
            _ => draft.note(&name, "is not known"),
        }
    }
}

fn profiles(section: &Table, all: &Table, draft: &mut Draft) {
    // A profile without a provider has that of the main model, if it was named.
    let provider = all.get("llm").and_then(|llm| llm.get("provider")).and_then(Value::as_str);
    for (profile, said) in section {
        let name = format!("profiles.{profile}");
        let Some(said) = said.as_table() else {
            draft.note(&name, "is not a table");
            continue;
        };
        let ours = ["profiles", profile.as_str()];
        let inferred = model::named(said, None).is_some_and(|name| name.is_ok());
        model::write(&name, said, provider.filter(|_| !inferred), &ours, draft);
        for (key, value) in said {
            let name = format!("{name}.{key}");
            match key.as_str() {
                "model" | "provider" | "base_url" => {}
                "max_tokens" => draft.set(&ours, "max_tokens", value.clone()),
                "thinking" => model::reasoning(&name, value, &ours, draft),
                "api_key_env" => {
                    draft.note(&name, "is left out: `convoke doctor` says which variable has a service's key")
                }
                _ => draft.note(&name, "is not known"),
            }
        }
    }
}

fn telemetry(section: &Table, draft: &mut Draft) {
    if section.get("enabled").and_then(Value::as_bool) != Some(true) {
        return;
    }
    for (key, value) in section {
        let name = format!("telemetry.{key}");
        match (key.as_str(), value) {
            ("enabled", _) => {}
            ("endpoint", Value::String(address)) if address.starts_with("http") => {
                draft.set(&["telemetry"], "endpoint", address.as_str());
            }
            ("endpoint", _) => {
                draft.note(&name, "is left out: write the address with http:// or https:// before it")
            }
            ("protocol", Value::String(protocol)) if protocol == "http" => {}
            ("protocol", _) => {
                draft.note(&name, "is left out: traces are sent by OTLP over HTTP, mostly at port 4318")
            }
            ("headers", Value::Table(headers)) if headers.is_empty() => {}
            ("headers", Value::Table(headers)) => draft.set(&["telemetry"], "headers", escaped(headers)),
            ("insecure", _) => draft.note(&name, "has no counterpart: http:// or https:// says it"),
            _ => draft.note(&name, "is not known"),
        }
    }
}

fn servers(section: &Table, all: &Table, draft: &mut Draft) {
    let seconds = all.get("timeouts").and_then(|timeouts| timeouts.get("mcp")).and_then(Value::as_integer);
    for (key, value) in section {
        let ("servers", Value::Table(servers)) = (key.as_str(), value) else {
            draft.note(&format!("mcp.{key}"), "is not known");
            continue;
        };
        if !servers.is_empty() {
            draft.note(
                "mcp.servers",
                "are not started before you have agreed to each: `convoke mcp trust NAME`",
            );
        }
        for (server, said) in servers {
            let Some(said) = said.as_table() else {
                draft.note(&format!("mcp.servers.{server}"), "is not a table");
                continue;
            };
            let ours = ["mcp", "servers", server.as_str()];
            for (key, value) in said {
                match (key.as_str(), value) {
                    ("command" | "args", value) => draft.set(&ours, key, value.clone()),
                    ("env", Value::Table(variables)) if variables.is_empty() => {}
                    ("env", Value::Table(variables)) => draft.set(&ours, "env", escaped(variables)),
                    ("denied_tools", value) => draft.set(&ours, "deny", value.clone()),
                    _ => draft.note(&format!("mcp.servers.{server}.{key}"), "is not known"),
                }
            }
            if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
                draft.set(&ours, "timeout", format!("{seconds}s"));
            }
        }
    }
}

fn skills(section: &Table, draft: &mut Draft) {
    for (key, value) in section {
        match key.as_str() {
            "paths" => draft.set(&["skills"], "paths", value.clone()),
            _ => draft.note(&format!("skills.{key}"), "is not known"),
        }
    }
}

fn timeouts(section: &Table, all: &Table, draft: &mut Draft) {
    let has_servers = all.get("mcp").is_some_and(|mcp| mcp.get("servers").is_some());
    for key in section.keys() {
        match key.as_str() {
            "mcp" if has_servers => {}
            _ => draft.note(&format!("timeouts.{key}"), "has no counterpart"),
        }
    }
}

/// Values that mean themselves: here a dollar begins the name of a variable, unless it is doubled.
fn escaped(values: &Table) -> Table {
    let escaped = |value: &Value| match value {
        Value::String(text) => Value::String(text.replace('$', "$$")),
        other => other.clone(),
    };
    values.iter().map(|(key, value)| (key.clone(), escaped(value))).collect()
}
