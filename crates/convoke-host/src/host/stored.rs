//! Runs that are in the store: what they were started from, going on with them, attending to them, reading along, answering.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{
    Answer, Attendant, Error, Position, QuestionId, Registry, RunId, Runtime, StoreError, Subscription,
    ToolDefinition, Toolset, WhenBusy, WhenDropped,
};
use convoke_goals::Values;
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::model::Input;
use convoke_history::{History, text};

use super::{GoOnOptions, Host};
use crate::agentfile::is_standard_input;
use crate::chat::is_chat;
use crate::definition::{DefinitionKind, LoadedFile};
use crate::equipment::replay_equipment;
use crate::prepared::{ExecutionOptions, PreparedRun};
use crate::running::ActiveRun;
use crate::tools::{RunTools, ServerStartup};
use crate::{HostError, Manifest, RunOrigin, can_go_on, knowledge};

/// How long a run that somebody attends to waits in the process: others are waiting too.
const ATTENDED_PATIENCE: Duration = Duration::from_secs(5);

impl Host {
    /// Returns what a stored run was started from, if it is of a kind that this host knows.
    ///
    /// # Errors
    /// If it is not.
    pub fn manifest(&self, record: &RunRecord) -> Result<Manifest, HostError> {
        self.kept(record).map(|(_, manifest)| manifest)
    }

    fn kept(&self, record: &RunRecord) -> Result<(Arc<dyn DefinitionKind>, Manifest), HostError> {
        let names = self.kinds.iter().map(|kind| kind.name());
        let kept = Manifest::of_kinds(record, names).and_then(|(name, manifest)| {
            Some((Arc::clone(self.kinds.iter().find(|kind| kind.name() == name)?), manifest))
        });
        kept.ok_or_else(|| match is_chat(record) {
            true => HostError::Conversation { run: record.id.clone() },
            false => {
                HostError::UnknownKind { run: record.id.clone(), workflow: text::one_line(&record.workflow) }
            }
        })
    }

    /// The file that a stored run was started from, as it was then.
    ///
    /// # Errors
    /// If the run is of a kind that this host does not know.
    pub fn restore(&self, record: &RunRecord) -> Result<(LoadedFile, Manifest), HostError> {
        let (kind, manifest) = self.kept(record)?;
        let source = Source::new(&*manifest.path, &*manifest.text);
        let (definition, diagnostics) = kind.read(&source, &manifest.beside);
        let (path, concern, beside) = (manifest.path.clone().into(), None, manifest.beside.clone());
        Ok((LoadedFile { kind, path, source, definition, diagnostics, concern, beside }, manifest))
    }

    /// Puts together what going on with a stored run takes. `loaded` is its file, as it was or as it is now, and `kept` what its
    /// record has. What the options say instead, and a file that has changed, the record has as soon as the run goes on: they hold
    /// for whoever goes on with it later.
    ///
    /// # Errors
    /// If it cannot be run with what there is here.
    pub async fn prepare_again(
        &self,
        loaded: LoadedFile,
        kept: Manifest,
        options: &GoOnOptions,
        servers: ServerStartup,
        notes: &mut Vec<String>,
    ) -> Result<PreparedRun, HostError> {
        let definition = Arc::clone(loaded.valid()?);
        let changed = kept.clone().with_options(options, || RunOrigin::here(&self.config));
        let mut manifest =
            Manifest { text: loaded.source.text().to_owned(), beside: loaded.beside, ..changed };
        let is_retold = manifest != kept;
        let secrets = options.secrets.clone();
        for name in manifest.fingerprints.differing(&secrets) {
            notes.push(format!("`{name}` is not the value this run began with"));
        }
        let policies = self.policies(manifest.policy.as_deref())?;
        let mut tools = RunTools::prepare(self.setting(), policies, servers, notes).await?;
        tools.knowledge = knowledge::source(&self.config, true);
        if (&manifest.text, &manifest.beside) != (&kept.text, &kept.beside) {
            // What the file says now may be done with tools that it did not take before.
            let is_new = |tool: &ToolDefinition| kept.tools.iter().all(|known| known.name != tool.name);
            manifest.tools.extend(tools.tools.definitions().into_iter().filter(is_new));
        }
        let (kind, models) = (loaded.kind, self.models()?);
        let prepared = PreparedRun::new(kind, definition, manifest, secrets, models, tools, notes).await?;
        Ok(if is_retold { prepared.retold() } else { prepared })
    }

    /// Goes on with a stored run, by what its record says.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// If there is no such run, it has ended for good, or it needs what is not there: another folder, its policy, secrets.
    pub async fn go_on(&self, run: &RunId, options: GoOnOptions) -> Result<ActiveRun, HostError> {
        let store = self.store()?;
        let record = self.record_of(run).await?;
        if !can_go_on(&record) {
            return Err(HostError::Ended { run: run.clone(), status: record.status });
        }
        let (loaded, manifest) = self.restore(&record)?;
        self.must_fit(&record, &manifest, &options)?;
        let is_missing = |input: &&Input| {
            input.secret && input.default.is_none() && options.secrets.get(&input.name).is_none()
        };
        let missing: Vec<String> =
            loaded.valid()?.inputs().iter().filter(is_missing).map(|input| input.name.clone()).collect();
        if !missing.is_empty() {
            return Err(HostError::SecretsMissing { run: run.clone(), names: missing });
        }
        let mut notes = Vec::new();
        if self.has_changed(&manifest) {
            notes.push(format!(
                "{} has changed since; the run goes on with the file as it was",
                manifest.path
            ));
        }
        let mut prepared =
            self.prepare_again(loaded, manifest, &options, ServerStartup::Start, &mut notes).await?;
        prepared.load(&mut |note| notes.push(note.to_owned())).await?;
        let how = ExecutionOptions {
            when_busy: options.when_busy,
            responder: options.responder,
            patience: options.patience.unwrap_or(Duration::MAX),
            when_dropped: options.when_dropped,
            ..ExecutionOptions::default()
        };
        let running = prepared.go_on(store, run.clone(), how, &mut notes);
        Ok(running.noting(notes))
    }

