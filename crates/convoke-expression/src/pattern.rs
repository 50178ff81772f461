//! Regular expressions, which end soon whatever they are and whatever they are held against.
//!
//! First goes an automaton that takes the same time for every letter and is made as it is needed. There are patterns with which it would be
//! made without end: then it gives up, and what follows takes the longer the larger the pattern is, and is counted before.

use std::error::Error as _;

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{BuildError, Compiler, Config, WhichCaptures, pikevm::PikeVM};

use crate::work::{Evaluated, Work};

/// Patterns that take more bytes are not compiled.
const LARGEST: usize = 10 << 20;
/// So many bytes of a pattern are compiled while a value is touched.
const COMPILED: usize = 8;
/// So many bytes of a text go through the automaton while a value is touched.
const MATCHED: usize = 64;
/// So many states are gone through while a value is touched.
const STATES: usize = 32;
/// What the automaton may take, and how often it begins anew before it gives up.
const CACHE: usize = 2 << 20;
const ANEW: usize = 8;

#[derive(Debug)]
pub(crate) struct Pattern {
    automaton: Option<DFA>,
    slow: PikeVM,
    states: usize,
    /// How much work it was to compile.
    pub(crate) work: usize,
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
            automaton: automaton.ok(),
            slow: PikeVM::new_from_nfa(states.clone()).map_err(Box::new)?,
            work: states.memory_usage() / COMPILED,
            states: states.states().len(),
        })
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
        if let Some(automaton) = &self.automaton {
            let cache = made.get_or_insert_with(|| automaton.create_cache());
            if let Ok(found) = automaton.try_search_fwd(cache, &input) {
                return Ok(found.is_some());
            }
        }
        work.touch(text.len().saturating_mul(self.states) / STATES)?;
        Ok(self.slow.is_match(&mut self.slow.create_cache(), input))
    }
}
