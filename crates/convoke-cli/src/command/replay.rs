//! `convoke replay`

use std::path::{Path, PathBuf};

use convoke_config::{NotReplaced, replace_own_file};
use convoke_core::RunStatus;
use convoke_history::History;
use convoke_history::account::{Filter, PAGE_MARK, Page, RecordItem, RecordView, record_items, session_log};
use convoke_history::lines::RecordLines;

use crate::arguments::Replay;
use crate::failure::Failure;
use crate::files;
use crate::session::Session;
use crate::terminal::{Rich, Tone, text};

pub(super) async fn run(session: &mut Session<'_>, arguments: &Replay) -> Result<(), Failure> {
    if session.json && (arguments.jsonl || arguments.html.is_some()) {
        return Err(Failure::usage(
            "`--json`, `--jsonl` and `--html` are three forms of one record: choose one",
        ));
    }
    let record = session.find(&arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    if let Some(at) = arguments.at
        && (at == 0 || at > history.last_seq())
    {
        return Err(session.no_entry(&history, at).into());
    }
    let gist = convoke_host::gist(&history);
    if arguments.jsonl {
        let log = session_log(&history, &gist, arguments.at);
        return log.iter().try_for_each(|line| session.output.json_line(line));
    }
    let items = record_items(&history, &gist, arguments.at);
    let filter = Filter::new(arguments.path.as_deref(), &arguments.kind, arguments.grep.as_deref());
    if let Some(path) = filter.path_to_nothing(&items) {
        let show = session.about("show", &record.id, "");
        return Err(Failure::not_found(format!(
            "nothing that happened in run {} is at `{}` or below it",
            record.id,
            text::one_line(path)
        ))
        .hint(format!(
            "`{show}` shows its steps: a path has their names, from the outermost on, with `/` between"
        )));
    }
    if session.json {
        let view = RecordView::new(&history, &gist, &items, &filter, session.now);
        return session.output.json(&view);
    }
    if let Some(file) = &arguments.html {
        let (now, diagram) = (session.now, convoke_host::diagram_of(&history));
        // What is drawn is the whole run: it says nothing about an earlier moment of it.
        let diagram = diagram.as_ref().filter(|_| arguments.at.is_none());
        let page = Page { history: &history, gist: &gist, items: &items, filter: &filter, now, diagram };
        let page = page.html();
        return write_page(session, &history, &page, file.as_deref(), arguments.force);
    }
    let record = RecordLines {
        history: &history,
        now: session.now,
        width: session.output.width(),
        is_full: arguments.full,
    };
    session.output.lines(&record.head(&gist))?;
    let kept: Vec<&RecordItem<'_>> = items.iter().filter(|item| filter.keeps(item)).collect();
    for item in &kept {
        session.output.lines(&record.item(item))?;
    }
    if kept.is_empty() && filter.is_active() {
        session.output.note("nothing that happened in this run fits");
    }
    let is_whole = arguments.at.is_none() && !filter.is_active();
    if is_whole && history.record.status == RunStatus::Running {
        session.output.plain("")?;
        session.output.line(&Rich::new(Tone::Faint, "     it has not ended"))?;
    }
    Ok(())
}

fn write_page(
    session: &mut Session<'_>,
    history: &History,
    page: &str,
    file: Option<&Path>,
    force: bool,
) -> Result<(), Failure> {
    if file.is_some_and(files::is_standard_output) {
        return session.output.block(page);
    }
    let path = file.map_or_else(|| PathBuf::from(format!("{}.html", history.record.id)), Path::to_owned);
    save(page, &path, force)?;
    session.output.line(&Rich::plain(text::one_line(&path.display().to_string())))
}

/// Writes a page to a file. One that is there is replaced only if it is such a page too, or if that is asked for.
fn save(page: &str, path: &Path, force: bool) -> Result<(), Failure> {
    let place = text::one_line(&path.display().to_string());
    if path.is_dir() {
        return Err(Failure::failed(format!("{place} is a folder")).hint("name a file: `--html FILE`"));
    }
    let is_page = |beginning: &[u8]| force || String::from_utf8_lossy(beginning).contains(PAGE_MARK);
    replace_own_file(path, page.as_bytes(), is_page).map_err(|error| match error {
        NotReplaced::NoFolder(folder) => {
            let folder = text::one_line(&folder.display().to_string());
            Failure::failed(format!("there is no folder {folder}"))
                .hint("make it, or name another file: `--html FILE`")
        }
        NotReplaced::Foreign => {
            Failure::failed(format!("{place} is there already, and is not a page of this program"))
                .hint("name another file, or replace it with `--force`")
        }
        // Only the kind: the whole error names the file beside it, which nobody asked for.
        NotReplaced::Failed(error) => Failure::failed(format!("{place} cannot be written: {}", error.kind()))
            .hint("name another file: `--html FILE`"),
    })
}
