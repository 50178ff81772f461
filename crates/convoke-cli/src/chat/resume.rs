//! Finds the conversation that is to go on, and says why one cannot.

use convoke_host::chat::{ChatError, ContinuedChat, StoredChat};

use crate::failure::Failure;
use crate::select;
use crate::session::Session;

/// The conversation of this run; for `last` the newest one that can go on.
pub(crate) async fn find(session: &Session<'_>, wanted: &str) -> Result<StoredChat, Failure> {
    if wanted != select::LAST {
        let record = select::run(session, wanted).await?;
        return StoredChat::of(record).map_err(|error| match error {
            ChatError::NotAChat { .. } => Failure::from(error)
                .hint(format!("`{}` lists conversations", session.command("runs --workflow chat"))),
            other => other.into(),
        });
    }
    StoredChat::newest(&*session.store).await?.ok_or_else(|| {
        Failure::not_found(format!("there is no conversation in {} that can go on", session.place))
            .hint("`convoke chat` begins one; a question with its answer, `convoke chat \"…\"`, is over")
    })
}

/// The run that it goes on in, with these words said in it, if there are any, or to be said in it.
pub(crate) async fn go_on(
    session: &mut Session<'_>,
    earlier: StoredChat,
    words: Option<String>,
) -> Result<ContinuedChat, Failure> {
    let before = earlier.run().clone();
    let continued = earlier.go_on(&session.store, words).await?;
    let run = &continued.run;
    if *run != before {
        session.output.note(&format!("the conversation of run {before} was over; it goes on in run {run}"));
    }
    Ok(continued)
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        let message = error.to_string();
        match error {
            ChatError::Store(error) => error.into(),
            ChatError::Run(error) => error.into(),
            ChatError::Over { .. } => Self::failed(message)
                .hint("a conversation that is to go on begins with `convoke chat` and no text"),
            ChatError::NotWaiting { .. } => {
                Self::failed(message).hint("leave the text out to have its answer")
            }
            _ => Self::failed(message),
        }
    }
}
