//! Splits many texts into requests of the size a provider takes.

use crate::Provider;

/// OpenAI takes 300,000 tokens in one request, and a token is at least one byte. It is a good size for others as well.
const BYTES: usize = 300_000;

/// How many texts a request may have. What a provider does not limit is limited all the same: an answer has thousands of
/// numbers for every text.
pub(super) fn most_texts(provider: Provider) -> usize {
    match provider {
        Provider::Gemini => 100,
        Provider::OpenAi => 512,
        // The smallest limit among common servers.
        _ => 32,
    }
}

/// The texts in their order, cut into batches. A text that is too long for any batch has one to itself.
pub(super) fn split(texts: Vec<String>, most: usize) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    for text in texts {
        match batches.last_mut() {
            Some(batch) if batch.len() < most && bytes + text.len() <= BYTES => {
                bytes += text.len();
                batch.push(text);
            }
            _ => {
                bytes = text.len();
                batches.push(vec![text]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_order_and_stay_within_both_limits() {
        let sizes = [1, BYTES, 1, 1, 1, BYTES - 2, BYTES + 1, 1];
        let texts: Vec<_> = sizes.map(|size| "x".repeat(size)).into();
        let batches = split(texts.clone(), 3);
        assert_eq!(batches.concat(), texts);
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 3, 1, 1, 1]);
        assert!(split(Vec::new(), 3).is_empty());
    }
}
