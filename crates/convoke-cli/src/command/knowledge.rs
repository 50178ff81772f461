//! `convoke knowledge`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use convoke_core::Passage;
use convoke_history::human;
use convoke_host::view::{AddedDocuments, path_from_here};
use convoke_knowledge::pdf::{self, PdfReader};
use convoke_knowledge::{Added, Knowledge};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Spinner, Tone, text};

/// The command that reads PDFs, in a process of its own.
const READ_PDF: &str = "read-pdf";

/// What is done about the documents that agents look things up in.
#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    /// Take in files and folders, or look again at those that were taken in.
    ///
    /// Text, Markdown, HTML and PDF are read, below folders too. What has changed is read again, and what is gone is removed. Agents
    /// look things up with the tool `knowledge_search`, or with `knowledge_search_NAME` in this knowledge only.
    Add {
        /// The name of the knowledge.
        name: String,
        /// The files and folders. Without any: those that were added before, to see what has changed.
        paths: Vec<PathBuf>,
    },
    /// List the knowledge of this project.
    List,
    /// List the documents of one of them.
    Show {
        /// The name of the knowledge.
        name: String,
    },
    /// Find passages by words, and by meaning where that is to be had.
    Search {
        /// The name of the knowledge.
        name: String,
        /// A question, or words.
        query: String,
        /// How many passages, at most.
        #[arg(long, short = 'n', default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=50))]
        limit: u8,
    },
    /// Remove knowledge, or what is in it of a file or folder. The files themselves stay.
    ///
    /// What is in a folder that was added is taken in again by the next `knowledge add`, unless a `.gitignore` there names it.
    Remove {
        /// The name of the knowledge.
        name: String,
        /// The file or folder. Without one, all of it is removed.
        path: Option<PathBuf>,
    },
    /// Read a PDF from standard input.
    #[command(name = READ_PDF, hide = true)]
    ReadPdf,
}

pub(crate) async fn run(
    arguments: &Arguments,
    command: &KnowledgeCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    if let KnowledgeCommand::ReadPdf = command {
        return Ok(pdf::serve()?);
    }
    let host = host::load(arguments)?;
    let knowledge = host.knowledge()?;
    match command {
        KnowledgeCommand::Add { name, paths } => {
            host.make_knowledge_place()?;
            let added = &add(knowledge, name, paths).await?;
            output.show(&AddedDocuments { name, added, words_alone: host.why_words_alone() })
        }
        KnowledgeCommand::List => output.show(&*knowledge.collections().await?),
        KnowledgeCommand::Show { name } => output.show(&*knowledge.documents(name).await?),
        KnowledgeCommand::Search { name, query, limit } => {
            let found = knowledge.search(name, query, usize::from(*limit)).await?;
            if arguments.json {
                return output.json(&json!({"by": found.by.to_string(), "passages": found.passages}));
            }
            passages(&found.passages, output)?;
            if let Some(why) = host.why_words_alone() {
                output.note(&format!("by words alone: {why}"));
            }
            Ok(())
        }
        KnowledgeCommand::Remove { name, path } => {
            let removed = knowledge.remove(name, path.as_deref()).await?;
            let left = path.as_deref().filter(|path| path.exists());
            let returns = match left {
                Some(path) => knowledge.is_within_added(name, path).await?,
                None => false,
            };
            let line = format!("{name}: {} removed", human::count(removed as u64, "document"));
            output.give(&json!({"name": name, "removed": removed, "returns": returns}), line)?;
            if let Some(path) = left.filter(|_| returns) {
                output.note(&format!(
                    "{} is in a folder that was added: the next `convoke knowledge add {name}` takes it in again, unless a \
                     `.gitignore` there names it",
                    path.display()
                ));
            }
            Ok(())
        }
        KnowledgeCommand::ReadPdf => Ok(()),
    }
}

/// Adds documents, and shows which one is being read.
async fn add(knowledge: Knowledge, name: &str, paths: &[PathBuf]) -> Result<Added, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("where is this program? {error}")))?;
    let arguments = vec!["knowledge".to_owned(), READ_PDF.to_owned()];
    let spinner = Spinner::begin("looking for documents");
    let reading = |path: &Path| spinner.say(text::one_line(&path.display().to_string()));
    Ok(knowledge.pdf(PdfReader::Program { program, arguments }).add(name, paths, reading).await?)
}

/// The passages as they are, each below where it is from.
fn passages(passages: &[Passage], output: &mut Output) -> Result<(), Failure> {
    for (number, passage) in (1..).zip(passages) {
        let mut source = passage.source.clone();
        source.document = path_from_here(Path::new(&source.document));
        let origin = text::one_line(&source.to_string());
        output.line(&Rich::new(Tone::Faint, format!("[{number}] ")).with(Tone::Strong, origin))?;
        let indented = passage.text.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n");
        output.block(&indented.collect::<String>())?;
    }
    if passages.is_empty() {
        output.note("nothing fits");
    }
    Ok(())
}
