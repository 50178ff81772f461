//! Capabilities of Claude models by their names.
//!
//! Names that are newer than this file count as the newest of their line. Names that are no Claude's (other servers
//! speak this protocol too) count as what every server understands.

/// The capabilities that models of one line and version share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family {
    /// How it thinks.
    pub(super) thinking: Thinking,
    /// Whether it takes a temperature and the like.
    pub(super) sampling: bool,
    /// Whether it can be held to a JSON Schema.
    pub(super) shapes: bool,
    /// How much it may write unless told otherwise. The protocol insists on a number; it is what the model can do, or
    /// less where that much would be taken off what it can read.
    pub(super) max_tokens: u32,
}

/// The way a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// It does not.
    Never,
    /// Within a budget of tokens, if asked to.
    Budget,
    /// As it sees fit, if asked to.
    Adaptive,
    /// As it sees fit, unless asked not to.
    AdaptiveByDefault,
    /// As it sees fit, whatever it is asked.
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Opus,
    Sonnet,
    Haiku,
    /// Fable and Mythos.
    Story,
}

impl Family {
    /// The family of this model.
    pub(super) fn of(model: &str) -> Self {
        let words: Vec<_> = model.split(|character: char| !character.is_ascii_alphanumeric()).collect();
        if !words.contains(&"claude") {
            return Self { thinking: Thinking::Budget, sampling: true, shapes: false, max_tokens: 8_192 };
        }
        let is_newest =
            Self { thinking: Thinking::AdaptiveByDefault, sampling: false, shapes: true, max_tokens: 64_000 };
        let Some(line) = line(&words) else {
            return match version(&words) {
                Some(version) if version < (3, 0) => Self::early(4_096),
                _ => is_newest,
            };
        };
        match (line, version(&words)) {
            (Line::Story, _) => Self { thinking: Thinking::Always, ..is_newest },
            (_, None) => is_newest,
            (_, Some(version)) if version >= (5, 0) => is_newest,
            (Line::Opus, Some(version)) if version >= (4, 7) => {
                Self { thinking: Thinking::Adaptive, ..is_newest }
            }
            (Line::Opus | Line::Sonnet, Some(version)) if version >= (4, 6) => {
                Self { thinking: Thinking::Adaptive, sampling: true, ..is_newest }
            }
            (_, Some(version)) if version >= (4, 5) => {
                Self { thinking: Thinking::Budget, sampling: true, ..is_newest }
            }
            (line, Some(version)) if version >= (3, 7) => Self {
                thinking: Thinking::Budget,
                sampling: true,
                shapes: line == Line::Opus && version == (4, 1),
                max_tokens: 32_000,
            },
            (_, Some((3, 5))) => Self::early(8_192),
            _ => Self::early(4_096),
        }
    }

    fn early(max_tokens: u32) -> Self {
        Self { thinking: Thinking::Never, sampling: true, shapes: false, max_tokens }
    }
}

fn line(words: &[&str]) -> Option<Line> {
    words.iter().find_map(|word| match *word {
        "opus" => Some(Line::Opus),
        "sonnet" => Some(Line::Sonnet),
        "haiku" => Some(Line::Haiku),
        "fable" | "mythos" => Some(Line::Story),
        _ => None,
    })
}

/// The first number or two; a longer one is a date.
fn version(words: &[&str]) -> Option<(u32, u32)> {
    let number = |word: &str| if word.len() <= 2 { word.parse::<u32>().ok() } else { None };
    let at = words.iter().position(|word| number(word).is_some())?;
    let minor = words.get(at + 1).and_then(|word| number(word));
    Some((number(words[at])?, minor.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str) -> (Thinking, bool, bool, u32) {
        let Family { thinking, sampling, shapes, max_tokens } = Family::of(model);
        (thinking, sampling, shapes, max_tokens)
    }

    #[test]
    fn names_old_and_new_are_told_apart() {
        use Thinking::*;
        for (name, expected) in [
            ("claude-2.1", (Never, true, false, 4_096)),
            ("claude-3-haiku-20240307", (Never, true, false, 4_096)),
            ("claude-3-5-sonnet-20241022", (Never, true, false, 8_192)),
            ("claude-3-7-sonnet-latest", (Budget, true, false, 32_000)),
            ("claude-opus-4-20250514", (Budget, true, false, 32_000)),
            ("claude-opus-4-1", (Budget, true, true, 32_000)),
            ("claude-sonnet-4-5-20250929", (Budget, true, true, 64_000)),
            ("claude-haiku-4-5", (Budget, true, true, 64_000)),
            ("anthropic.claude-opus-4-6-v1:0", (Adaptive, true, true, 64_000)),
            ("anthropic/claude-sonnet-4.6", (Adaptive, true, true, 64_000)),
            ("claude-opus-4-8", (Adaptive, false, true, 64_000)),
            ("claude-haiku-5-5", (AdaptiveByDefault, false, true, 64_000)),
            ("claude-opus-5", (AdaptiveByDefault, false, true, 64_000)),
            ("claude-sonnet-17", (AdaptiveByDefault, false, true, 64_000)),
            ("claude-mythos-preview", (Always, false, true, 64_000)),
            ("claude-fable-5-1", (Always, false, true, 64_000)),
            ("glm-5.2", (Budget, true, false, 8_192)),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }
}
