//! Estimates whether a model fits into memory.
//!
//! Asked before it is tried: on most systems memory is promised to whoever asks, and whoever then uses it is killed.

use llama_cpp_2::model::LlamaModel;

use super::load::EngineCapacity;
use crate::LocalError;

const MIB: u64 = 1 << 20;

/// The room that there is memory for: what is wanted, or the same for fewer conversations at once. The weights are mapped from
/// their file, and need no memory that the system could not take back.
pub(super) fn fitting(
    model: &LlamaModel,
    wanted: EngineCapacity,
    batch_tokens: u32,
) -> Result<EngineCapacity, LocalError> {
    let facts = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = available(&facts);
    let fits = |room: EngineCapacity| {
        let needed = conversations(model, room.tokens * room.conversations) + computing(model, batch_tokens);
        compare(needed / MIB, available).map(|()| room)
    };
    let rooms =
        (1..=wanted.conversations).rev().map(|conversations| EngineCapacity { conversations, ..wanted });
    rooms.map(fits).reduce(Result::or).unwrap_or(Ok(wanted))
}

/// Where the system does not say what is there, the engine has to find out.
fn compare(needed: u64, available: Option<u64>) -> Result<(), LocalError> {
    match available {
        Some(available) if available < needed => Err(LocalError::Memory { needed, available }),
        _ => Ok(()),
    }
}

/// What the conversations take: for every token and layer, a key and a value per head, of two bytes per number.
fn conversations(model: &LlamaModel, tokens: u32) -> u64 {
    let width = |key: &str| {
        let architecture = model.meta_val_str("general.architecture").ok()?;
        model.meta_val_str(&format!("{architecture}.attention.{key}")).ok()?.parse::<u64>().ok()
    };
    let heads = u64::from(model.n_head().max(1));
    let usual = u64::try_from(model.n_embd()).unwrap_or(0) / heads;
    let numbers = width("key_length").unwrap_or(usual) + width("value_length").unwrap_or(usual);
    u64::from(tokens) * u64::from(model.n_layer()) * u64::from(model.n_head_kv()) * numbers * 2
}

/// What a step takes: a number for every token of the vocabulary, and some of the model's width, per token of the batch.
fn computing(model: &LlamaModel, batch_tokens: u32) -> u64 {
    let vocabulary = u64::try_from(model.n_vocab()).unwrap_or(0);
    let width = u64::try_from(model.n_embd()).unwrap_or(0);
    u64::from(batch_tokens) * (vocabulary + 16 * width) * 4
}

/// What can be used without anything being taken from others, in MiB, from what Linux says of its memory.
fn available(facts: &str) -> Option<u64> {
    let line = facts.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        let available = available("MemTotal:       24000000 kB\nMemAvailable:    2048000 kB\n");
        assert_eq!(available, Some(2000));
        assert!(compare(2000, available).is_ok());
        let error = compare(2001, available).unwrap_err();
        assert!(matches!(error, LocalError::Memory { needed: 2001, available: 2000 }), "{error}");
        assert!(compare(u64::MAX, super::available("")).is_ok());
    }
}
