//! `convoke answer`

use std::collections::BTreeSet;

use convoke_core::store::RunRecord;
use convoke_core::{Answer, Decision, PendingQuestion, StoreError};
use convoke_history::account::answer_text;
use convoke_history::json::QuestionView;
use convoke_history::{History, OpenQuestion};
use convoke_host::{Manifest, json_answer, media_answer, user_name};

use super::resume;
use crate::arguments::{self, Arguments};
use crate::failure::Failure;
use crate::human;
use crate::run::ResumeArguments;
use crate::select;
use crate::session::{Session, secret_options};
use crate::terminal::text;

pub(super) async fn run(
    session: &mut Session<'_>,
    arguments: &arguments::Answer,
    all: &Arguments,
) -> Result<(), Failure> {
    let decision = decision(arguments)?;
    let record = select::run(session, &arguments.run).await?;
    let pending = select::question(session, &record, arguments.question.as_deref()).await?;
    must_be_unsettled(session, &record, &pending).await?;
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
    warn_outsiders(session, &pending, &answer);
    session.store.answer(&record.id, &pending.id, answer.clone()).await.map_err(|error| match error {
        // Somebody was faster, since it was looked at.
        StoreError::Answered { verdict, .. } => settled(session, &record, &pending, &verdict),
        error => unfit(session, &pending, error),
    })?;

    let history = History::load(&*session.store, &record.id).await?;
    let open = history.questions.iter().find(|open| open.pending.id == pending.id);
    let is_settled = open.is_none_or(|open| open.verdict().is_some());
    let goes_on = arguments.resume && is_settled && history.record.holder.is_none();
    // One document: what the run comes to, if it goes on here.
    if session.json
        && !goes_on
        && let Some(open) = open
    {
        session.output.json(&QuestionView::new(open, session.now))?;
    }
    let (title, given) = (text::one_line(&pending.question.title), text::one_line(&answer_text(&answer)));
    session.output.note(&format!("answered `{title}`: {given}"));
    if goes_on {
        let gone_on = resume::go_on(session, &history.record, &wanted, all).await;
        let Some(holder) = gone_on.as_ref().err().and_then(Failure::holder) else { return gone_on };
        // It took the run up since it was looked at: the answer is what it goes on with.
        if session.json
            && let Some(open) = open
        {
            session.output.json(&QuestionView::new(open, session.now))?;
        }
        session.output.note(&format!("{holder} goes on with it"));
        return Ok(());
    }
    session.output.note(&what_next(session, &history, open));
    Ok(())
}

/// A second answer to a question that is decided would never be heard. Asked before anything else is said about the answer;
/// the store has the last word.
async fn must_be_unsettled(
    session: &Session<'_>,
    record: &RunRecord,
    pending: &PendingQuestion,
) -> Result<(), Failure> {
    let answers = session.store.answers(&record.id, &pending.id).await?;
    match pending.settled(&answers, session.now) {
        Some(verdict) => Err(settled(session, record, pending, &verdict)),
        None => Ok(()),
    }
}

fn settled(
    session: &Session<'_>,
    record: &RunRecord,
    pending: &PendingQuestion,
    verdict: &Answer,
) -> Failure {
    let (title, given) = (text::one_line(&pending.question.title), text::one_line(&answer_text(verdict)));
    let resume = session.resuming(record);
    Failure::failed(format!("`{title}` is answered already: {given}"))
        .hint(format!("to let the run go on, {resume}"))
        .hint("to try another answer, fork the run at the question once it has gone on")
}

fn what_next(session: &Session<'_>, history: &History, open: Option<&OpenQuestion>) -> String {
    let record = &history.record;
    if let Some(open) = open.filter(|open| open.verdict().is_none()) {
        let heeded = open.answers.iter().filter(|answer| open.pending.accepts(answer));
        let people: BTreeSet<&str> = heeded.map(|answer| &*answer.by).collect();
        let quorum = open.pending.question.quorum;
        if quorum == 1 {
            return "it still waits for an answer by somebody it is for".to_owned();
        }
        return format!(
            "{quorum} different people must approve; so far: {}",
            Vec::from_iter(people).join(", ")
        );
    }
    let goes_on = match &record.holder {
        Some(holder) => format!("{holder} goes on with it"),
        None => {
            let needs_nobody = |kept: Manifest| kept.policy.is_none() && secret_options(&kept).is_empty();
            let attended = match Manifest::of(record).is_some_and(needs_nobody) {
                true => "; a `convoke attend` does so by itself",
                false => "",
            };
            format!("to let the run go on, {}{attended}", session.resuming(record))
        }
    };
    // What was answered counts at once: it may even be the end of the run, and of what else it asks.
    match history.questions.iter().filter(|open| open.settled(session.now).is_none()).count() as u64 {
        0 => goes_on,
        waiting => format!("{goes_on}; it has {}", human::count(waiting, "more open question")),
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

/// The question says who should answer. Nothing here can prove who somebody is, so this is only a word of warning.
fn warn_outsiders(session: &mut Session<'_>, pending: &PendingQuestion, answer: &Answer) {
    let addressees = pending.question.addressees(pending.asked, session.now);
    if !addressees.is_empty() && !addressees.contains(&&*answer.by) {
        let note = format!(
            "this question is for {}: an answer by somebody else is kept and does not count; `--by` says who answers",
            addressees.join(", ")
        );
        session.output.note(&note);
    }
}

fn unfit(session: &Session<'_>, pending: &PendingQuestion, error: StoreError) -> Failure {
    let is_unfit = matches!(error, StoreError::Unfit(_));
    let failure = Failure::from(error);
    if !is_unfit {
        return failure;
    }
    let open = OpenQuestion::new(pending.clone(), Vec::new());
    session
        .answering(&open)
        .into_iter()
        .fold(failure, |failure, command| failure.hint(format!("`{command}`")))
}
