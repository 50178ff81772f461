//! The policy: what tools may do, in one versioned `policy.toml`.
//!
//! A [`Policy`] says for every call whether it is allowed, asked about or denied, and each [`Decision`] names the rule
//! that made it. [`PolicyGate`] puts it before every call of a run. Without a file, [`Policy::default`] holds: reading and
//! writing in the workspace is allowed, commands run in the sandbox, what cannot be undone is asked about, the network is
//! denied.
//!
//! ```
//! use convoke_tools::policy::{PolicyOutcome, Policy};
//!
//! let policy = Policy::parse("version = 1\n[commands]\nallow = [\"git push origin\"]\n", "policy.toml")?;
//! assert_eq!(policy.command("cargo test").outcome, PolicyOutcome::Allow);
//! assert_eq!(policy.command("git push origin main").outcome, PolicyOutcome::Allow);
//! assert_eq!(policy.command("git push --force").outcome, PolicyOutcome::Ask);
//! let decision = policy.command("cargo test && curl https://example.com");
//! assert_eq!(decision.to_string(), "deny: `curl https://example.com`: it talks to other machines (commands.deny = \"curl\", built in)");
//! # Ok::<(), convoke_tools::policy::PolicyErrors>(())
//! ```
//!
//! | file | what it is for |
//! |---|---|
//! | `keys` | every key there is |
//! | `read`, `lines`, `problem` | from text to policy, or to everything that is wrong with it |
//! | `misspelt` | tools that are probably called otherwise |
//! | `pattern`, `command`, `builtin` | patterns of paths, hosts, MCP tools and commands; those that are built in |
//! | `folder` | folders that commands may read besides the workspace |
//! | [`shell`] | what a command line would start |
//! | `subject` | what of a call is judged |
//! | `judge`, `outcome`, `explain` | decisions |
//! | `reached` | hosts that a command line names, for explanations |
//! | `gate`, `narrow` | the policy before every call of a run; the rule that would let one through |
//! | `set`, `set_explain` | the policies that hold together, and why they decide as they do: a folder's never stands alone |
//! | `confine` | what it says to the sandbox and to budgets |
//! | [`import`], `foreign` | the dialects of others, translated and recognised |
//!
//! **What it must never do.** Allow what it has not understood. Decide anything without saying by which rule. Stand in for
//! the sandbox and the workspace, which hold even where a policy is wrong: reading commands is advice on top of them.

mod builtin;
mod command;
mod command_hosts;
mod enforced_limits;
mod explain;
mod folder;
mod foreign;
mod gate;
mod harmless_forms;
pub mod import;
mod judge;
mod keys;
mod line_index;
mod misspelt;
mod narrowest_rule;
mod outcome;
mod pattern;
mod problem;
mod read;
mod set;
mod set_explain;
mod settings;
pub mod shell;
mod subject;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use convoke_core::{ToolEffect, ToolEffects};

use self::command::CommandPattern;
use self::pattern::{DomainPattern, HostPattern, Lists, McpPattern, PathPattern, PatternText};
use crate::workspace::Protected;

#[cfg(target_os = "linux")]
pub(crate) use command_hosts::talks_to_others;
pub use explain::{ConsideredRule, Explanation};
pub use gate::PolicyGate;
pub use judge::PolicyCall;
pub use keys::{KEYS, Key, KeyKind};
pub use narrowest_rule::NarrowRule;
pub use outcome::{Decision, PolicyOutcome, RulePlace, RuleRef};
pub use problem::{PolicyErrors, PolicyProblem};
pub use set::{InvalidPolicy, ONLY_THE_USER, PolicyFiles, PolicySet};
pub use set_explain::SetExplanation;
pub use settings::EffectiveSetting;
pub use subject::{Subject, SubjectKind};

/// The file's name.
pub const FILE: &str = "policy.toml";

/// A value, and the line that says so.
#[derive(Debug, Clone, Copy)]
struct Setting<T> {
    value: T,
    /// `None` if no file does.
    line: Option<usize>,
}

impl<T> Setting<T> {
    const fn default_of(value: T) -> Self {
        Self { value, line: None }
    }
}

/// The sandbox setting: whether commands must run in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandboxing {
    /// They run confined, or not at all. Landlock alone will not do for root.
    Required,
    /// They run confined, or not at all. Landlock alone will do for root as well.
    Landlock,
    /// They run with all the rights of this process.
    Off,
}

impl Sandboxing {
    const ALL: [Self; 3] = [Self::Required, Self::Landlock, Self::Off];

    const fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Landlock => "landlock",
            Self::Off => "off",
        }
    }
}

/// The network that commands may reach. The later ones are stricter, and win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandNetwork {
    /// All of it.
    Open,
    /// The hosts that `commands.hosts` lets them.
    Hosts,
    /// Nothing.
    None,
}

