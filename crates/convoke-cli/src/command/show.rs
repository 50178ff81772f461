//! `convoke show`

use convoke_history::History;
use convoke_history::json::HistoryView;
use convoke_host::stored::ShownParts;

use super::drawing::{draw, only_diagrams_go_to_files};
use crate::arguments::{OutlineFormat, Show};
use crate::failure::Failure;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Show) -> Result<(), Failure> {
    only_diagrams_go_to_files(arguments.format, session.json, arguments.output.as_deref())?;
    let record = session.find(&arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    if session.json || arguments.format == OutlineFormat::Json {
        let way = convoke_host::way_of(&history).and_then(|way| serde_json::to_value(way).ok());
        let gist = convoke_host::gist(&history);
        let view = HistoryView::new(&history, &gist, session.now).way(way);
        return session.output.json(&view);
    }
    if arguments.format != OutlineFormat::Text {
        let diagram = convoke_host::diagram_of(&history).ok_or_else(|| no_diagram(&history))?;
        return draw(&diagram, arguments.format, arguments.output.as_deref(), session.output);
    }
    let parts = ShownParts { full: arguments.full, state: arguments.state };
    session.output.lines(&session.show(&history, parts, session.output.width()))?;
    session.output.notes(session.next_step(&history));
    Ok(())
}

fn no_diagram(history: &History) -> Failure {
    Failure::failed(format!("nothing is known of what run {} is made of", history.record.id))
        .hint("only runs of files, and of programs that keep an outline with them, can be drawn")
}
