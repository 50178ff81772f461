//! Detects the word by which an iteration says it is the last.

/// The word that ends a convergence.
pub(crate) const MARKER: &str = "CONVERGED";

/// The verdict of an iteration about going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConvergenceVerdict {
    /// Nothing is left to improve.
    Converged {
        /// What else it says, without the marker. May be empty.
        rest: String,
    },
    /// It says nothing of the kind.
    NotYet,
}

/// Looks for the marker: alone in the last line, whatever emphasis or full stop it has. Anywhere else it is a word like
/// any other.
pub(crate) fn verdict(text: &str) -> ConvergenceVerdict {
    let text = text.trim_end();
    let (rest, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let bare =
        last.trim().trim_matches(|mark: char| matches!(mark, '*' | '_' | '`' | '"' | '.' | '!' | '#' | ' '));
    if bare == MARKER {
        ConvergenceVerdict::Converged { rest: rest.trim_end().to_owned() }
    } else {
        ConvergenceVerdict::NotYet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converged(rest: &str) -> ConvergenceVerdict {
        ConvergenceVerdict::Converged { rest: rest.to_owned() }
    }

    #[test]
    fn agent_104_the_marker_is_understood_with_emphasis_and_white_space() {
        for text in
            ["CONVERGED", "  CONVERGED \n", "CONVERGED.", "**CONVERGED**", "`CONVERGED`", "\nCONVERGED!"]
        {
            assert_eq!(verdict(text), converged(""), "{text:?}");
        }
    }

    #[test]
    fn agentcore_091_a_word_in_a_sentence_ends_nothing() {
        for text in ["not yet CONVERGED, go on", "UNCONVERGED", "converged", "CONVERGED\nor is it?", ""] {
            assert_eq!(verdict(text), ConvergenceVerdict::NotYet, "{text:?}");
        }
    }

    #[test]
    fn agentcore_090_text_before_the_marker_is_kept_without_it() {
        assert_eq!(verdict("The essay.\n\nCONVERGED\n"), converged("The essay."));
    }
}
