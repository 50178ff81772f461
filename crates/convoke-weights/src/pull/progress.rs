//! Progress of a pull.

use std::fmt;

/// The progress of a pull. What is counted begins anew with each stage, part and file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The file it is about.
    pub file: String,
    /// What is being done.
    pub stage: Stage,
    /// Which of its pieces, counted from 1.
    pub part: usize,
    /// How many pieces there are.
    pub parts: usize,
    /// How many bytes are done.
    pub bytes: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
}

/// The stages of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// A server is asked where the file is.
    Finding,
    /// It comes in.
    Downloading,
    /// It is taken out of an archive.
    Unpacking,
    /// It is copied on this machine.
    Copying,
    /// What is here already is read again.
    Checking,
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Finding => "finding",
            Self::Downloading => "downloading",
            Self::Unpacking => "unpacking",
            Self::Copying => "copying",
            Self::Checking => "checking",
        })
    }
}

impl fmt::Display for Progress {
    /// `downloading model.gguf, part 2 of 6: 12.5 of 98.4 MB`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.stage, self.file)?;
        if self.parts > 1 {
            write!(formatter, ", part {} of {}", self.part, self.parts)?;
        }
        let megabytes = |bytes: u64| bytes as f64 / 1_000_000.0;
        match self.total {
            _ if self.stage == Stage::Finding => Ok(()),
            Some(total) => write!(formatter, ": {:.1} of {:.1} MB", megabytes(self.bytes), megabytes(total)),
            None => write!(formatter, ": {:.1} MB", megabytes(self.bytes)),
        }
    }
}
