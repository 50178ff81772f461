//! The headings of Markdown, as CommonMark has them, without reading anything else of it.
//!
//! What is within code, or within what stands between lines of `---` at the beginning of a file, is no heading.

use crate::chunk::Markup;

/// The longest heading that is underlined, in bytes. More than that is a paragraph with a line below it, and stays text.
const LONGEST: usize = 400;

/// A heading, with its first and last line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) lines: (u32, u32),
    pub(crate) level: usize,
    pub(crate) title: String,
}

/// The headings of a text, in order.
pub(crate) fn headings(text: &str, markup: Markup) -> Vec<Heading> {
    let mut found = Vec::new();
    if markup == Markup::None {
        return found;
    }
    let front = if markup == Markup::Markdown { front_matter(text) } else { 0 };
    let (mut fence, mut paragraph) = (None::<Fence>, Paragraph::None);
    for (number, line) in (1..).zip(text.lines()) {
        if number <= front {
            continue;
        }
        if let Some(open) = fence.take_if(|open| !open.is_left_by(line)) {
            fence = (!open.is_closed_by(line)).then_some(open);
            continue;
        }
        fence = Fence::opened_by(line);
        if fence.is_some() || line.trim().is_empty() {
            paragraph = Paragraph::None;
        } else if let Some((level, title)) = numbered(line) {
            found.push(Heading { lines: (number, number), level, title: title.to_owned() });
            paragraph = Paragraph::None;
        } else if markup == Markup::Markdown {
            paragraph = match (paragraph, underline(line)) {
                (Paragraph::Own { first, words }, Some(level)) => {
                    if words.len() <= LONGEST {
                        found.push(Heading { lines: (first, number), level, title: words });
                    }
                    Paragraph::None
                }
                (paragraph, _) => paragraph.with(number, line),
            };
        }
    }
    found
}

/// How many lines at the beginning are about the file and not in it.
fn front_matter(text: &str) -> u32 {
    let mut lines = (1..).zip(text.lines().map(str::trim_end));
    let begins = lines.next().is_some_and(|(_, line)| line == "---");
    let mut lines = lines.filter(|_| begins).peekable();
    // A rule has an empty line below it.
    let is_about = lines.peek().is_some_and(|(_, line)| !line.is_empty());
    let end = lines.find(|(_, line)| is_about && ["---", "..."].contains(line));
    end.map_or(0, |(number, _)| number)
}

/// The level and words of a heading that begins with `#`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = indented(line).filter(|(indent, _)| *indent < 4)?.1;
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let title = rest.strip_prefix([' ', '\t'])?.trim();
    let open = title.trim_end_matches('#');
    // In `# C#` it is part of the name.
    let title = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { title };
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

/// The level of a heading that has this line below it.
fn underline(line: &str) -> Option<usize> {
    let line = indented(line).filter(|(indent, _)| *indent < 4)?.1.trim_end();
    match line.as_bytes().first()? {
        b'=' => line.bytes().all(|byte| byte == b'=').then_some(1),
        b'-' => line.bytes().all(|byte| byte == b'-').then_some(2),
        _ => None,
    }
}

/// The lines above that a line may underline.
enum Paragraph {
    None,
    /// Lines of their own.
    Own {
        first: u32,
        words: String,
    },
    /// Of a list, a quotation, code or HTML: what follows without an empty line belongs to it.
    OfOthers,
}

impl Paragraph {
    fn with(self, number: u32, line: &str) -> Self {
        let (indent, rest) = indented(line).unwrap_or_default();
        let is_of_others = rest.starts_with(['>', '<']) || marker(rest).is_some();
        match self {
            Self::OfOthers => Self::OfOthers,
            _ if is_rule(line) => Self::None,
            Self::Own { .. } if indent < 4 && is_of_others => Self::OfOthers,
            Self::Own { first, mut words } => {
                if words.len() <= LONGEST {
                    words.push(' ');
                    words.push_str(line.trim());
                }
                Self::Own { first, words }
            }
            Self::None if indent >= 4 || is_of_others => Self::OfOthers,
            Self::None => Self::Own { first: number, words: line.trim().to_owned() },
        }
    }
}

/// Whether a line parts what is above it from what is below: `***`, `- - -`.
fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|letter| !letter.is_whitespace()).collect();
    marks.len() >= 3 && "-_*".contains(marks[0]) && marks.iter().all(|mark| *mark == marks[0])
}

