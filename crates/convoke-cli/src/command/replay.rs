//! `convoke replay`

use std::path::{Path, PathBuf};

use convoke_core::RunStatus;
use convoke_history::History;
use convoke_history::account::{Filter, Gist, Page, RecordItem, RecordView, record_items, session_log};
use convoke_history::lines::RecordLines;

use crate::arguments::Replay;
use crate::failure::Failure;
use crate::page_file;
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
    let has_end = arguments.at.is_none();
    write_text(session, &history, &gist, &items, &filter, arguments.full)?;
    if has_end && history.record.status == RunStatus::Running && !filter.is_active() {
        session.output.plain("")?;
        session.output.line(&Rich::new(Tone::Faint, "     it has not ended"))?;
    }
    Ok(())
}

fn write_text(
    session: &mut Session<'_>,
    history: &History,
    gist: &Gist,
    items: &[RecordItem<'_>],
    filter: &Filter,
    is_full: bool,
) -> Result<(), Failure> {
    let record = RecordLines { history, now: session.now, width: session.output.width(), is_full };
    session.output.lines(&record.head(gist))?;
    let mut is_empty = true;
    for item in items.iter().filter(|item| filter.keeps(item)) {
        is_empty = false;
        session.output.lines(&record.item(item))?;
    }
    if is_empty && filter.is_active() {
        session.output.note("nothing that happened in this run fits");
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
    if file == Some(Path::new("-")) {
        return session.output.block(page);
    }
    let path = file.map_or_else(|| PathBuf::from(format!("{}.html", history.record.id)), Path::to_owned);
    page_file::save(page, &path, force)?;
    session.output.line(&Rich::plain(text::one_line(&path.display().to_string())))
}
