//! Pools the states of a text's tokens into one vector.

/// The direction of the mean of a text's states, with length one. `None` if it has none.
///
/// `states` has a row of `width` numbers for every place of the text's batch; the text's own tokens are the first
/// `tokens` of them, and the rest is padding, which must not count.
pub(super) fn mean(states: &[f32], width: usize, tokens: usize) -> Option<Vec<f32>> {
    // Dividing the sum by the number of tokens would not change its direction.
    let mut sum = vec![0.0_f64; width];
    for state in states.chunks_exact(width).take(tokens) {
        for (sum, number) in sum.iter_mut().zip(state) {
            *sum += f64::from(*number);
        }
    }
    let length = sum.iter().map(|number| number.powi(2)).sum::<f64>().sqrt();
    length.is_normal().then(|| sum.into_iter().map(|number| (number / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_count() {
        let states = [3.0, 0.0, 0.0, 4.0, 900.0, -900.0];
        assert_eq!(mean(&states, 2, 2), Some(vec![0.6, 0.8]));
        assert_eq!(mean(&states, 2, 1), Some(vec![1.0, 0.0]));
    }

    #[test]
    fn what_has_no_direction_gives_no_vector() {
        assert_eq!(mean(&[1.0, -2.0, -1.0, 2.0], 2, 2), None);
        assert_eq!(mean(&[f32::NAN, 1.0], 2, 1), None);
        assert_eq!(mean(&[f32::INFINITY, 1.0], 2, 1), None);
    }
}
