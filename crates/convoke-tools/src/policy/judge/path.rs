//! Decisions about paths.

use std::path::Path;

use convoke_core::ToolEffect;

use super::{PolicyCall, built_in, denied};
use crate::policy::explain::Trail;
use crate::policy::pattern::{Lists, PathName, PathPattern, PatternText};
use crate::policy::subject::is_built_in;
use crate::policy::{Decision, Policy, PolicyOutcome, RuleRef, ToolRules};
use crate::workspace::{FileError, Follow, Protected, Protection, Workspace};

const OTHER_PATH: &str = "Work with other files, or say what you need and why.";
const INSIDE: &str = "No tool works there: use a path inside it, relative to its top.";

impl Policy {
    pub(super) fn path(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        path: &str,
        trail: &mut Trail,
    ) -> Decision {
        let names = names(path, call.workspace);
        let key = format!("tools.{}.paths", call.tool);
        let own = rules.map(|rules| (&rules.paths, key.as_str()));
        if let Some(decision) = self.kept_from(&names, call, path, own, trail) {
            return decision;
        }
        let Some((lists, key)) = own else { return self.base(call, rules) };
        let is_allowed = |pattern: &PathPattern| names.iter().all(|name| pattern.matches(name));
        self.permitted(call, rules, lists, key, &format!("`{path}`"), OTHER_PATH, &is_allowed, trail)
    }

    /// A folder that something is done in: it can be denied or asked about, and allows nothing.
    pub(super) fn folder(&self, call: &PolicyCall<'_>, path: &str, trail: &mut Trail) -> Option<Decision> {
        self.kept_from(&names(path, call.workspace), call, path, None, trail)
    }

    /// What keeps a tool from a path: rules of the file, and, whatever they say, protection and the end of the workspace.
    fn kept_from(
        &self,
        names: &[PathName],
        call: &PolicyCall<'_>,
        path: &str,
        own: Option<(&Lists<PathPattern>, &str)>,
        trail: &mut Trail,
    ) -> Option<Decision> {
        let changes =
            call.effects.contains(ToolEffect::Writes) || call.effects.contains(ToolEffect::Irreversible);
        let ruled = self.restricted_path(names, path, own, trail);
        if ruled.as_ref().is_some_and(|decision| decision.outcome == PolicyOutcome::Deny) {
            return ruled;
        }
        self.protects(names, path, changes, call.workspace).or_else(|| leads_out(call, path)).or(ruled)
    }

    /// Configuration, policy, credentials and the like, whatever the policy says.
    pub(super) fn protects(
        &self,
        names: &[PathName],
        path: &str,
        changes: bool,
        workspace: Option<&Workspace>,
    ) -> Option<Decision> {
        let protected = match workspace {
            Some(workspace) => workspace.protected(),
            None => self.protection.get_or_init(|| self.protect(Protected::defaults())),
        };
        let found = names
            .iter()
            .filter_map(|name| protected.of(name.anywhere()))
            .find(|protection| changes || *protection == Protection::Secret)?;
        Some(denied(built_in("protected"), format!("`{path}` is protected ({found})"), OTHER_PATH))
    }

    /// What the lists for all tools, and those of the tool, forbid or ask about.
    pub(super) fn restricted_path(
        &self,
        names: &[PathName],
        path: &str,
        own: Option<(&Lists<PathPattern>, &str)>,
        trail: &mut Trail,
    ) -> Option<Decision> {
        let catches = |pattern: &PathPattern| names.iter().any(|name| pattern.matches(name));
        let about = format!("`{path}`");
        let decide = |outcome, key: String, written: &PatternText| {
            let because = format!(
                "{about} is {}",
                if outcome == PolicyOutcome::Deny { "denied" } else { "asked about" }
            );
            Decision { outcome, rule: self.rule(key, written), because, instead: OTHER_PATH }
        };
        let deny = |lists: &Lists<PathPattern>, key: &str, trail: &mut Trail| {
            let found =
                trail.find(self, &lists.deny, || format!("{key}.deny"), PolicyOutcome::Deny, &about, catches);
            found.map(|written| decide(PolicyOutcome::Deny, format!("{key}.deny"), written))
        };
        let ask = |lists: &Lists<PathPattern>, key: &str, trail: &mut Trail| {
            let found =
                trail.find(self, &lists.ask, || format!("{key}.ask"), PolicyOutcome::Ask, &about, catches);
            found.map(|written| decide(PolicyOutcome::Ask, format!("{key}.ask"), written))
        };
        if let Some(decision) = deny(&self.paths, "paths", trail) {
            return Some(decision);
        }
        if let Some((lists, key)) = own
            && let Some(decision) = deny(lists, key, trail)
        {
            return Some(decision);
        }
        let within = |pattern: &PathPattern| names.iter().all(|name| pattern.matches(name));
        if let Some((first, _)) = self.paths.allow.first()
            && trail
                .find(
                    self,
                    &self.paths.allow,
                    || "paths.within".to_owned(),
                    PolicyOutcome::Allow,
                    &about,
                    within,
                )
                .is_none()
        {
            let rule = RuleRef {
                key: "paths.within".to_owned(),
                text: String::new(),
                place: self.place(first.line),
            };
            return Some(denied(
                rule,
                format!("{about} is outside of the folders that tools may work in"),
                OTHER_PATH,
            ));
        }
        if let Some(decision) = ask(&self.paths, "paths", trail) {
            return Some(decision);
        }
        own.and_then(|(lists, key)| ask(lists, key, trail))
    }
}

/// Tools that come with Convoke refuse what is outside of the workspace, whatever anybody answers: so nobody is asked.
fn leads_out(call: &PolicyCall<'_>, path: &str) -> Option<Decision> {
    let workspace = call.workspace.filter(|_| is_built_in(call.tool))?;
    // A link that is removed or moved need not lead anywhere.
    let follow = if matches!(call.tool, "rm" | "mv") { Follow::Nothing } else { Follow::Links };
    let Err(FileError::Outside { how, .. }) = workspace.resolve(path, follow) else { return None };
    let because = format!("`{path}` leads out of the workspace ({how})");
    Some(denied(built_in("workspace"), because, INSIDE))
}

/// The names of a path: where it leads, as far as that is known, and as it was written.
fn names(path: &str, workspace: Option<&Workspace>) -> Vec<PathName> {
    let name = |path: &Path| PathName::of(path, workspace.map(Workspace::path));
    let real = workspace.and_then(|workspace| workspace.real(path));
    real.iter().map(|real| name(real)).chain([name(Path::new(path))]).collect()
}
