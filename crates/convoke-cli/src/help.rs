//! Help that is easy to look through: commands in groups, own options before those that every command has.
//!
//! Which commands there are is said in `arguments`; here is only where they stand.

use clap::Command;
use clap::builder::Styles;

use crate::terminal::text;

/// The commands, by what they are for. A command that is in no group comes last.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run", &["run", "chat", "resume", "answer", "questions", "send", "attach", "attend", "cancel"]),
    ("Look", &["runs", "show", "replay", "fork", "rm", "purge"]),
    ("Agentfiles", &["init", "validate", "fmt", "inspect", "compile", "eval"]),
    ("Packages", &["packages", "install", "uninstall", "pack", "verify", "keygen", "trust"]),
    (
        "Set up",
        &[
            "doctor",
            "config",
            "policy",
            "store",
            "knowledge",
            "memory",
            "model",
            "mcp",
            "completions",
            "man",
            "help",
        ],
    ),
];

const OTHERS: &str = "More";

/// No wider than clap makes the rest of it.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

/// The command line with its commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = |name: &str| {
        let found = built.find_subcommand(name).filter(|found| !found.is_hide_set());
        found.map(|found| found.get_about().map(ToString::to_string).unwrap_or_default())
    };
    let known = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let names: Vec<&str> = built.get_subcommands().map(Command::get_name).collect();
    let others: Vec<&str> = names.iter().copied().filter(|name| !known(name)).collect();
    let longest = names.iter().map(|name| name.len()).max().unwrap_or_default();
    let mut groups = String::new();
    for (title, names) in GROUPS.iter().copied().chain([(OTHERS, &*others)]) {
        let rows: Vec<(&str, String)> = names.iter().filter_map(|name| Some((*name, about(name)?))).collect();
        if rows.is_empty() {
            continue;
        }
        groups.push_str(&format!("{header}{title}:{header:#}\n"));
        for (name, about) in rows {
            let indent = 2 + longest + 2;
            let lines = text::wrap(&about, Some(width().saturating_sub(indent)));
            let about = lines.join(&format!("\n{:indent$}", ""));
            groups.push_str(&format!("  {literal}{name:longest$}{literal:#}  {about}\n"));
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}{}:{header:#}\n{{options}}{{after-help}}",
        crate::arguments::GLOBAL
    ))
}

fn width() -> usize {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    stated.or_else(measured).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_command_is_in_a_group() {
        let help = grouped(Arguments::command()).render_help().to_string();
        assert!(!help.contains(&format!("{OTHERS}:")), "put the new command into a group:\n{help}");
    }

    #[test]
    fn options_that_every_command_has_come_after_its_own() {
        let mut command = Arguments::command();
        command.build();
        for subcommand in command.get_subcommands_mut().filter(|subcommand| !subcommand.has_subcommands()) {
            let help = subcommand.render_help().to_string();
            let (own, global) = help.split_once(crate::arguments::GLOBAL).unwrap_or((&help, ""));
            assert!(!own.contains("--store") && !own.contains("--log"), "{own}");
            assert!(subcommand.get_name() == "help" || global.contains("--store"), "{help}");
        }
    }
}
