//! Decisions of policies about calls, and everything that holds.

use convoke_history::Tone;
use convoke_history::lines::Rich;
use convoke_tools::policy::{
    ConsideredRule, EffectiveSetting, KEYS, ONLY_THE_USER, PolicyOutcome, PolicySet, RulePlace,
    SetExplanation,
};
use serde_json::{Value, json};

use super::View;

/// A decision about a call, and how it came about.
#[derive(Debug)]
pub struct ExplainedCall<'a> {
    /// The decision.
    pub explained: SetExplanation<'a>,
    /// Why hosts are not decided about here, if they are not.
    pub hosts_unheld: Option<&'static str>,
}

impl View for ExplainedCall<'_> {
    fn document(&self) -> Value {
        let SetExplanation { decision, explanation, hosts, .. } = &self.explained;
        let commands = explanation.readings.iter().flat_map(|reading| &reading.commands);
        let unclear = explanation.readings.iter().flat_map(|reading| &reading.unclear);
        json!({
            "outcome": decision.outcome,
            "rule": decision.rule,
            "because": decision.because,
            "commands": commands.map(ToString::to_string).collect::<Vec<_>>(),
            "unclear": unclear.map(ToString::to_string).collect::<Vec<_>>(),
            "considered": explanation.considered,
            "hosts": hosts,
        })
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let SetExplanation { decision, explanation, connects, hosts, .. } = &self.explained;
        let tone = match decision.outcome {
            PolicyOutcome::Allow => Tone::Good,
            PolicyOutcome::Ask => Tone::Accent,
            PolicyOutcome::Deny => Tone::Bad,
        };
        let because = format!("  {}", decision.because);
        let mut lines = vec![
            Rich::new(tone, decision.outcome.name()).with(Tone::Plain, because),
            format!("rule  {}", decision.rule).into(),
        ];
        for reading in &explanation.readings {
            lines.extend(["".into(), "what it starts, as far as its text says:".into()]);
            lines.extend(reading.commands.iter().map(|command| format!("  {command}").into()));
            lines.extend(reading.unclear.iter().map(|unclear| format!("  ? {unclear}").into()));
        }
        if *connects {
            lines.extend(["".into(), "what it reaches is decided when it connects:".into()]);
            lines.extend(hosts.iter().map(|host| format!("  {host}").into()));
            if hosts.is_empty() {
                lines.push("  its text names no host; ask with --host NAME:PORT".into());
            }
        }
        // That a rule denies or asks about something else has nothing to do with this call; that no rule allows it has.
        let matters = |rule: &&ConsideredRule| rule.matched || rule.outcome == PolicyOutcome::Allow;
        let others = explanation.considered.iter().filter(|rule| rule.rule != decision.rule).filter(matters);
        let others = others.map(|considered| {
            let why = match (considered.matched, considered.outcome > decision.outcome) {
                (true, false) => "is about, and is not stricter than the one above:",
                (true, true) => "is about, and another one takes precedence:",
                (false, _) => "is not about",
            };
            Rich::new(Tone::Faint, format!("  {}  {why} {}", considered.rule, considered.about))
        });
        let others: Vec<Rich> = others.collect();
        if !others.is_empty() {
            lines.extend(["".into(), "rules that did not decide:".into()]);
        }
        lines.into_iter().chain(others).collect()
    }

    fn notes(&self) -> Vec<String> {
        let folders = self.explained.folders_would.map(|(folders, theirs)| {
            let (name, outcome) = (folders.source(), self.explained.explanation.decision.outcome);
            format!("{name} would say {theirs} instead of {outcome}, {ONLY_THE_USER}")
        });
        self.hosts_unheld.map(str::to_owned).into_iter().chain(folders).collect()
    }
}

impl View for PolicySet {
    fn document(&self) -> Value {
        self.iter().map(|policy| json!({"source": policy.source(), "settings": policy.settings()})).collect()
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        let mut lines = Vec::new();
        let mut built_in: Vec<EffectiveSetting> = Vec::new();
        for policy in self.iter() {
            let (own, others): (Vec<_>, Vec<_>) =
                policy.settings().into_iter().partition(|setting| setting.place != RulePlace::BuiltIn);
            // What every policy has is told once.
            for other in others {
                if !built_in.contains(&other) {
                    built_in.push(other);
                }
            }
            if !own.is_empty() {
                lines.push(policy.source().into());
                lines.extend(settings_lines(&own, width));
                lines.push(Rich::default());
            }
        }
        lines.push(match self.files().is_empty() {
            true => "the defaults".into(),
            false => "built in, where no file says otherwise".into(),
        });
        // Settings of a kind stay together, whichever policy had them first.
        built_in.sort_by_key(|setting| KEYS.iter().position(|key| key.path == setting.key));
        lines.extend(settings_lines(&built_in, width));
        lines
    }

    fn notes(&self) -> Vec<String> {
        let bounded = self.bounded().map(|_| {
            format!("the folder's policy cannot let through more than the defaults do, {ONLY_THE_USER}")
        });
        let several =
            (self.files().len() > 1).then(|| "of several policies, the strictest decides".to_owned());
        bounded.or(several).into_iter().chain(self.opens_in_vain()).collect()
    }
}

/// A line for each value, and for each list with its patterns from one place.
fn settings_lines(settings: &[EffectiveSetting], width: Option<usize>) -> Vec<Rich> {
    let column = settings.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
    let same = |first: &EffectiveSetting, second: &EffectiveSetting| {
        first.key == second.key && first.place == second.place
    };
    let lines = settings.chunk_by(same).flat_map(|group| {
        let values: Vec<&str> = group.iter().map(|setting| setting.value.as_str()).collect();
        let place = match &group[0].place {
            RulePlace::File { name, line } => format!("  ({name}:{line})"),
            RulePlace::BuiltIn => String::new(),
        };
        Rich::plain(format!("  {:column$}  ", group[0].key))
            .with(Tone::Accent, values.join(", "))
            .with(Tone::Faint, place)
            .wrap(width, column + 4)
    });
    lines.collect()
}
