//! Choosing a token.
//!
//! Done here and not by the engine: a few lines give the same choice for the same seed on every platform, and let the
//! grammar have its say before anything is chosen.

/// How to choose. Made once for a reply; a random one is used up token by token.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    temperature: f32,
    top_p: f32,
    random: SplitMix,
    candidates: Vec<(u32, f32)>,
}

impl Sampler {
    pub(crate) fn new(temperature: f64, top_p: f64, seed: u64) -> Self {
        Self {
            #[expect(clippy::cast_possible_truncation, reason = "both are small numbers")]
            temperature: temperature as f32,
            #[expect(clippy::cast_possible_truncation, reason = "both are small numbers")]
            top_p: top_p as f32,
            random: SplitMix(seed),
            candidates: Vec::new(),
        }
    }

    /// Chooses one of the allowed tokens; `None` if there is none.
    pub(crate) fn choose(&mut self, logits: &[f32], allowed: impl Fn(u32) -> bool) -> Option<u32> {
        let tokens =
            (0u32..).zip(logits.iter().copied()).filter(|(token, logit)| !logit.is_nan() && allowed(*token));
        if self.temperature <= 0.0 {
            // The first of equals, so that the choice is the same everywhere.
            return tokens
                .reduce(|best, next| if next.1 > best.1 { next } else { best })
                .map(|(token, _)| token);
        }
        self.candidates.clear();
        self.candidates.extend(tokens);
        let best = self.candidates.iter().map(|(_, logit)| *logit).fold(f32::NEG_INFINITY, f32::max);
        for (_, weight) in &mut self.candidates {
            *weight = ((*weight - best) / self.temperature).exp();
        }
        if self.top_p < 1.0 {
            self.keep_likeliest();
        }
        let total: f32 = self.candidates.iter().map(|(_, weight)| weight).sum();
        let mut point = self.random.unit() * total;
        for (token, weight) in &self.candidates {
            point -= weight;
            if point < 0.0 {
                return Some(*token);
            }
        }
        // Rounding may leave a rest.
        self.candidates.last().map(|(token, _)| *token)
    }

    /// Keeps the fewest of the likeliest candidates that have the wanted share of all weight together.
    fn keep_likeliest(&mut self) {
        let total: f32 = self.candidates.iter().map(|(_, weight)| weight).sum();
        // What is a million times less likely than the best is never kept; leaving it out makes sorting cheap.
        self.candidates.retain(|(_, weight)| *weight > 1e-6);
        self.candidates.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let mut share = 0.0;
        let enough = |(_, weight): &(u32, f32)| {
            share += weight;
            share >= total * self.top_p
        };
        let kept = self.candidates.iter().position(enough).map_or(self.candidates.len(), |last| last + 1);
        self.candidates.truncate(kept);
    }
}

/// A small generator of random numbers; good enough for dice, and the same everywhere.
#[derive(Debug, Clone)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, but not including, 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits fit")]
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 4] = [1.0, 3.0, 2.0, f32::NAN];

    #[test]
    fn no_temperature_takes_the_likeliest_that_is_allowed() {
        let mut sampler = Sampler::new(0.0, 1.0, 1);
        assert_eq!(sampler.choose(&LOGITS, |_| true), Some(1));
        assert_eq!(sampler.choose(&LOGITS, |token| token != 1), Some(2));
        assert_eq!(sampler.choose(&LOGITS, |token| token == 3), None);
    }

    #[test]
    fn the_same_seed_makes_the_same_choices_in_the_right_proportion() {
        let draw = |seed| {
            let mut sampler = Sampler::new(1.0, 1.0, seed);
            (0..1000).map(move |_| sampler.choose(&LOGITS, |_| true).unwrap()).collect::<Vec<_>>()
        };
        let choices = draw(7);
        assert_eq!(choices, draw(7));
        assert_ne!(choices, draw(8));
        // exp(2) / (exp(0) + exp(2) + exp(1)) is 0.665.
        let best = choices.iter().filter(|token| **token == 1).count();
        assert!((600..730).contains(&best), "{best}");
    }

    #[test]
    fn top_p_leaves_out_what_is_unlikely() {
        let mut sampler = Sampler::new(1.0, 0.6, 3);
        assert!((0..200).all(|_| sampler.choose(&LOGITS, |_| true) == Some(1)));
        let mut sampler = Sampler::new(1.0, 0.8, 3);
        let choices: Vec<_> = (0..200).map(|_| sampler.choose(&LOGITS, |_| true).unwrap()).collect();
        assert!(choices.contains(&2) && !choices.contains(&0));
    }
}
