//! Maps bytes of a text to lines.

/// Where the lines of a text begin, found once: a file may have tens of thousands of rules, and each says its line.
#[derive(Debug)]
pub(super) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(super) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.0.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_belongs_to_the_line_it_ends() {
        let lines = LineIndex::of("a\n\nb");
        let found: Vec<usize> = (0..5).map(|at| lines.line(at)).collect();
        assert_eq!(found, [1, 1, 2, 3, 3]);
    }
}
