//! Imports policies of other programs.
//!
//! Two dialects are read: agentkit's, with `[tools.NAME]` and a `default_deny` that is true unless said otherwise, and its
//! older one, with a table for each tool at the top of the file and a `default_deny` that is false. What comes out is never
//! more permissive than what went in; what has no counterpart is listed.

mod draft;

use toml::{Table, Value};

use self::draft::PolicyDraft;
use super::command::CommandPattern;
use super::pattern::{DomainPattern, HostPattern, McpPattern, PathPattern};
use super::problem::{PolicyErrors, PolicyProblem};

/// A translated policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedPolicy {
    /// The policy, in our format.
    pub text: String,
    /// What could not be carried over, or means something else here.
    pub notes: Vec<String>,
}

/// Tools whose lists are of hosts.
const WEB: &[&str] = &["web_fetch", "web_search"];

/// Translates a policy. `name` is what the file is called in messages.
///
/// ```
/// let old = "default_deny = true\n[tools.read]\nallow = [\"$WORKSPACE/**\"]\ntimeout = 5\n";
/// let imported = convoke_tools::policy::import::translate(old, "old.toml")?;
/// assert!(imported.text.contains("[tools.read.paths]\nallow = [\"$WORKSPACE/**\"]"));
/// assert_eq!(imported.notes.len(), 1);
/// # Ok::<(), convoke_tools::policy::PolicyErrors>(())
/// ```
///
/// # Errors
/// If it is not valid TOML, or is in our format already.
pub fn translate(text: &str, name: &str) -> Result<ImportedPolicy, PolicyErrors> {
    let wrong = |span, message: String| PolicyErrors::new(name, text, vec![PolicyProblem::at(span, message)]);
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        wrong(error.span().unwrap_or(0..0), format!("not valid TOML: {}", error.message().trim()))
    })?;
    if table.contains_key("version") {
        return Err(wrong(0..0, "it has a version, so it is in this format already".to_owned()));
    }
    let mut draft = PolicyDraft::default();
    let is_newer = table.contains_key("tools") || table.contains_key("content");
    let denies = table.get("default_deny").and_then(Value::as_bool).unwrap_or(is_newer);
    defaults(denies, &mut draft);
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("default_deny", Value::Boolean(_)) => {}
            ("allowed_dirs", value) => boundary(value, &mut draft),
            ("tools", Value::Table(tools)) => {
                for (tool, rules) in tools {
                    named_tool(tool, rules, denies, &mut draft);
                }
            }
            ("mcp", Value::Table(mcp)) => servers(mcp, &mut draft),
            ("content" | "security", _) => {
                draft.note(format!(
                    "`{key}`: patterns and keywords of the content guard are not part of a policy"
                ));
            }
            (_, Value::Table(_)) => named_tool(key, value, denies, &mut draft),
            _ => draft.note(format!("`{key}` is not known")),
        }
    }
    let imported = draft.finish();
    // What we write, we read. Anything else would be our mistake.
    super::Policy::parse(&imported.text, "the translation")?;
    Ok(imported)
}

fn defaults(denies: bool, draft: &mut PolicyDraft) {
    if denies {
        for effect in ["reads", "writes", "spawns", "network", "irreversible"] {
            draft.set("defaults", effect, "deny");
        }
        draft.set("commands", "default", "deny");
    } else {
        draft.note(
            "`default_deny = false` allowed every tool that was not listed; here the network is denied and what cannot be \
             undone is asked about, unless [defaults] says otherwise",
        );
    }
}

/// Folders that all tools are kept in. The workspace was always among them.
fn boundary(value: &Value, draft: &mut PolicyDraft) {
    let mut folders = folders("allowed_dirs", value, draft);
    if !folders.is_empty() && !folders.iter().any(|folder| folder == "$WORKSPACE/**") {
        folders.insert(0, "$WORKSPACE/**".to_owned());
        draft.note("`allowed_dirs`: the workspace was added, as it was by the agent");
    }
    draft.list("paths", "within", folders);
}

fn folders(key: &str, value: &Value, draft: &mut PolicyDraft) -> Vec<String> {
    let as_folder = |folder: String| match folder.trim_end_matches('/') {
        "" => "/**".to_owned(),
        "." => "$WORKSPACE/**".to_owned(),
        folder => format!("{}/**", folder.trim_start_matches("./")),
    };
    let folders: Vec<String> = draft.texts(key, value).into_iter().map(as_folder).collect();
    draft.only(key, folders, |folder| PathPattern::parse(folder, Some(std::path::Path::new("/"))).map(drop))
}

