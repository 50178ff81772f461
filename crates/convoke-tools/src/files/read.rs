//! The `read`, `head` and `tail` tools.
//!
//! To a model a file comes in pages, with notes on what is not there. To a step that `read` or `head` was called for it is data: the
//! lines that it asked for, all of them if it named no number, or an error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use convoke_agent::FunctionTool;
use convoke_core::{Access, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{HasPath, MOST_BYTES, Reader, note, tool, tool_for};
use crate::blocking::CancelFlag;
use crate::workspace::{FileError, OpenFile, Workspace};

/// Lines of a page when nobody says how many.
const LINES: usize = 2_000;
/// What is shown of one line.
const LONGEST_LINE: usize = 4_000;
/// The most that a step is given, in bytes: as much as any tool may give.
const LARGEST: usize = ToolSpec::DEFAULT_MAX_OUTPUT;

/// Arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// The file, from the top of the workspace.
    path: String,
    /// The first line to read, counted from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: usize,
    /// How many lines to read at most.
    #[serde(default)]
    #[schemars(with = "usize", default = "page", range(min = 1, max = 10_000))]
    limit: Option<usize>,
}

/// Arguments of `head` and `tail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct End {
    /// The file, from the top of the workspace.
    path: String,
    /// How many lines.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10_000))]
    lines: usize,
}

fn one() -> usize {
    1
}

fn ten() -> usize {
    10
}

fn page() -> Option<usize> {
    Some(LINES)
}

impl HasPath for Read {
    fn path(&self) -> &str {
        &self.path
    }
}

impl HasPath for End {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn read(workspace: &Workspace) -> FunctionTool {
    tool_for(
        workspace,
        "read",
        "Reads a text file. A long file comes in pages: the result says which lines it has and how to go on.",
        |workspace, arguments: Read, reader, cancel| {
            let (opened, offset) = (workspace.open_file(&arguments.path)?, arguments.offset);
            match reader {
                Reader::Model => lines(&opened, offset, arguments.limit.unwrap_or(LINES), cancel),
                Reader::Step => whole_lines(&opened, offset, arguments.limit.unwrap_or(usize::MAX), cancel),
            }
        },
        |workspace, arguments| vec![Access::read(workspace.resource(&arguments.path))],
    )
}

pub(super) fn head(workspace: &Workspace) -> FunctionTool {
    tool_for(
        workspace,
        "head",
        "Shows the first lines of a text file.",
        |workspace, arguments: End, reader, cancel| {
            let opened = workspace.open_file(&arguments.path)?;
            match reader {
                Reader::Model => lines(&opened, 1, arguments.lines, cancel),
                Reader::Step => whole_lines(&opened, 1, arguments.lines, cancel),
            }
        },
        |workspace, arguments| vec![Access::read(workspace.resource(&arguments.path))],
    )
}

pub(super) fn tail(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "tail",
        "Shows the last lines of a text file.",
        |workspace, arguments: End, cancel| last_lines(workspace, &arguments, cancel),
        |workspace, arguments| vec![Access::read(workspace.resource(&arguments.path))],
    )
}

fn lines(opened: &OpenFile, offset: usize, limit: usize, cancel: &CancelFlag) -> Result<String, FileError> {
    let mut reader = reader(opened)?;
    let mut result = String::new();
    let (mut number, mut shown, mut full) = (0, 0, false);
    while let Some(line) = next_line(&mut reader, opened, LONGEST_LINE, cancel)? {
        number += 1;
        if number < offset || full {
            continue;
        }
        let text = line.text(opened)?;
        if shown == limit || result.len() + text.len() > MOST_BYTES {
            full = true;
            continue;
        }
        result.push_str(&text);
        shown += 1;
    }
    if number == 0 {
        note(&mut result, "the file is empty");
    } else if shown == 0 {
        note(&mut result, &format!("there is no line {offset}: the file has {number}"));
    } else if full {
        let last = offset + shown - 1;
        note(&mut result, &format!("lines {offset} to {last} of {number}; go on with offset {}", last + 1));
    }
    Ok(result)
}

