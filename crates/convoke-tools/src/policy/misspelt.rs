//! Tools that a policy names, and that are probably slips.

use convoke_text::nearest;

use super::Policy;

impl Policy {
    /// Returns a note for each section about a tool that is not among the known ones, but is called almost as one of them. It is no
    /// mistake: tools of servers and of the user's own programs are known only when they run.
    #[must_use]
    pub fn misspelt_tools(&self, known: &[&str]) -> Vec<String> {
        let unknown = self.tools.keys().filter(|name| !known.contains(&name.as_str()));
        let misspelt = unknown.filter(|name| !name.starts_with("mcp_")).filter_map(|name| {
            let meant = nearest(name, known.iter().copied())?;
            let section = format!("tools.{name}.");
            let lines = self.lines.iter().filter(|(key, _)| key.starts_with(&section));
            let place =
                lines.map(|(_, line)| *line).min().map_or_else(String::new, |line| format!(":{line}"));
            Some(format!(
                "{}{place}: [tools.{name}] holds for no tool that is known; did you mean [tools.{meant}]?",
                self.source
            ))
        });
        misspelt.collect()
    }
}