impl CommandNetwork {
    /// As it is written in `policy.toml`.
    const fn name(self) -> &'static str {
        match self {
            Self::Open => "true",
            Self::Hosts => "hosts",
            Self::None => "false",
        }
    }
}

/// Limits, as far as the policy says. `None` leaves it to whoever has the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyLimits {
    /// Calls of tools, in all, in a run.
    pub tool_calls: Option<u64>,
    /// Processor time of a command, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Memory of a command, in MiB.
    pub memory_mb: Option<u64>,
    /// Processes of a command.
    pub processes: Option<u64>,
    /// The largest file a command may write, in MiB.
    pub file_mb: Option<u64>,
    /// What a command may write to its outputs, in MiB.
    pub output_mb: Option<u64>,
    /// What a command may leave in the workspace, in MiB.
    pub written_mb: Option<u64>,
}

impl PolicyLimits {
    fn get(&self, name: &str) -> Option<u64> {
        match name {
            "tool_calls" => self.tool_calls,
            "cpu_seconds" => self.cpu_seconds,
            "memory_mb" => self.memory_mb,
            "processes" => self.processes,
            "file_mb" => self.file_mb,
            "written_mb" => self.written_mb,
            _ => self.output_mb,
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        *(match name {
            "tool_calls" => &mut self.tool_calls,
            "cpu_seconds" => &mut self.cpu_seconds,
            "memory_mb" => &mut self.memory_mb,
            "processes" => &mut self.processes,
            "file_mb" => &mut self.file_mb,
            "written_mb" => &mut self.written_mb,
            _ => &mut self.output_mb,
        }) = Some(value);
    }
}

/// What holds for tools that nothing more is said of, by what they do.
#[derive(Debug, Clone)]
struct Defaults {
    reads: Setting<PolicyOutcome>,
    writes: Setting<PolicyOutcome>,
    spawns: Setting<PolicyOutcome>,
    network: Setting<PolicyOutcome>,
    irreversible: Setting<PolicyOutcome>,
}

impl Defaults {
    fn set(&mut self, effect: &str, setting: Setting<PolicyOutcome>) {
        *(match effect {
            "reads" => &mut self.reads,
            "writes" => &mut self.writes,
            "spawns" => &mut self.spawns,
            "network" => &mut self.network,
            _ => &mut self.irreversible,
        }) = setting;
    }