/// These lines and nothing else: text that is cut is another text.
fn whole_lines(
    opened: &OpenFile,
    offset: usize,
    limit: usize,
    cancel: &CancelFlag,
) -> Result<String, FileError> {
    let mut reader = reader(opened)?;
    let mut result = Vec::new();
    let mut left = limit;
    for _ in 1..offset {
        if next_line(&mut reader, opened, 0, cancel)?.is_none() {
            break;
        }
    }
    while left > 0
        && let Some(line) = next_line(&mut reader, opened, LARGEST, cancel)?
    {
        if result.len() + line.bytes > LARGEST {
            let (path, bytes) = (opened.path.clone(), opened.bytes);
            return Err(FileError::BeyondStep { path, bytes, limit: LARGEST as u64 });
        }
        result.extend(line.kept);
        left -= 1;
    }
    String::from_utf8(result).map_err(|error| opened.binary(error.as_bytes()))
}

fn last_lines(workspace: &Workspace, arguments: &End, cancel: &CancelFlag) -> Result<String, FileError> {
    let opened = workspace.open_file(&arguments.path)?;
    let mut reader = reader(&opened)?;
    let skipped = opened.bytes.saturating_sub(MOST_BYTES as u64);
    if skipped > 0 {
        let seek = reader.seek(SeekFrom::Start(skipped));
        seek.map_err(|error| FileError::io("read", &opened.path, error))?;
        // The rest of a line whose beginning is not here.
        next_line(&mut reader, &opened, LONGEST_LINE, cancel)?;
    }
    let mut last = VecDeque::with_capacity(arguments.lines.min(1_000));
    let mut left_out = skipped > 0;
    while let Some(line) = next_line(&mut reader, &opened, LONGEST_LINE, cancel)? {
        if last.len() == arguments.lines {
            last.pop_front();
            left_out = true;
        }
        last.push_back(line.text(&opened)?);
    }
    let mut result: String = last.iter().map(String::as_str).collect();
    if left_out && last.len() < arguments.lines {
        note(
            &mut result,
            &format!("only the last {} fit; use read for more", super::plural(last.len(), "line")),
        );
    }
    Ok(result)
}

fn reader(opened: &OpenFile) -> Result<BufReader<&std::fs::File>, FileError> {
    let mut reader = BufReader::with_capacity(64 << 10, &opened.file);
    let start = reader.fill_buf().map_err(|error| FileError::io("read", &opened.path, error))?;
    if crate::workspace::is_binary(start) {
        return Err(opened.binary(start));
    }
    Ok(reader)
}

/// A line, or as much of it as is shown.
struct Line {
    kept: Vec<u8>,
    bytes: usize,
}

impl Line {
    fn text(self, opened: &OpenFile) -> Result<String, FileError> {
        if self.bytes <= LONGEST_LINE {
            return String::from_utf8(self.kept).map_err(|error| opened.binary(error.as_bytes()));
        }
        let mut text = String::from_utf8_lossy(&self.kept).trim_end_matches('\u{fffd}').to_owned();
        note(&mut text, &format!("the line above is cut: it has {} bytes", self.bytes));
        text.push('\n');
        Ok(text)
    }
}

/// The next line, and of what is in it as much as this.
fn next_line(
    reader: &mut impl BufRead,
    opened: &OpenFile,
    longest: usize,
    cancel: &CancelFlag,
) -> Result<Option<Line>, FileError> {
    let mut line = Line { kept: Vec::new(), bytes: 0 };
    loop {
        if cancel.is_cancelled() {
            return Err(FileError::GivenUp);
        }
        let buffer = reader.fill_buf().map_err(|error| FileError::io("read", &opened.path, error))?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
        let room = longest.saturating_sub(line.kept.len());
        line.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        line.bytes += piece.len();
        let (read, is_end) = (piece.len(), end.is_some() || piece.is_empty());
        reader.consume(read);
        if is_end {
            return Ok((line.bytes > 0).then_some(line));
        }
    }
}
