//! The text of PDFs.
//!
//! A PDF is a program for drawing, and can be made to use up whatever is there: time, memory, the stack. So it is read in a process
//! of its own, which ends with whatever went wrong in it: [`PdfReader`] starts it, and [`serve`] is what it does.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a PDF may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most text that is taken of a PDF, in bytes.
const MOST_TEXT: u64 = 32 << 20;

/// The most memory that reading one takes, in bytes.
#[cfg(unix)]
const MOST_MEMORY: u64 = 2 << 30;

/// The reader of PDFs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum PdfReader {
    /// Nothing: PDFs are left out.
    #[default]
    Absent,
    /// A program that calls [`serve`]: it is given a PDF on its standard input, and gives its pages, as a JSON array of texts, on its
    /// standard output.
    Program {
        /// The program.
        program: PathBuf,
        /// What it is started with.
        arguments: Vec<String>,
    },
}

impl PdfReader {
    /// The texts of the pages, or why there are none.
    pub(crate) fn read(&self, pdf: &[u8]) -> Result<Vec<String>, String> {
        let Self::Program { program, arguments } = self else {
            return Err("PDFs are not read here".to_owned());
        };
        let mut command = Command::new(program);
        // It has no use for keys.
        command
            .args(arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("its reader cannot be started: {error}"))?;
        let pages = talk(child, pdf, PATIENCE)?;
        // What reads PDFs may have had something to say before.
        let last = pages.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice(last).map_err(|_| UNREADABLE.to_owned())
    }
}

const UNREADABLE: &str = "it is damaged, protected, or too large to be read";

/// Gives a process its input and takes its output, for as long as there is patience.
fn talk(mut child: Child, input: &[u8], patience: Duration) -> Result<Vec<u8>, String> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else { return Err(UNREADABLE.to_owned()) };
    std::thread::scope(|threads| {
        // Both end when the process does: its ends of the pipes are closed then.
        threads.spawn(move || {
            // A process that has ended takes nothing more; what it gave says why.
            let _ = stdin.write_all(input);
        });
        let output = threads.spawn(move || {
            let mut taken = Vec::new();
            stdout.take(MOST_TEXT).read_to_end(&mut taken).map(|_| taken)
        });
        let ended = ended(&mut child, patience);
        let output = output.join().ok().and_then(Result::ok);
        match (ended, output) {
            (Ok(true), Some(output)) => Ok(output),
            (Ok(false), _) => Err(UNREADABLE.to_owned()),
            (Err(reason), _) => Err(reason),
            (Ok(true), None) => Err(UNREADABLE.to_owned()),
        }
    })
}

/// Whether a process ended well. It is ended if that takes too long.
fn ended(child: &mut Child, patience: Duration) -> Result<bool, String> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if began.elapsed() < patience => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                // It may have ended just now.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(format!("reading it takes longer than {} seconds", patience.as_secs()));
            }
        }
    }
}

/// Reads a PDF from standard input, and writes the texts of its pages to standard output: what a process does that reads PDFs for
/// another. Call it first thing: where that is possible, it limits the memory and the time of the process.
///
/// # Errors
/// If standard input or output fails, or it is no PDF.
pub fn serve() -> io::Result<()> {
    #[cfg(unix)]
    limit_process()?;
    let mut pdf = Vec::new();
    io::stdin().lock().take(crate::document::LARGEST).read_to_end(&mut pdf)?;
    let pages = pages(&pdf).map_err(io::Error::other)?;
    let mut output = io::stdout().lock();
    output.write_all(b"\n")?;
    serde_json::to_writer(&mut output, &pages)?;
    output.flush()
}

/// Has this process end when it takes too much: whoever started it may be gone.
#[cfg(unix)]
fn limit_process() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, most) in [(Resource::As, MOST_MEMORY), (Resource::Cpu, PATIENCE.as_secs())] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// The texts of the pages. What a page cannot be read for is left out with the page.
#[cfg(feature = "pdf")]
fn pages(pdf: &[u8]) -> Result<Vec<String>, String> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use pdf_extract::{Document, PlainTextOutput, output_doc_page};

    let mut document = Document::load_mem(pdf).map_err(|error| error.to_string())?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|error| error.to_string())?;
    }
    let page = |number: u32| {
        let mut text = String::new();
        let read = || output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number);
        // Nothing of the text is used if it fails, and the document is only read.
        let is_read = catch_unwind(AssertUnwindSafe(read)).is_ok_and(|read| read.is_ok());
        if is_read { text } else { String::new() }
    };
    Ok(document.get_pages().into_keys().map(page).collect())
}

/// Built without what reads them.
#[cfg(not(feature = "pdf"))]
fn pages(_: &[u8]) -> Result<Vec<String>, String> {
    Err("this program was built without what reads PDFs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("there is a shell")
    }

    #[test]
    fn a_reader_that_hangs_crashes_or_says_nothing_is_an_error_and_no_more() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(talk(started("wc -c | tr -d ' \n'"), &input, PATIENCE).as_deref(), Ok(&b"1048576"[..]));
        assert!(talk(started("exec sleep 100"), &input, Duration::from_millis(50)).is_err());
        assert!(talk(started("kill -SEGV $$"), &input, PATIENCE).is_err());
        assert!(talk(started("exit 3"), &input, PATIENCE).is_err());
    }
}
