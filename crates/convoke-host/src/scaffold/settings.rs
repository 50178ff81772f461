//! The first `convoke.toml`.

use super::ProjectPlan;

/// Everything that is usual to set, as comments.
const TEMPLATE: &str = include_str!("convoke.toml");

/// Where the model stands in it.
const MODEL: &str = "#model = \"anthropic/claude-sonnet-5-5\"\n";

/// The text of the first configuration.
pub(super) fn text(plan: &ProjectPlan) -> String {
    match &plan.model {
        Some(model) => TEMPLATE.replace(MODEL, &format!("model = \"{model}\"\n")),
        None => TEMPLATE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use convoke_config::{Environment, Loader, schema};

    use super::*;

    fn loaded(text: &str) -> convoke_config::Config {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("convoke.toml"), text).expect("it can be written");
        let loader = Loader::new(Environment::of([])).folder(folder.path());
        loader.load().unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn nothing_is_set_until_somebody_says_so() {
        let plan = ProjectPlan::usual("plan");
        assert!(loaded(&text(&plan)).settings().is_empty());
        let chosen = ProjectPlan { model: Some("ollama/qwen3".to_owned()), ..plan };
        assert_eq!(loaded(&text(&chosen)).models().model.as_deref(), Some("ollama/qwen3"));
    }

    #[test]
    fn every_comment_that_looks_like_a_setting_is_one_and_every_section_is_there() {
        let uncommented: String = TEMPLATE
            .lines()
            .map(|line| {
                format!("{}\n", line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
            })
            .collect();
        let config = loaded(&uncommented);
        // A folder says neither whom its user trusts nor where runs are kept.
        for section in schema::sections().filter(|section| !["trusted_hosts", "store"].contains(section)) {
            let is_there = config.settings().iter().any(|setting| setting.key.section() == section);
            assert!(is_there, "{section} is missing");
        }
    }
}