    /// From the one that weighs most to the one that weighs least.
    fn by_effect(&self) -> [(ToolEffect, &'static str, &'static str, Setting<PolicyOutcome>); 5] {
        [
            (ToolEffect::Network, "network", "talks to other machines", self.network),
            (ToolEffect::Irreversible, "irreversible", "does what cannot be undone", self.irreversible),
            (ToolEffect::Spawns, "spawns", "starts processes or agents", self.spawns),
            (ToolEffect::Writes, "writes", "changes something", self.writes),
            (ToolEffect::Reads, "reads", "looks at something", self.reads),
        ]
    }
}

/// The rules of one tool.
#[derive(Debug, Clone, Default)]
struct ToolRules {
    decision: Option<Setting<PolicyOutcome>>,
    calls: Option<u64>,
    arguments: BTreeMap<String, SubjectKind>,
    paths: Lists<PathPattern>,
    domains: Lists<DomainPattern>,
}

#[derive(Debug, Clone)]
struct Commands {
    default: Option<Setting<PolicyOutcome>>,
    unclear: Setting<PolicyOutcome>,
    network: Setting<CommandNetwork>,
    lists: Lists<CommandPattern>,
    /// Whether a person looks at what commands changed.
    review: Setting<bool>,
    hosts: Hosts,
}

/// The hosts that commands may reach.
#[derive(Debug, Clone)]
struct Hosts {
    default: Setting<PolicyOutcome>,
    lists: Lists<HostPattern>,
}

#[derive(Debug, Clone, Default)]
struct Mcp {
    default: Option<Setting<PolicyOutcome>>,
    lists: Lists<McpPattern>,
}

/// A policy: what tools may do.
#[derive(Debug, Clone)]
pub struct Policy {
    source: Arc<str>,
    /// What is protected where there is no workspace to say so; made when it is first needed.
    protection: OnceLock<Protected>,
    /// Where keys are set, by their names.
    lines: BTreeMap<String, usize>,
    sandbox: Setting<Sandboxing>,
    readable: Vec<(PatternText, PathBuf)>,
    protected: Vec<String>,
    read_only: Vec<String>,
    defaults: Defaults,
    tools: BTreeMap<String, ToolRules>,
    /// What `allow` is for tools is `within` here: a boundary.
    paths: Lists<PathPattern>,
    commands: Commands,
    mcp: Mcp,
    limits: PolicyLimits,
}

impl Default for Policy {
    /// What holds without a file: safe.
    fn default() -> Self {
        Self {
            source: Arc::from("the defaults"),
            protection: OnceLock::new(),
            lines: BTreeMap::new(),
            sandbox: Setting::default_of(Sandboxing::Required),
            readable: Vec::new(),
            protected: Vec::new(),
            read_only: Vec::new(),
            defaults: Defaults {
                reads: Setting::default_of(PolicyOutcome::Allow),
                writes: Setting::default_of(PolicyOutcome::Allow),
                spawns: Setting::default_of(PolicyOutcome::Ask),
                network: Setting::default_of(PolicyOutcome::Deny),
                irreversible: Setting::default_of(PolicyOutcome::Ask),
            },
            tools: BTreeMap::new(),
            paths: Lists::default(),
            commands: Commands {
                default: None,
                unclear: Setting::default_of(PolicyOutcome::Ask),
                network: Setting::default_of(CommandNetwork::None),
                lists: Lists::default(),
                review: Setting::default_of(false),
                hosts: Hosts { default: Setting::default_of(PolicyOutcome::Ask), lists: Lists::default() },
            },
            mcp: Mcp::default(),
            limits: PolicyLimits::default(),
        }
    }
}

impl Policy {
    /// Reads a file. One that is not there is the [default](Self::default); one that cannot be read is an error.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, PolicyErrors> {
        // The name itself: a link that leads nowhere is no missing file.
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            // If that cannot be found out, opening it says why.
            _ => Self::load_existing(path),
        }
    }

    /// Reads a file that must be there.
    ///
    /// # Errors
    /// Everything that is wrong with it, also that it is not there.
    pub fn load_existing(path: &Path) -> Result<Self, PolicyErrors> {
        let name = path.display().to_string();
        let text = convoke_text::keyed::read_file(path, "policy")
            .map_err(|why| PolicyErrors::unreadable(&name, &why))?;
        Self::parse(&text, &name)
    }

    /// Reads a policy. `name` is what the file is called in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, name: &str) -> Result<Self, PolicyErrors> {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        Self::parse_at_home(text, name, home.as_deref())
    }

    /// Reads a policy in which `~` is this folder.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_at_home(text: &str, name: &str, home: Option<&Path>) -> Result<Self, PolicyErrors> {
        read::policy(text, name, home)
    }

    /// The same policy, whose patterns of paths are seen from this folder instead of from the workspace: what a file above the
    /// workspace says of `secrets/**` is said of that folder beside it, also where the workspace is a part of it.
    #[must_use]
    pub fn seen_from(mut self, folder: &Path) -> Self {
        let tools = self.tools.values_mut().map(|rules| &mut rules.paths);
        for lists in tools.chain([&mut self.paths]) {
            for list in [&mut lists.allow, &mut lists.ask, &mut lists.deny] {
                for (_, pattern) in list {
                    *pattern = pattern.clone().seen_from(folder);
                }
            }
        }
        self
    }

    /// Returns what a built-in tool does to the world, by its name.
    #[must_use]
    pub fn effects_of(tool: &str) -> Option<ToolEffects> {
        subject::effects(tool)
    }

    /// The file it is from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether a person looks at what commands changed before it comes out of their views.
    #[must_use]
    pub fn reviews_changes(&self) -> bool {
        self.commands.review.value
    }

    /// Returns whether commands must run in a sandbox.
    #[must_use]
    pub fn sandbox(&self) -> Sandboxing {
        self.sandbox.value
    }

    /// The folders that commands may read besides the workspace, as they are written, and where that is said.
    ///
    /// [`confine`](Self::confine) does not open them: whose policy may open anything is known to whoever loads it, and what
    /// they contain is not known here.
    pub fn readable(&self) -> impl Iterator<Item = (&Path, RulePlace)> {
        self.readable.iter().map(|(written, folder)| (folder.as_path(), self.place(written.line)))
    }

    /// Returns the network that commands may reach.
    #[must_use]
    pub fn command_network(&self) -> CommandNetwork {
        self.commands.network.value
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> PolicyLimits {
        self.limits
    }

    /// Adds the files that the policy protects to these. It cannot take any away.
    ///
    /// What `paths.deny` names in the workspace is among them, so that searches and commands do not come upon it either.
    #[must_use]
    pub fn protect(&self, mut protected: Protected) -> Protected {
        for (_, pattern) in &self.paths.deny {
            pattern.protect(&mut protected);
        }
        // They were checked when the policy was read.
        for pattern in &self.protected {
            let _ = protected.keep_secret(pattern);
        }
        for pattern in &self.read_only {
            let _ = protected.keep_from_changes(pattern);
        }
        protected
    }

    fn place(&self, line: Option<usize>) -> RulePlace {
        match line {
            Some(line) => RulePlace::File { name: Arc::clone(&self.source), line },
            None => RulePlace::BuiltIn,
        }
    }
}
