//! Exchanges with a memory around them: what is loaded, added and closed, whatever comes of the work.
use std::sync::{Arc, Mutex};

use convoke_agent::memory::{
    MESSAGE_CUT, Memories, MemorySession, NoMemories, Recollection, Unsummarized, exchange, summarizer,
};
use convoke_core::store::Store;
use convoke_core::{
    BoxFuture, Canceller, EffectKind, Error, Event, EventKind, Fork, IdempotencyKey, Message, Model,
    Observer, Outcome, RunId, RunStatus, Runtime, Scope, Step, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::{Map, Value, json};

/// A memory that writes down what is done with it.
#[derive(Default)]
struct Diary {
    done: Mutex<Vec<String>>,
    /// What fails.
    failing: &'static str,
    /// What is remembered.
    said: Vec<Message>,
    unsummarized: Option<Unsummarized>,
    /// How much of a message is kept.
    longest: Option<usize>,
    /// Cancels the run while values are looked up.
    canceller: Option<Canceller>,
}

impl Diary {
    fn failing(failing: &'static str) -> Arc<Self> {
        Arc::new(Self { failing, said: vec![Message::user("a"), Message::assistant("b")], ..Self::default() })
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    fn note<T>(&self, what: &str, detail: &str, given: T) -> Result<T, Error> {
        self.done.lock().unwrap().push(format!("{what}{detail}"));
        if self.failing == what { Err(Error::failed("no disk")) } else { Ok(given) }
    }
}

/// Opens a diary, or nothing.
struct Shelf(Option<Arc<Diary>>);

struct Opened(Arc<Diary>);

impl Memories for Shelf {
    fn open<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn MemorySession>>, Error>> {
        let opened = match &self.0 {
            Some(diary) => diary.note("open", &format!(" {name}"), ()).map(|()| Some(Arc::clone(diary))),
            None => Ok(None),
        };
        let opened = opened.map(|diary| diary.map(|diary| Arc::new(Opened(diary)) as Arc<dyn MemorySession>));
        Box::pin(std::future::ready(opened))
    }
}

impl MemorySession for Opened {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        Box::pin(std::future::ready(self.0.note("load", "", self.0.said.clone())))
    }

    fn save<'a>(&'a self, _: &'a Map<String, Value>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(std::future::ready(self.0.note("save", "", ())))
    }

    fn assemble<'a>(
        &'a self,
        words: &'a Message,
        _: &'a RunId,
    ) -> BoxFuture<'a, Result<Recollection, Error>> {
        let remembered = Recollection::of(&self.0.said);
        Box::pin(std::future::ready(self.0.note("assemble", &format!(" {}", words.text()), remembered)))
    }

    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        if let Some(canceller) = &self.0.canceller {
            canceller.cancel("enough");
        }
        let vars = json!({"name": "Ann"}).as_object().cloned().unwrap_or_default();
        Box::pin(std::future::ready(self.0.note("vars", "", vars)))
    }

    fn append<'a>(
        &'a self,
        said: &'a [Message],
        _: (&'a RunId, &'a IdempotencyKey),
    ) -> BoxFuture<'a, Result<(), Error>> {
        let texts: Vec<String> = said.iter().map(Message::text).collect();
        Box::pin(std::future::ready(self.0.note("append", &format!(" {}", texts.join("|")), ())))
    }

    fn longest(&self) -> Option<usize> {
        self.0.longest
    }

    fn unsummarized(&self) -> BoxFuture<'_, Result<Option<Unsummarized>, Error>> {
        Box::pin(std::future::ready(Ok(self.0.unsummarized.clone())))
    }

    fn summarize<'a>(&'a self, through: i64, summary: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(std::future::ready(self.0.note("summarize", &format!(" {through} {summary}"), ())))
    }

    fn close<'a>(&'a self, failed: Option<&'a Error>) -> BoxFuture<'a, ()> {
        let how = failed.map(|error| format!(" {error}")).unwrap_or_default();
        let _ = self.0.note("close", &how, ());
        Box::pin(std::future::ready(()))
    }
}

/// One exchange; the state is what was told, and what came of it.
struct Talk {
    memories: Option<Shelf>,
    name: &'static str,
    model: Option<Arc<dyn Model>>,
    /// A model for a run that has none of its own.
    lent: Option<Arc<dyn Model>>,
    fails: Option<Error>,
}

impl Step<Vec<String>> for Talk {
    fn name(&self) -> &str {
        "talk"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Vec<String>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let words = Message::user("hello");
            let memories = self.memories.as_ref().map(|memories| memories as &dyn Memories);
            let model = match &self.lent {
                Some(lent) => summarizer(scope, Some(Arc::clone(lent)))?,
                None => self.model.clone(),
            };
            let told = exchange(scope, memories, (self.name, &words), model.as_ref(), |remembered, vars| {
                let said = vec![words.clone(), Message::assistant("hi")];
                async move {
                    // A run that is cancelled does not get beyond this.
                    scope.now().await?;
                    match &self.fails {
                        Some(error) => Err(error.clone()),
                        None => Ok((vec![remembered.text(), json!(vars).to_string()], said)),
                    }
                }
            });
            *state = told.await?;
            Ok(())
        })
    }
}

