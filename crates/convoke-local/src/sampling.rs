//! Samples tokens with llama.cpp's own samplers, with penalties for repetition.
//!
//! What a reply has said so far counts against saying it again: small models fall into loops otherwise. The prompt does not
//! count: quoting a file or a conversation is no repetition. Answers under a grammar are not penalised word by word, because
//! JSON repeats itself by nature; only long runs of the same tokens are.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// How many tokens of the reply count as repetition, word by word.
const PENALTY_WINDOW: i32 = 64;
/// How many tokens in a row may be said again before that is a loop. Names, paths and phrases are shorter.
const LONGEST_PHRASE: i32 = 12;
/// How many tokens of the reply are searched for loops. None are for a negative number, which once meant all.
const LOOP_WINDOW: i32 = 2048;
/// By how much each further token of a loop is less likely than the one before it.
const LOOP_GROWTH: f32 = 1.75;

/// Sampling parameters of a reply. Values of 0 (of 1 for `repeat_penalty` and `top_p`) switch a part off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) temperature: f32,
    pub(crate) top_p: f32,
    pub(crate) top_k: i32,
    pub(crate) min_p: f32,
    pub(crate) repeat_penalty: f32,
    pub(crate) dry_multiplier: f32,
    pub(crate) seed: u32,
}

/// Chooses the tokens of one reply.
pub(crate) struct Sampler {
    chain: LlamaSampler,
    candidates: LlamaTokenDataArray,
}

impl Sampler {
    /// A sampler for a model's reply; `has_grammar` if something else sees to its shape.
    pub(crate) fn new(sampling: &Sampling, model: &LlamaModel, has_grammar: bool) -> Self {
        let dry = (sampling.dry_multiplier > 0.0).then(|| {
            let breakers: [&[u8]; 0] = [];
            LlamaSampler::dry(
                model,
                sampling.dry_multiplier,
                LOOP_GROWTH,
                LONGEST_PHRASE,
                LOOP_WINDOW,
                breakers,
            )
        });
        let penalties = (!has_grammar && (sampling.repeat_penalty - 1.0).abs() > f32::EPSILON).then(|| {
            LlamaSampler::penalties(model.n_vocab(), PENALTY_WINDOW, sampling.repeat_penalty, 0.0, 0.0)
        });
        Self::of(penalties.into_iter().chain(dry), sampling)
    }

    fn of(repetition: impl IntoIterator<Item = LlamaSampler>, sampling: &Sampling) -> Self {
        let mut chain: Vec<LlamaSampler> = repetition.into_iter().collect();
        if sampling.temperature <= 0.0 {
            chain.push(LlamaSampler::greedy());
        } else {
            chain.extend((sampling.top_k > 0).then(|| LlamaSampler::top_k(sampling.top_k)));
            chain.extend((sampling.top_p < 1.0).then(|| LlamaSampler::top_p(sampling.top_p, 1)));
            chain.extend((sampling.min_p > 0.0).then(|| LlamaSampler::min_p(sampling.min_p, 1)));
            chain.push(LlamaSampler::temp(sampling.temperature));
            chain.push(LlamaSampler::dist(sampling.seed));
        }
        Self {
            chain: LlamaSampler::chain_simple(chain),
            candidates: LlamaTokenDataArray::new(Vec::new(), false),
        }
    }

    /// Chooses one of the allowed tokens; `None` if there is none.
    pub(crate) fn choose(&mut self, logits: &[f32], allowed: impl Fn(u32) -> bool) -> Option<u32> {
        let tokens = (0u32..)
            .zip(logits)
            .filter(|(token, logit)| !logit.is_nan() && allowed(*token))
            .map(|(token, logit)| LlamaTokenData::new(LlamaToken(token.cast_signed()), *logit, 0.0));
        let candidates = &mut self.candidates;
        candidates.data.clear();
        candidates.data.extend(tokens);
        (candidates.selected, candidates.sorted) = (None, false);
        if candidates.data.is_empty() {
            return None;
        }
        self.chain.apply(candidates);
        candidates.selected_token().map(|token| token.0.cast_unsigned())
    }

