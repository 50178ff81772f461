//! Seals a text that comes in pieces.

use super::seals::Seals;

/// A text that comes in pieces. What could be the beginning of a secret is kept back until it is known, and no more.
#[derive(Default)]
pub(super) struct Stream {
    /// What is not decided yet.
    held: String,
    /// How many bytes of that were passed on all the same, because something else came in between.
    told: usize,
}

impl Stream {
    /// What can be passed on after one more piece.
    pub(super) fn push(&mut self, seals: &Seals, more: &str) -> String {
        self.held.push_str(more);
        let (out, _) = self.advance(seals, false);
        out
    }

    /// Everything that was kept back: something else comes now, or nothing more. If a secret goes on after that, only its
    /// beginning will have been passed on, and that only if it is no more than half.
    pub(super) fn interrupt(&mut self, seals: &Seals) -> String {
        let (mut out, begun) = self.advance(seals, true);
        if out.ends_with(&begun) {
            out.truncate(out.len() - begun.len());
            out.push_str(&seals.seal_cut(&begun));
        }
        self.told = begun.len();
        self.held = begun;
        out
    }

    /// Passes on what is decided. With `all`, what is not decided is passed on too, and given back.
    fn advance(&mut self, seals: &Seals, all: bool) -> (String, String) {
        let mut out = String::new();
        let mut at = 0;
        let mut undecided = None;
        while let Some(character) = self.held[at..].chars().next() {
            let (whole, begun) = seals.find(&self.held[at..]);
            if begun && !all {
                break;
            }
            match whole {
                Some((length, mark)) => {
                    out.push_str(mark);
                    at += length;
                    undecided = None;
                }
                None => {
                    if begun && undecided.is_none() {
                        undecided = Some(at);
                    }
                    if at >= self.told {
                        out.push(character);
                    }
                    at += character.len_utf8();
                }
            }
        }
        let begun = undecided.map_or_else(String::new, |start| self.held[start..].to_owned());
        self.held.drain(..at);
        self.told = self.told.saturating_sub(at);
        (out, begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seals(secrets: &[&'static str]) -> Seals {
        Seals::new(secrets.iter().map(|secret| (format!("⟦{}⟧", secret.len()), *secret)))
    }

    fn in_pieces(seals: &Seals, pieces: &[&str]) -> Vec<String> {
        let mut stream = Stream::default();
        let mut out: Vec<String> = pieces.iter().map(|piece| stream.push(seals, piece)).collect();
        out.push(stream.interrupt(seals));
        out
    }

    #[test]
    fn no_more_is_kept_back_than_could_be_a_secret() {
        let seals = seals(&["hunter2"]);
        assert_eq!(in_pieces(&seals, &["the h", "at hunt", "er2!"]), ["the ", "hat ", "⟦7⟧!", ""]);
        assert_eq!(in_pieces(&seals, &["hunt"]), ["", "hunt"]);
        assert_eq!(in_pieces(&seals, &["hunter"]), ["", "⟦7:0-6⟧"]);
        assert_eq!(in_pieces(&seals, &["hunter", "hunter2"]), ["", "hunter⟦7⟧", ""]);
    }

    #[test]
    fn of_secrets_that_begin_the_same_the_longest_is_meant() {
        let seals = seals(&["abcd", "abcdef", "cdxy"]);
        assert_eq!(in_pieces(&seals, &["abcd", "ef abcd"]), ["", "⟦6⟧ ", "⟦4⟧"]);
        assert_eq!(in_pieces(&seals, &["abcd", "e."]), ["", "⟦4⟧e.", ""]);
        assert_eq!(in_pieces(&seals, &["abcdxy"]).concat(), "⟦4⟧xy");
    }

    #[test]
    fn a_secret_with_something_else_in_between_is_not_passed_on_whole() {
        let seals = seals(&["hunter2"]);
        let mut stream = Stream::default();
        assert_eq!(stream.push(&seals, "a hunt"), "a ");
        assert_eq!(stream.interrupt(&seals), "hunt");
        assert_eq!(stream.push(&seals, "er2 b"), "⟦7⟧ b");
        assert_eq!(stream.push(&seals, "hu"), "");
        assert_eq!(stream.interrupt(&seals), "hu");
        assert_eq!(stream.push(&seals, "h"), "");
        assert_eq!(stream.push(&seals, "unter2"), "⟦7⟧");
    }
}