fn talk(diary: &Arc<Diary>) -> Talk {
    Talk { memories: Some(Shelf(Some(Arc::clone(diary)))), name: "ann", model: None, lent: None, fails: None }
}

async fn run(talk: Talk) -> Outcome<Vec<String>> {
    Runtime::new().start(&Workflow::new(talk), Vec::new()).await.unwrap()
}

#[tokio::test]
async fn flowcraft_034_a_memory_that_implements_nothing_remembers_nothing_and_fails_at_nothing() {
    let session = NoMemories.open("any").await.unwrap().unwrap();
    assert!(session.load().await.unwrap().is_empty() && session.vars().await.unwrap().is_empty());
    assert!(session.assemble(&Message::user("x"), &RunId::mint()).await.unwrap().is_empty());
    session.save(&Map::new()).await.unwrap();
    session.close(None).await;
}

#[tokio::test]
async fn flowcraft_037_045_046_047_048_what_fits_is_told_and_only_this_exchange_is_added() {
    let diary = Diary::failing("");
    let told = run(talk(&diary)).await.completed().unwrap();
    assert!(told[0].contains("user: a") && told[0].contains("you: b"), "{told:?}");
    assert_eq!(told[1], "{\"name\":\"Ann\"}");
    let done = ["open ann", "assemble hello", "vars", "append hello|hi", "close"];
    assert_eq!(diary.done(), done, "nothing is loaded besides, and nothing saved");
}

#[tokio::test]
async fn flowcraft_038_039_what_cannot_be_loaded_fails_with_its_name_and_closes_with_that() {
    for (failing, told) in [("assemble", "memory load: "), ("vars", "memory vars: ")] {
        let diary = Diary::failing(failing);
        let error = run(talk(&diary)).await.error.unwrap().to_string();
        assert!(error.contains(told), "{error}");
        let done = diary.done();
        let last = done.last().unwrap();
        assert!(last.starts_with("close ") && last.contains(told), "{done:?}");
        assert!(!done.iter().any(|done| done.starts_with("append")), "{done:?}");
    }
}

#[tokio::test]
async fn flowcraft_040_041_a_memory_that_is_not_opened_is_not_closed() {
    let diary = Diary::failing("open");
    assert!(run(talk(&diary)).await.error.is_some());
    assert_eq!(diary.done(), ["open ann"]);
    let stateless = Talk { memories: Some(Shelf(None)), ..talk(&diary) };
    assert_eq!(run(stateless).await.completed().unwrap()[0], "");
    let diary = Diary::failing("");
    assert_eq!(run(Talk { name: "", ..talk(&diary) }).await.completed().unwrap()[0], "");
    assert!(diary.done().is_empty(), "without a name nothing is opened");
}

#[tokio::test]
async fn flowcraft_050_052_what_failed_is_not_remembered_and_closes_with_why() {
    let diary = Diary::failing("");
    let failed = run(Talk { fails: Some(Error::failed("no idea")), ..talk(&diary) }).await;
    assert!(failed.error.unwrap().to_string().contains("no idea"));
    assert_eq!(diary.done(), ["open ann", "assemble hello", "vars", "close no idea"]);
}

#[tokio::test]
async fn flowcraft_071_a_run_that_is_stopped_closes_its_memory_all_the_same() {
    let canceller = Canceller::new();
    let diary = Arc::new(Diary { canceller: Some(canceller.clone()), ..Diary::default() });
    let workflow = Workflow::new(talk(&diary));
    let outcome = Runtime::new().start(&workflow, Vec::new()).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    let done = diary.done();
    assert!(done.last().unwrap().starts_with("close ") && done.len() == 4, "{done:?}");
}

#[tokio::test]
async fn flowcraft_055_056_what_cannot_be_added_fails_and_closes_with_that() {
    let diary = Diary::failing("append");
    let error = run(talk(&diary)).await.error.unwrap().to_string();
    assert!(error.contains("memory append: "), "{error}");
    assert!(diary.done().last().unwrap().contains("memory append: "), "{:?}", diary.done());
}

/// The messages that were cut, as they are told.
#[derive(Clone, Default)]
struct Cut(Arc<Mutex<Vec<Value>>>);

impl Observer for Cut {
    fn observe(&self, event: &Event) {
        if let EventKind::Custom { name, value } = &event.kind
            && name == MESSAGE_CUT
        {
            self.0.lock().unwrap().push(value.clone());
        }
    }
}

