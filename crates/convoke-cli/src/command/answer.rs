//! `convoke answer`

use convoke_core::{Answer, Decision};
use convoke_history::account::answer_text;
use convoke_history::json::QuestionView;
use convoke_history::{History, OpenQuestion};
use convoke_host::{json_answer, media_answer, user_name};

use super::resume;
use crate::arguments::{self, Arguments};
use crate::failure::{Exit, Failure};
use crate::run::ResumeArguments;
use crate::session::Session;
use crate::terminal::text;

pub(super) async fn run(
    session: &mut Session<'_>,
    arguments: &arguments::Answer,
    all: &Arguments,
) -> Result<(), Failure> {
    let decision = decision(arguments)?;
    let record = session.find(&arguments.run).await?;
    let pending = session.question(&record, arguments.question.as_deref()).await?;
    session.must_be_unsettled(&record, &pending).await?;
    let by = arguments.by.clone().unwrap_or_else(user_name);
    let mut answer = Answer::new(decision).by(by.trim());
    if arguments.for_run {
        if pending.question.covers.is_empty() {
            return Err(Failure::usage("this question is about one thing only: leave `--for-run` out"));
        }
        answer = answer.for_run();
    }
    let mut wanted = ResumeArguments::default();
    wanted.common.policy.clone_from(&arguments.policy);
    wanted.common.quiet = arguments.quiet;
    if arguments.resume {
        // Otherwise the answer would be kept, and whoever gave it told that something went wrong.
        resume::must_have_what_it_takes(session, &record, &wanted, all)?;
    }
    session.output.notes(session.outsider(&pending, &answer));
    session.answer(&record, &pending, answer.clone()).await?;

    let history = History::load(&*session.store, &record.id).await?;
    let open = history.questions.iter().find(|open| open.pending.id == pending.id);
    let is_settled = open.is_none_or(|open| open.verdict().is_some());
    let goes_on = arguments.resume && is_settled && history.record.holder.is_none();
    // One document: what the run comes to, if it goes on here.
    if !goes_on {
        give(session, open)?;
    }
    let (title, given) = (text::one_line(&pending.question.title), text::one_line(&answer_text(&answer)));
    session.output.note(&format!("answered `{title}`: {given}"));
    if goes_on {
        let gone_on = resume::go_on(session, &history.record, &wanted, all).await;
        let failure = gone_on.as_ref().err().and_then(Failure::report);
        let Some(holder) = failure.and_then(|failure| failure.holder.as_ref()) else { return gone_on };
        // It took the run up since it was looked at: the answer is what it goes on with.
        give(session, open)?;
        session.output.note(&format!("{holder} goes on with it"));
        return Ok(());
    }
    session.output.note(&session.after_answer(&history, open));
    // It was to go on, and still waits.
    if arguments.resume && !is_settled { Err(Failure::Ended(Exit::Suspended)) } else { Ok(()) }
}

/// Gives the question with its answer, if a document is wanted.
fn give(session: &mut Session<'_>, open: Option<&OpenQuestion>) -> Result<(), Failure> {
    match open.filter(|_| session.json) {
        Some(open) => session.output.json(&QuestionView::new(open, session.now)),
        None => Ok(()),
    }
}

fn decision(arguments: &arguments::Answer) -> Result<Decision, Failure> {
    let arguments::Answer { approve, revise, reject, choose, text, value, file, .. } = arguments;
    for (option, said) in [("--revise", revise), ("--reject", reject), ("--choose", choose), ("--text", text)]
    {
        if said.as_ref().is_some_and(|said| said.trim().is_empty()) {
            return Err(Failure::usage(format!("`{option}` says nothing: nothing was answered"))
                .hint("a shell variable that is not set is empty, too"));
        }
    }
    if let Some(value) = value {
        return Ok(json_answer(value)?);
    }
    if !file.is_empty() {
        return Ok(media_answer(file)?);
    }
    let given = match (revise, reject, choose, text) {
        _ if *approve => Some(Decision::Approve),
        (Some(text), ..) => Some(Decision::Revise { text: text.clone() }),
        (_, Some(reason), ..) => Some(Decision::Reject { reason: reason.clone() }),
        (_, _, Some(option), _) => Some(Decision::Choose { option: option.clone() }),
        (.., Some(text)) => Some(Decision::Text { text: text.clone() }),
        _ => None,
    };
    given.ok_or_else(|| {
        Failure::usage("say what the answer is").hint("`convoke answer --help` lists the ways")
    })
}
