//! `convoke knowledge`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use convoke_host::Host;
use convoke_knowledge::pdf::{self, PdfReader};
use convoke_knowledge::{Added, Collection, FoundPassages, Knowledge, KnowledgeError, StoredDocument};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Align, Column, Output, Rich, Spinner, Table, Tone, text};
use crate::{host, human};

/// So many of the files that were left out are listed.
const MOST_LISTED: usize = 20;

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
    let view = View { json: arguments.json, output };
    match command {
        KnowledgeCommand::Add { name, paths } => view.add(&host, &knowledge, name, paths).await,
        KnowledgeCommand::List => view.list(&knowledge.collections().await?),
        KnowledgeCommand::Show { name } => view.documents(&knowledge.documents(name).await?),
        KnowledgeCommand::Search { name, query, limit } => {
            let found = knowledge.search(name, query, usize::from(*limit)).await?;
            view.passages(&found, host.why_words_alone())
        }
        KnowledgeCommand::Remove { name, path } => {
            let removed = knowledge.remove(name, path.as_deref()).await?;
            view.removed(name, removed)
        }
        KnowledgeCommand::ReadPdf => Ok(()),
    }
}

/// How results are shown.
struct View<'a> {
    json: bool,
    output: &'a mut Output,
}

impl View<'_> {
    async fn add(
        self,
        host: &Host,
        knowledge: &Knowledge,
        name: &str,
        paths: &[PathBuf],
    ) -> Result<(), Failure> {
        host.make_knowledge_place()?;
        let own = std::env::current_exe()
            .map_err(|error| Failure::failed(format!("where is this program? {error}")))?;
        let reader =
            PdfReader::Program { program: own, arguments: vec!["knowledge".to_owned(), READ_PDF.to_owned()] };
        let spinner = Spinner::begin("looking for documents");
        let knowledge = knowledge.clone().pdf(reader);
        let reading = |path: &Path| spinner.say(text::one_line(&path.display().to_string()));
        let added = knowledge.add(name, paths, reading).await;
        drop(spinner);
        self.added(name, &added?, host.why_words_alone())
    }

    fn added(self, name: &str, added: &Added, words_alone: Option<String>) -> Result<(), Failure> {
        if self.json {
            let left_out =
                added.left_out.iter().map(|left| json!({"path": left.path, "reason": left.reason}));
            return self.output.json(&json!({
                "name": name,
                "read": added.read,
                "unchanged": added.unchanged,
                "removed": added.removed,
                "passages": added.passages,
                "left_out": left_out.collect::<Vec<_>>(),
                "by_meaning": words_alone.is_none(),
            }));
        }
        let read = format!(
            "{} read ({})",
            human::count(added.read, "document"),
            human::count(added.passages, "passage")
        );
        self.output
            .plain(&format!("{name}: {read}, {} unchanged, {} removed", added.unchanged, added.removed))?;
        for left in added.left_out.iter().take(MOST_LISTED) {
            self.output.note(&text::clean(&format!("left out: {}: {}", shown(&left.path), left.reason)));
        }
        if let Some(more) = added.left_out.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
            self.output.note(&format!("left out: {more} more; --json lists all of them"));
        }
        tell_words_alone(words_alone, self.output);
        Ok(())
    }

    fn list(self, collections: &[Collection]) -> Result<(), Failure> {
        if self.json {
            let all = collections.iter().map(|one| {
                json!({
                    "name": one.name,
                    "documents": one.documents,
                    "passages": one.passages,
                    "by_meaning": one.embedded,
                    "paths": one.roots,
                })
            });
            return self.output.json(&all.collect::<Vec<_>>());
        }
        if collections.is_empty() {
            self.output
                .note("this project has no knowledge yet; `convoke knowledge add NAME PATH` makes some");
            return Ok(());
        }
        let mut table = Table::new([
            Column::new("name", Align::Left),
            Column::new("documents", Align::Right),
            Column::new("passages", Align::Right),
            Column::new("found by", Align::Left),
            Column::new("from", Align::Left).yielding(20),
        ]);
        for one in collections {
            let by = match one.embedded {
                0 => "words".to_owned(),
                all if all == one.documents => "words and meaning".to_owned(),
                some => format!("words, {some} by meaning"),
            };
            let roots: Vec<String> = one.roots.iter().map(|root| shown(root)).collect();
            table.row([
                (Tone::Strong, one.name.clone()),
                (Tone::Plain, one.documents.to_string()),
                (Tone::Plain, one.passages.to_string()),
                (Tone::Plain, by),
                (Tone::Faint, text::one_line(&roots.join(", "))),
            ]);
        }
        self.table(&table)
    }

    fn documents(self, documents: &[StoredDocument]) -> Result<(), Failure> {
        if self.json {
            let all = documents.iter().map(|one| {
                let read_at = one.read_at.to_string();
                json!({"path": one.path, "bytes": one.bytes, "passages": one.passages, "read_at": read_at})
            });
            return self.output.json(&all.collect::<Vec<_>>());
        }
        let mut table = Table::new([
            Column::new("document", Align::Left).yielding(30),
            Column::new("size", Align::Right),
            Column::new("passages", Align::Right),
            Column::new("read", Align::Left),
        ]);
        for one in documents {
            table.row([
                (Tone::Strong, text::one_line(&shown(&one.path))),
                (Tone::Plain, human::bytes(one.bytes)),
                (Tone::Plain, one.passages.to_string()),
                (Tone::Faint, human::moment(one.read_at)),
            ]);
        }
        self.table(&table)
    }

    fn passages(self, found: &FoundPassages, words_alone: Option<String>) -> Result<(), Failure> {
        if self.json {
            return self.output.json(&json!({"by": found.by.to_string(), "passages": found.passages}));
        }
        for (number, passage) in (1..).zip(&found.passages) {
            let mut source = passage.source.clone();
            source.document = shown(Path::new(&source.document));
            let origin = text::one_line(&source.to_string());
            self.output.line(&Rich::new(Tone::Faint, format!("[{number}] ")).with(Tone::Strong, origin))?;
            self.output.block(&indented(&passage.text))?;
        }
        if found.passages.is_empty() {
            self.output.note("nothing fits");
        }
        tell_words_alone(words_alone, self.output);
        Ok(())
    }

    fn removed(self, name: &str, documents: usize) -> Result<(), Failure> {
        if self.json {
            return self.output.json(&json!({"name": name, "removed": documents}));
        }
        self.output.plain(&format!("{name}: {} removed", human::count(documents as u64, "document")))
    }

    fn table(self, table: &Table) -> Result<(), Failure> {
        table.lines(self.output.width()).iter().try_for_each(|line| self.output.line(line))
    }
}

/// Says why meanings do not count.
fn tell_words_alone(why: Option<String>, output: &mut Output) {
    if let Some(why) = why {
        output.note(&text::clean(&format!("by words alone: {why}")));
    }
}

/// A path as it is written from here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.display().to_string(),
        None => path.display().to_string(),
    }
}

fn indented(passage: &str) -> String {
    passage.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}

impl From<KnowledgeError> for Failure {
    fn from(error: KnowledgeError) -> Self {
        let message = text::clean(&error.to_string());
        match error {
            KnowledgeError::Name { .. } | KnowledgeError::Nothing { .. } => Self::usage(message),
            KnowledgeError::Missing { .. } => {
                Self::not_found(message).hint("`convoke knowledge add NAME PATH` makes some")
            }
            KnowledgeError::NoDocument { name, .. } => {
                Self::not_found(message).hint(format!("`convoke knowledge show {name}` lists what there is"))
            }
            KnowledgeError::Unreadable { .. } => {
                Self::not_found(message).hint("check the path and its permissions")
            }
            KnowledgeError::Storage(_) => Self::store(message),
            KnowledgeError::Embedding(_) => Self::failed(message)
                .hint("what was read so far is kept; the same command goes on from there"),
            _ => Self::failed(message),
        }
    }
}