#[tokio::test]
async fn who_says_more_than_is_kept_of_a_message_is_told() {
    for (longest, told) in
        [(None, vec![]), (Some(5), vec![]), (Some(4), vec![json!({"bytes": 5, "kept": 4})])]
    {
        let diary = Arc::new(Diary { longest, ..Diary::default() });
        let cut = Cut::default();
        let runtime = Runtime::builder().observer(cut.clone()).build();
        let outcome = runtime.start(&Workflow::new(talk(&diary)), Vec::new()).await.unwrap();
        outcome.completed().unwrap();
        assert_eq!(*cut.0.lock().unwrap(), told);
    }
}

#[tokio::test]
async fn a_summary_is_made_by_the_model_and_one_it_cannot_make_does_no_harm() {
    let long = Unsummarized {
        summary: Some("Ann has a cat.".to_owned()),
        text: "User: It is grey.".to_owned(),
        through: 7,
    };
    let diary = |unsummarized| Arc::new(Diary { unsummarized, ..Diary::default() });
    let model = ScriptedModel::replies(["Ann has a grey cat."]);
    let remembering = diary(Some(long.clone()));
    let done = Talk { model: Some(Arc::new(model.clone())), ..talk(&remembering) };
    run(done).await.completed().unwrap();
    let asked = model.requests()[0].messages.iter().map(Message::text).collect::<String>();
    assert!(asked.contains("Ann has a cat.") && asked.contains("User: It is grey."), "{asked}");
    assert!(remembering.done().contains(&"summarize 7 Ann has a grey cat.".to_owned()));
    let unable = ScriptedModel::builder().otherwise(Reply::text("")).build();
    let remembering = diary(Some(long));
    run(Talk { model: Some(Arc::new(unable)), ..talk(&remembering) }).await.completed().unwrap();
    assert!(!remembering.done().iter().any(|done| done.starts_with("summarize")));
}

#[tokio::test]
async fn the_model_of_the_work_sums_up_except_in_runs_of_earlier_builds_that_had_none() {
    let long = Unsummarized { summary: None, text: "User: It is grey.".to_owned(), through: 7 };
    let diary = || Arc::new(Diary { unsummarized: Some(long.clone()), ..Diary::default() });
    let sums_up = |diary: &Diary| diary.done().contains(&"summarize 7 A grey cat.".to_owned());
    let lent = || Some(Arc::new(ScriptedModel::builder().otherwise("A grey cat.").build()) as Arc<dyn Model>);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let remembering = diary();
    let new =
        runtime.start(&Workflow::new(Talk { lent: lent(), ..talk(&remembering) }), Vec::new()).await.unwrap();
    assert!(sums_up(&remembering));
    let earlier = runtime.start(&Workflow::new(talk(&diary())), Vec::new()).await.unwrap();
    for (run, sums) in [(&new.run, true), (&earlier.run, false)] {
        let remembering = diary();
        let workflow = Workflow::new(Talk { lent: lent(), ..talk(&remembering) });
        let told = runtime.replay(&workflow, run).await.unwrap();
        assert!(told.error.is_none(), "{:?}", told.error);
        // Killed when everything was said, and nothing of it was added.
        let entries = store.entries(run, 1, 100).await.unwrap();
        let now = entries.iter().find(|entry| entry.effect == EffectKind::Now).unwrap();
        let cut = Fork::new(run.clone(), now.seq + 1).create(&store).await.unwrap();
        runtime.resume(&workflow, cut).await.unwrap().completed().unwrap();
        assert_eq!(sums_up(&remembering), sums);
    }
}

#[tokio::test]
async fn a_run_cut_anywhere_remembers_what_it_remembered_and_adds_nothing_it_has_added() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let first = Diary::failing("");
    let outcome = runtime.start(&Workflow::new(talk(&first)), Vec::new()).await.unwrap();
    let told = outcome.state.clone();
    let entries = store.entries(&outcome.run, 1, 100).await.unwrap();
    for (at, entry) in entries.iter().enumerate().skip(1) {
        let cut = Fork::new(outcome.run.clone(), entry.seq).create(&store).await.unwrap();
        // What is remembered by now is something else.
        let diary = Arc::new(Diary::default());
        let again = runtime.resume(&Workflow::new(talk(&diary)), cut).await.unwrap().completed().unwrap();
        let known = entries[..at].iter().filter(|entry| entry.effect == EffectKind::Custom).count();
        let done: Vec<_> =
            diary.done().into_iter().filter(|done| !done.starts_with("open") && done != "close").collect();
        assert!(done.len() <= 3_usize.saturating_sub(known.min(3)), "cut before {at}: {done:?}");
        if known > 0 {
            assert_eq!(again[0], told[0], "cut before {at}");
        }
    }
}