    /// Loads the file of a run as it is now.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn load_anew(&self, manifest: &Manifest) -> Result<LoadedFile, HostError> {
        match is_standard_input(Path::new(&manifest.path)) {
            true => Err(HostError::NoFile),
            false => self.load(&manifest.path),
        }
    }

    /// Returns whether the file of a run is another now than when the run began. One that is gone has not changed.
    #[must_use]
    pub fn has_changed(&self, manifest: &Manifest) -> bool {
        self.load_anew(manifest).is_ok_and(|now| now.differs_from(manifest))
    }

    /// Refuses to go on with a run anywhere but where it was begun, or without the policy that was named for it, unless the options
    /// say so.
    ///
    /// # Errors
    /// [`HostError::Elsewhere`], [`HostError::PolicyToBeNamed`].
    pub fn must_fit(
        &self,
        record: &RunRecord,
        manifest: &Manifest,
        options: &GoOnOptions,
    ) -> Result<(), HostError> {
        let run = || record.id.clone();
        let here = RunOrigin::here(&self.config);
        if let Some(there) = manifest.place.as_ref().filter(|_| !options.anywhere)
            && !there.is_like(&here, manifest.policy.is_some())
        {
            return Err(HostError::Elsewhere {
                run: run(),
                there: Box::new(there.clone()),
                here: Box::new(here),
            });
        }
        match &manifest.policy {
            Some(policy) if options.policy.is_none() => {
                Err(HostError::PolicyToBeNamed { run: run(), policy: policy.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Goes on with runs of this folder as soon as what they wait for is there (an answer, mail, the time), and with those that
    /// were left in the middle when a process ended. Runs that were begun elsewhere, or need a secret or a policy that only their
    /// user can name, are left alone.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn attend(self: &Arc<Self>) -> Result<Attendant, HostError> {
        self.attend_noting(|_, _| {})
    }

    /// Attends to runs as [`attend`](Self::attend) does, and tells somebody what is worth saying when one goes on.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn attend_noting(
        self: &Arc<Self>,
        note: impl Fn(&RunId, &str) + Send + Sync + 'static,
    ) -> Result<Attendant, HostError> {
        let (host, note) = (Arc::clone(self), Arc::new(note));
        Ok(Attendant::with(self.store()?, move |run| {
            let (host, note) = (Arc::clone(&host), Arc::clone(&note));
            async move {
                let going_on = async {
                    let options = GoOnOptions {
                        patience: Some(ATTENDED_PATIENCE),
                        // Until everything is there that it takes, another process may have gone on with it.
                        when_busy: WhenBusy::RefuseSince { epoch: host.record_of(&run).await?.epoch },
                        when_dropped: WhenDropped::Leave,
                        ..GoOnOptions::default()
                    };
                    let active = host.go_on(&run, options).await?;
                    active.notes().iter().for_each(|said| note(&run, said));
                    active.finish().await
                };
                going_on.await.map(|finished| finished.outcome).map_err(Error::from)
            }
        }))
    }

    /// Reads along: everything that happened in a run after a position, and what happens while it is read, whoever works on
    /// it. That takes neither the models nor the tools of the run, and nothing but the store is opened.
    ///
    /// # Errors
    /// If there is no such run, or it is of a kind that this host does not know.
    pub async fn subscribe(&self, run: &RunId, after: Option<Position>) -> Result<Subscription, HostError> {
        let record = self.record_of(run).await?;
        let (loaded, manifest) = self.restore(&record)?;
        let definition = loaded.valid()?;
        let (secrets, _) = definition.separate_secrets(Values::new());
        let equipment = manifest.applied_to(replay_equipment(&self.config), secrets, &Toolset::new());
        let equipped = definition
            .equip(&equipment)
            .map_err(|problems| HostError::CannotRun { kind: loaded.title(), problems })?;
        let registry = Registry::new();
        registry.register(equipped.runner());
        let runtime = Runtime::builder().shared_store(self.store()?).build();
        Ok(runtime.subscribe(&registry, run.clone(), after))
    }

    /// Answers a question of a run. If nobody works on the run, it can be [gone on](Self::go_on) with then.
    ///
    /// # Errors
    /// If there is no such question, it is answered already, or the answer does not fit it.
    pub async fn answer(&self, run: &RunId, question: &QuestionId, answer: Answer) -> Result<(), HostError> {
        Ok(self.store()?.answer(run, question, answer).await?)
    }

    /// Everything that is on record of a run.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn record(&self, run: &RunId) -> Result<History, HostError> {
        Ok(History::load(&*self.store()?, run).await?)
    }

    async fn record_of(&self, run: &RunId) -> Result<RunRecord, HostError> {
        let record = self.store()?.run(run).await?;
        Ok(record.ok_or_else(|| StoreError::NotFound { run: run.clone() })?)
    }
}
