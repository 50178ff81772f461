//! Regular expressions, which end soon whatever they are and whatever they are held against.
//!
//! First goes an automaton that takes the same time for every letter. A small one of a literal is made when the expression is read; others
//! are made as they are needed. There are patterns with which that would be without end: then it gives up, and what follows takes the
//! longer the larger the pattern is, and is counted before.

use std::error::Error as _;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{BuildError, Compiler, Config, WhichCaptures, pikevm::PikeVM};
use regex_automata::{HalfMatch, Input, MatchError};

use crate::work::{Evaluated, Work};

/// Patterns that take more bytes are not compiled.
const LARGEST: usize = 10 << 20;
/// So many bytes of a pattern are compiled while a value is touched.
const COMPILED: usize = 8;
/// So many bytes of a text go through the automaton while a value is touched.
const MATCHED: usize = 64;
/// So many states are gone through while a value is touched.
const STATES: usize = 32;
/// What an automaton may take that is made as it is needed, and how often it begins anew before it gives up.
const CACHE: usize = 2 << 20;
const ANEW: usize = 8;
/// What a whole automaton may take, and the making of it: so much less that the other would never begin anew. So both find the same, and
/// the same is counted.
const WHOLE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Pattern {
    automaton: Option<Automaton>,
    slow: PikeVM,
    states: usize,
    /// How much work it was to compile.
    pub(crate) work: usize,
}

/// What takes the same time for every letter.
#[derive(Debug)]
enum Automaton {
    Whole(dense::DFA<Vec<u32>>),
    /// Made as it is needed, anew in every evaluation: when it gives up must not depend on what was asked before.
    InTime(DFA),
}

impl Automaton {
    fn search(&self, input: &Input<'_>, made: &mut Option<Cache>) -> Result<Option<HalfMatch>, MatchError> {
        match self {
            Self::Whole(automaton) => automaton.try_search_fwd(input),
            Self::InTime(automaton) => {
                automaton.try_search_fwd(made.get_or_insert_with(|| automaton.create_cache()), input)
            }
        }
    }
}

impl Pattern {
    /// Compiles a pattern, or says what is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        Self::compiled(text).map_err(|error| {
            if error.size_limit().is_some() {
                return format!("the regular expression `{text}` is too large: repeat less in it");
            }
            let problem = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let problem = problem.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is not a regular expression: {problem}")
        })
    }

    fn compiled(text: &str) -> Result<Self, Box<BuildError>> {
        let config = Config::new().nfa_size_limit(Some(LARGEST)).which_captures(WhichCaptures::None);
        let states = Compiler::new().configure(config).build(text).map_err(Box::new)?;
        let automaton = DFA::config()
            .cache_capacity(CACHE)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(ANEW))
            .unicode_word_boundary(true);
        let automaton = DFA::builder().configure(automaton).build_from_nfa(states.clone());
        Ok(Self {
            automaton: automaton.ok().map(Automaton::InTime),
            slow: PikeVM::new_from_nfa(states.clone()).map_err(Box::new)?,
            work: states.memory_usage() / COMPILED,
            states: states.states().len(),
        })
    }

    /// Makes its whole automaton now, if that is small: for a pattern that is asked again and again.
    pub(crate) fn made_whole(mut self) -> Self {
        let config = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(WHOLE))
            .determinize_size_limit(Some(WHOLE))
            .unicode_word_boundary(true);
        let whole = dense::Builder::new().configure(config).build_from_nfa(self.slow.get_nfa());
        self.automaton = whole.ok().map(Automaton::Whole).or(self.automaton);
        self
    }

    /// Whether something in a text fits. What was made of the automaton before is kept for the next text.
    pub(crate) fn fits(
        &self,
        text: &str,
        made: &mut Option<Cache>,
        work: &mut Work,
    ) -> Evaluated<'static, bool> {
        work.touch(text.len() / MATCHED)?;
        let input = Input::new(text).earliest(true);
        if let Some(Ok(found)) = self.automaton.as_ref().map(|automaton| automaton.search(&input, made)) {
            return Ok(found.is_some());
        }
        work.touch(text.len().saturating_mul(self.states) / STATES)?;
        Ok(self.slow.is_match(&mut self.slow.create_cache(), input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_automaton_finds_and_counts_the_same_as_one_made_in_time() {
        let long = "ab".repeat(5_000);
        let texts = ["", "a", "Anna", "größer als", "ein Wort, zwei", "0017", "a\nb", "\u{10ffff}", &*long];
        let patterns = [
            "",
            "^a.*a$",
            "(?i)ANNA",
            r"\bals\b",
            r"^0+\d{2}$",
            r"\w+, \w+",
            "(a|b)*c",
            "^[^a]?$",
            "ö|ü",
            "a{500}",
        ];
        for pattern in patterns {
            let [in_time, literal] = [(); 2].map(|()| Pattern::new(pattern).unwrap());
            let whole = literal.made_whole();
            for text in texts {
                let asked = |pattern: &Pattern| {
                    let mut work = Work::new();
                    (pattern.fits(text, &mut None, &mut work).unwrap(), work.done())
                };
                assert_eq!(asked(&whole), asked(&in_time), "`{text}` matches `{pattern}`");
            }
        }
    }

    #[test]
    fn what_would_take_much_is_not_made_whole() {
        let kept = |pattern: &str| Pattern::new(pattern).unwrap().made_whole().automaton;
        assert!(matches!(kept("^a.*a$"), Some(Automaton::Whole(_))));
        assert!(matches!(kept("a[ab]{1000}c"), Some(Automaton::InTime(_))));
    }
}