    /// Notes that a token was written.
    pub(crate) fn accept(&mut self, token: LlamaToken) {
        self.chain.accept(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 4] = [1.0, 3.0, 2.0, f32::NAN];
    const PLAIN: Sampling = Sampling {
        temperature: 0.0,
        top_p: 1.0,
        top_k: 0,
        min_p: 0.0,
        repeat_penalty: 1.0,
        dry_multiplier: 0.0,
        seed: 1,
    };

    fn draw(sampling: Sampling, count: usize) -> Vec<u32> {
        let mut sampler = Sampler::of([], &sampling);
        (0..count).map(|_| sampler.choose(&LOGITS, |_| true).unwrap()).collect()
    }

    #[test]
    fn no_temperature_takes_the_likeliest_that_is_allowed() {
        let mut sampler = Sampler::of([], &PLAIN);
        assert_eq!(sampler.choose(&LOGITS, |_| true), Some(1));
        assert_eq!(sampler.choose(&LOGITS, |token| token != 1), Some(2));
        assert_eq!(sampler.choose(&LOGITS, |token| token == 3), None);
    }

    #[test]
    fn the_same_seed_makes_the_same_choices_in_the_right_proportion() {
        let seeded = |seed| draw(Sampling { temperature: 1.0, seed, ..PLAIN }, 1000);
        let choices = seeded(7);
        assert_eq!(choices, seeded(7));
        assert_ne!(choices, seeded(8));
        // exp(2) / (exp(0) + exp(2) + exp(1)) is 0.665.
        let best = choices.iter().filter(|token| **token == 1).count();
        assert!((600..730).contains(&best), "{best}");
    }

    #[test]
    fn top_p_top_k_and_min_p_leave_out_what_is_unlikely() {
        let warm = Sampling { temperature: 1.0, ..PLAIN };
        for narrow in
            [Sampling { top_p: 0.6, ..warm }, Sampling { top_k: 1, ..warm }, Sampling { min_p: 0.5, ..warm }]
        {
            assert!(draw(narrow, 200).iter().all(|token| *token == 1), "{narrow:?}");
        }
        let choices = draw(Sampling { top_k: 2, ..warm }, 200);
        assert!(choices.contains(&2) && !choices.contains(&0));
    }

    #[test]
    fn what_was_said_is_less_likely_to_be_said_again() {
        let penalty = LlamaSampler::penalties(4, PENALTY_WINDOW, 2.0, 0.0, 0.0);
        let mut sampler = Sampler::of([penalty], &PLAIN);
        assert_eq!(sampler.choose(&LOGITS, |_| true), Some(1));
        sampler.accept(LlamaToken(1));
        assert_eq!(sampler.choose(&LOGITS, |_| true), Some(2), "3.0 / 2.0 is less than 2.0");
    }

    /// With the vocabulary of the model that other tests use; whoever has none is told there that they did not run.
    #[test]
    fn a_loop_is_left_and_a_short_phrase_is_not() {
        let Some(file) = std::env::var_os("CONVOKE_TEST_MODEL") else { return };
        let parameters = llama_cpp_2::model::params::LlamaModelParams::default().with_vocab_only(true);
        let backend = crate::engine::backend().unwrap();
        let model = LlamaModel::load_from_file(backend, file, &parameters).unwrap();
        // A round of tokens was written so often; to begin it once more is the likeliest, and something else comes next.
        let written_after = |round: i32, times: i32| {
            let mut sampler = Sampler::new(&Sampling { dry_multiplier: 0.8, ..PLAIN }, &model, true);
            for token in (0..times).flat_map(|_| 100..100 + round) {
                sampler.accept(LlamaToken(token));
            }
            let mut logits = vec![0.0; usize::try_from(model.n_vocab()).unwrap()];
            (logits[100], logits[50]) = (2.0, 1.0);
            sampler.choose(&logits, |_| true)
        };
        assert_eq!(written_after(LONGEST_PHRASE / 2, 2), Some(100), "a short phrase may be said again");
        assert_eq!(written_after(LONGEST_PHRASE + 8, 2), Some(50), "a long one is a loop");
        assert_eq!(written_after(3, 20), Some(50), "and so is a short one, said for ever");
    }
}