fn named_tool(tool: &str, rules: &Value, denies: bool, draft: &mut PolicyDraft) {
    let Some(rules) = rules.as_table() else {
        return draft.note(format!("`tools.{tool}` is not a table"));
    };
    let section = format!("tools.{}", draft::key(tool));
    if rules.get("enabled").and_then(Value::as_bool) == Some(false) {
        return draft.set(&section, "decision", "deny");
    }
    let is_web = WEB.contains(&tool);
    let mut restricted = false;
    for (key, value) in rules {
        let name = format!("{tool}.{key}");
        match key.as_str() {
            "enabled" => {}
            "allow" | "deny" if tool == "bash" => restricted |= commands(&name, key, value, draft),
            "allowlist" => restricted |= commands(&name, "allow", value, draft),
            "denylist" => restricted |= commands(&name, "deny", value, draft),
            "allow" | "deny" if is_web => restricted |= hosts(&section, &name, key, value, draft),
            "allow_domains" if tool == "bash" => command_hosts(&name, value, draft),
            "allow_domains" => restricted |= hosts(&section, &name, "allow", value, draft),
            "allow" | "deny" => {
                let texts = draft.texts(&name, value);
                let root = Some(std::path::Path::new("/"));
                let patterns = draft.only(&name, texts, |text| PathPattern::parse(text, root).map(drop));
                restricted |= key == "allow" && !patterns.is_empty();
                draft.list(&format!("{section}.paths"), key, patterns);
            }
            "allowed_dirs" => {
                let folders = folders(&name, value, draft);
                restricted |= !folders.is_empty();
                draft.list(&format!("{section}.paths"), "allow", folders);
            }
            "sandbox" if value.as_str() == Some("none") => draft.note(format!(
                "`{name} = \"none\"`: commands are confined here; `sandbox = \"off\"` at the top of the file would let them go"
            )),
            "sandbox" => draft.note(format!("`{name}`: which sandbox it is, is not chosen here; there always is one")),
            "timeout" => draft.note(format!("`{name}`: how long a call may take is not part of a policy")),
            "rate_limit" => draft.note(format!("`{name}`: calls are limited in a run (`calls`), not in a minute")),
            _ => draft.note(format!("`{name}` is not known")),
        }
    }
    // An empty allow list allowed nothing where all was denied, and everything elsewhere.
    let lists_nothing = ["allow", "allowlist"]
        .iter()
        .any(|key| rules.get(*key).and_then(Value::as_array).is_some_and(Vec::is_empty));
    if denies && lists_nothing && !restricted {
        return draft.note(format!("`{tool}` has an empty list of what is allowed: it stays denied"));
    }
    if !restricted {
        draft.set(&section, "decision", "allow");
    }
    if tool == "bash" && !restricted {
        draft.set("commands", "default", "allow");
    }
}

/// Whether there is a list of what is allowed now.
fn commands(name: &str, list: &str, value: &Value, draft: &mut PolicyDraft) -> bool {
    let texts = draft.texts(name, value);
    let given = !texts.is_empty();
    let patterns = draft.only(name, texts, |text| CommandPattern::parse(text).map(drop));
    draft.list("commands", list, patterns);
    let is_list_of_allowed = list == "allow" && given;
    if is_list_of_allowed {
        draft.set("commands", "default", "deny");
    }
    is_list_of_allowed
}

/// The hosts that commands may reach. Nobody was asked about others.
fn command_hosts(name: &str, value: &Value, draft: &mut PolicyDraft) {
    let texts = draft.texts(name, value);
    let patterns = draft.only(name, texts, |text| HostPattern::parse(text).map(drop));
    if !patterns.is_empty() {
        draft.set("commands", "network", "hosts");
        draft.set("commands.hosts", "default", "deny");
        draft.list("commands.hosts", "allow", patterns);
    }
}

fn hosts(section: &str, name: &str, list: &str, value: &Value, draft: &mut PolicyDraft) -> bool {
    let texts = draft.texts(name, value);
    let given = !texts.is_empty();
    let patterns = draft.only(name, texts, |text| DomainPattern::parse(text).map(drop));
    if given && patterns.is_empty() && list == "allow" {
        draft.set(section, "decision", "deny");
        return true;
    }
    draft.list(&format!("{section}.domains"), list, patterns);
    list == "allow" && given
}

fn servers(mcp: &Table, draft: &mut PolicyDraft) {
    let mut closed = false;
    for (key, value) in mcp {
        match (key.as_str(), value) {
            ("enabled", Value::Boolean(enabled)) => closed |= !enabled,
            ("default_deny", Value::Boolean(denies)) => closed |= denies,
            ("allow" | "allowed_tools", value) => {
                let all = |text: String| if text == "*" { "*:*".to_owned() } else { text };
                let texts: Vec<String> =
                    draft.texts(&format!("mcp.{key}"), value).into_iter().map(all).collect();
                let patterns =
                    draft.only(&format!("mcp.{key}"), texts, |text| McpPattern::parse(text).map(drop));
                draft.list("mcp", "allow", patterns);
            }
            _ => draft.note(format!("`mcp.{key}` is not known")),
        }
    }
    if mcp.get("enabled").and_then(Value::as_bool) == Some(false) {
        draft.clear("mcp", "allow");
    }
    if closed {
        draft.set("mcp", "default", "deny");
    } else if !draft.has("mcp", "allow") {
        draft.note(
            "`mcp` allowed all tools of all servers; here they are asked about, unless [mcp] says otherwise",
        );
    }
}
