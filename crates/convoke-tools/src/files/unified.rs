//! Unified diffs: read, and applied as a whole or not at all.

/// No file that is patched has more lines: it would be too long to be read.
const MOST_LINES: usize = 100_000_000;

/// One file's part of a unified diff.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// The line in the old file where it begins, counted from 1.
    start: usize,
    /// Lines before and after, each with its line end.
    old: Vec<String>,
    new: Vec<String>,
}

impl Patch {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut hunks = Vec::new();
        let mut lines = text.split_inclusive('\n').enumerate().peekable();
        let mut files = 0;
        while let Some((index, line)) = lines.next() {
            if line.starts_with("--- ") {
                files += 1;
                if files > 1 {
                    return Err(format!(
                        "line {}: the patch is for several files; give each its own call",
                        index + 1
                    ));
                }
            }
            if line.starts_with("+++ /dev/null") {
                return Err("the patch removes the file; use rm for that".to_owned());
            }
            let Some(header) = line.strip_prefix("@@ ") else { continue };
            let (start, mut old_left, mut new_left) = header_of(header)
                .ok_or_else(|| format!("line {}: `{}` is not a hunk's header", index + 1, line.trim_end()))?;
            let mut hunk = Hunk { start, old: Vec::new(), new: Vec::new() };
            while old_left > 0 || new_left > 0 {
                let Some((index, line)) = lines.next() else {
                    return Err(format!(
                        "the hunk at line {} ends early: {old_left} old and {new_left} new lines are missing",
                        index + 1
                    ));
                };
                let (mark, rest) = line.split_at_checked(1).unwrap_or((line, ""));
                let counts = match mark {
                    " " => (1, 1),
                    // An empty line of context often loses its blank on the way.
                    "\n" => (1, 1),
                    "-" => (1, 0),
                    "+" => (0, 1),
                    _ => return Err(format!("line {}: it begins with neither ` `, `-` nor `+`", index + 1)),
                };
                if counts.0 > old_left || counts.1 > new_left {
                    return Err(format!("line {}: the hunk has more lines than its header says", index + 1));
                }
                old_left -= counts.0;
                new_left -= counts.1;
                let mut content = if mark == "\n" { "\n".to_owned() } else { rest.to_owned() };
                if lines.peek().is_some_and(|(_, next)| next.starts_with('\\')) {
                    lines.next();
                    content.truncate(content.trim_end_matches('\n').len());
                } else if !content.ends_with('\n') {
                    content.push('\n');
                }
                if counts.0 == 1 {
                    hunk.old.push(content.clone());
                }
                if counts.1 == 1 {
                    hunk.new.push(content);
                }
            }
            // The note about the last line end can come after the last line too.
            while lines.next_if(|(_, next)| next.starts_with('\\')).is_some() {}
            hunks.push(hunk);
        }
        if hunks.is_empty() {
            return Err(
                "there is no hunk in it; a hunk begins with `@@ -LINE,COUNT +LINE,COUNT @@`".to_owned()
            );
        }
        Ok(Self { hunks })
    }

    pub(super) fn hunks(&self) -> usize {
        self.hunks.len()
    }

    /// The patch that undoes this one, for a file that has it.
    pub(super) fn reversed(&self) -> Self {
        let mut shift = 0_isize;
        let reverse = |hunk: &Hunk| {
            let start = hunk.start.saturating_add_signed(shift);
            shift += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
            Hunk { start, old: hunk.new.clone(), new: hunk.old.clone() }
        };
        Self { hunks: self.hunks.iter().map(reverse).collect() }
    }

    /// The content with every hunk applied. A hunk whose lines stand elsewhere is applied there if there is one such
    /// place only.
    pub(super) fn apply(&self, content: &str) -> Result<String, String> {
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        let mut result = String::with_capacity(content.len());
        let mut done = 0;
        for (index, hunk) in self.hunks.iter().enumerate() {
            let at = hunk.place(&lines, done).map_err(|why| format!("hunk {}: {why}", index + 1))?;
            result.extend(lines[done..at].iter().copied());
            result.extend(hunk.new.iter().map(String::as_str));
            done = at + hunk.old.len();
        }
        result.extend(lines[done..].iter().copied());
        Ok(result)
    }
}

impl Hunk {
    /// Where it goes, at or after this line.
    fn place(&self, lines: &[&str], from: usize) -> Result<usize, String> {
        // A hunk that only adds says after which line.
        let wanted = if self.old.is_empty() { self.start } else { self.start.saturating_sub(1) };
        let fits = |at: usize| {
            at >= from
                && lines.get(at..at + self.old.len()).is_some_and(|found| found.iter().eq(self.old.iter()))
        };
        if fits(wanted) {
            return Ok(wanted);
        }
        if self.old.is_empty() {
            return Err(format!("there is no line {}, the file has {}", self.start, lines.len()));
        }
        let places: Vec<usize> = (from..lines.len()).filter(|at| fits(*at)).collect();
        match places[..] {
            [only] => Ok(only),
            [] => Err(self.mismatch(lines, wanted)),
            _ => Err(format!(
                "its lines are not at line {}, and stand at {} other places; give more lines around them",
                self.start,
                places.len()
            )),
        }
    }

    fn mismatch(&self, lines: &[&str], wanted: usize) -> String {
        let differing = self
            .old
            .iter()
            .enumerate()
            .find(|(index, line)| lines.get(wanted + index) != Some(&line.as_str()));
        let (index, expected) = differing.map_or((0, ""), |(index, line)| (index, line.trim_end()));
        match lines.get(wanted + index) {
            Some(found) => format!(
                "line {} is `{}`, and the patch expects `{expected}`; read the file again",
                wanted + index + 1,
                found.trim_end()
            ),
            None => {
                format!("the file ends at line {}, and the patch expects `{expected}` after it", lines.len())
            }
        }
    }
}

/// Start, old count and new count of `-1,2 +1,3 @@ …`.
fn header_of(header: &str) -> Option<(usize, usize, usize)> {
    let mut parts = header.split_whitespace();
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let (start, old) = range(parts.next()?.strip_prefix('-')?)?;
    let (_, new) = range(parts.next()?.strip_prefix('+')?)?;
    let is_sane = start < MOST_LINES && old < 1_000_000 && new < 1_000_000;
    (parts.next()?.starts_with("@@") && is_sane).then_some((start, old, new))
}