/// A fence around code.
struct Fence {
    mark: char,
    length: usize,
    /// Where what belongs to its list begins; 0 if it is in none.
    column: usize,
    is_quoted: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let (is_quoted, mut rest) = unquoted(line);
        let mut column = 0;
        let (mark, length, info) = loop {
            let (indent, after) = indented(rest).filter(|(indent, _)| *indent < 4)?;
            match marker(after) {
                Some(width) => {
                    column += indent + width;
                    rest = &after[width..];
                }
                None => break run(after)?,
            }
        };
        // A line of text may begin with code in backticks.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { mark, length, column, is_quoted })
    }

    /// Whether a line is not in the list or quotation any more that it stands in.
    fn is_left_by(&self, line: &str) -> bool {
        let (is_quoted, rest) = unquoted(line);
        let is_before = indented(rest).is_some_and(|(indent, _)| indent < self.column);
        (self.is_quoted && !is_quoted) || (is_before && !rest.trim().is_empty())
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = if self.is_quoted { unquoted(line).1 } else { line };
        let Some((indent, rest)) = indented(rest) else { return false };
        let closes = |(mark, length, info): (char, usize, &str)| {
            mark == self.mark && length >= self.length && info.trim().is_empty()
        };
        indent < self.column + 4 && run(rest).is_some_and(closes)
    }
}

/// The backticks or tildes that a text begins with, how many, and what follows them.
fn run(text: &str) -> Option<(char, usize, &str)> {
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let info = text.trim_start_matches(mark);
    Some((mark, text.len() - info.len(), info))
}

/// A line without the marks of quotations, and whether it had any.
fn unquoted(line: &str) -> (bool, &str) {
    let (mut rest, mut is_quoted) = (line, false);
    while let Some(inner) =
        indented(rest).filter(|(indent, _)| *indent < 4).and_then(|(_, rest)| rest.strip_prefix('>'))
    {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
        is_quoted = true;
    }
    (is_quoted, rest)
}

/// How wide the mark of an item of a list is that a text begins with, with the blank behind it.
fn marker(text: &str) -> Option<usize> {
    let rest = match text.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let digits = text.len() - rest.len();
            rest.strip_prefix(['.', ')']).filter(|_| (1..=9).contains(&digits))?
        }
    };
    let width = text.len() - rest.len();
    if rest.is_empty() { Some(width) } else { rest.starts_with([' ', '\t']).then_some(width + 1) }
}

/// How far a line is indented, and what stands there; nothing if it is empty.
fn indented(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = &line[..line.len() - rest.len()];
    (!rest.is_empty()).then(|| {
        (indent.chars().fold(0, |at, blank| if blank == '\t' { (at / 4 + 1) * 4 } else { at + 1 }), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<(usize, String)> {
        headings(text, Markup::Markdown).into_iter().map(|one| (one.level, one.title)).collect()
    }

    fn is_alone(text: &str, title: &str) -> bool {
        titles(text).iter().map(|(_, title)| title.as_str()).eq([title])
    }

    #[test]
    fn code_ends_with_the_fence_that_it_began_with() {
        for code in [
            "```code``` stands for code.",
            "````md\n```sh\n# no\n```\n# no\n````",
            "~~~\n```\n# no\n~~~",
            "```sh\n# no\n``` sh\n# no\n```   ",
            "  ~~~ a`b~ c\n# no\n ~~~~",
            "    ```\ntext",
            "``",
            "- ```\n  # no\n  ```",
            "1. - ```\n     # no\n\n     ```",
            "- ```\n  never closed\n",
            "> ```\n> # no",
            "> ```\n> # no\n> ```",
        ] {
            assert!(is_alone(&format!("{code}\n# Yes\n"), "Yes"), "{code:?}: {:?}", titles(code));
        }
        assert_eq!(titles("```\n# no"), [], "never closed, it goes on to the end");
    }

    #[test]
    fn a_line_of_signs_below_a_paragraph_makes_it_a_heading() {
        assert_eq!(
            titles("Title\n=====\nText.\n\nIn two\nlines\n ---  \nMore\n\nx\n-\n"),
            [(1, "Title".to_owned()), (2, "In two lines".to_owned()), (2, "x".to_owned())]
        );
        for text in [
            "Text.\n\n---\n",
            "- item\n---\n",
            "Text\n- item\n---\n",
            "1. item\nmore\n---\n",
            "> said\n---\n",
            "    code\n---\n",
            "<div>\n---\n",
            "| a | b |\n|---|---|\n",
            "***\n---\n",
            "Text\n= =\n",
            "Text\n-- -\n",
            "---\ntitle: x\n# no\n---\n",
            "===\n",
            "```\nTitle\n=====\n```\n",
            &format!("{}\n---\n", "long ".repeat(100)),
        ] {
            assert_eq!(titles(text), [], "{text:?}");
        }
        assert!(
            is_alone("---\n# Yes\n", "Yes") && is_alone("---\n\n# Yes\n\n---\n", "Yes"),
            "that is a rule"
        );
        assert_eq!(headings("Title\n=====\n", Markup::Headings), [], "it is no Markdown");
    }

    #[test]
    fn signs_at_the_end_of_a_heading_belong_to_it_unless_they_stand_alone() {
        assert_eq!(
            titles("# C#\n## F# ##\n   ### Three\n####### Seven\n#None\n")
                .iter()
                .map(|(_, title)| &**title)
                .collect::<Vec<_>>(),
            ["C#", "F#", "Three"]
        );
    }
}
