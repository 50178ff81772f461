//! The process that kills.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use convoke::core::QuestionKind;
use convoke::core::store::NewMail;
use convoke::prelude::*;
use tempfile::TempDir;

use crate::child::FOLDER;
use crate::points::KILL_AT;
use crate::world::World;

/// How often a run is started before it counts as stuck.
const PATIENCE: usize = 20;

/// When to kill.
pub(crate) enum Kill {
    /// In the so-many-th process, when it comes to this point the so-many-th time.
    AtPoint {
        process: usize,
        label: String,
        occurrence: usize,
    },
    AtRandomMoments {
        seed: u64,
        times: usize,
    },
}

/// What was to be seen afterwards.
pub(crate) struct Observed {
    pub(crate) state: serde_json::Value,
    /// How often each point was reached, by process.
    pub(crate) points: Vec<BTreeMap<String, usize>>,
    pub(crate) effects: usize,
    pub(crate) kills: usize,
    pub(crate) keyed: Vec<String>,
    pub(crate) reconciled: Vec<String>,
    pub(crate) blind: Vec<String>,
    pub(crate) duplicated: usize,
    pub(crate) unknown: usize,
    pub(crate) distinct_model_calls: usize,
    pub(crate) repeated_model_calls: usize,
}

/// One run in a folder of its own.
pub(crate) struct Trial {
    folder: TempDir,
    world: World,
}

/// How a child ended.
enum End {
    Done(serde_json::Value),
    Suspended,
    Killed,
}

impl Trial {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = World::at(&folder.path().join("world"));
        Self { folder, world }
    }

    pub(crate) fn run(self, kill: Option<Kill>) -> Observed {
        let (mut kills, mut unknown, mut starts) = (0, 0, 0);
        let mut points = Vec::new();
        let mut chance = match &kill {
            Some(Kill::AtRandomMoments { seed, .. }) => *seed,
            _ => 0,
        };
        loop {
            starts += 1;
            assert!(starts <= PATIENCE, "the run is stuck");
            let (end, reached) = match &kill {
                Some(Kill::AtPoint { process, label, occurrence }) if starts == *process => {
                    self.child(Some(&format!("{label}:{occurrence}")), None)
                }
                Some(Kill::AtRandomMoments { times, .. }) if kills < *times => {
                    // A small generator is enough to spread the moments over the run.
                    chance = chance
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    self.child(None, Some(Duration::from_micros((chance >> 33) % 25_000)))
                }
                _ => self.child(None, None),
            };
            points.push(reached);
            match end {
                End::Done(state) => return self.observe(state, points, kills, unknown),
                End::Suspended => unknown += self.answer(),
                End::Killed => kills += 1,
            }
        }
    }

    fn child(&self, kill_at: Option<&str>, kill_after: Option<Duration>) -> (End, BTreeMap<String, usize>) {
        let mut command = Command::new(std::env::current_exe().expect("this binary has a path"));
        command.args(["child", "--exact", "--nocapture"]).env(FOLDER, self.folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        match kill_at {
            Some(point) => command.env(KILL_AT, point),
            None => command.env_remove(KILL_AT),
        };
        let mut child = command.spawn().expect("the child starts");
        match kill_after {
            Some(moment) => {
                std::thread::sleep(moment);
                child.kill().expect("the child can be killed");
                self.listen(child, true)
            }
            None => self.listen(child, false),
        }
    }

    fn listen(&self, mut child: Child, killed: bool) -> (End, BTreeMap<String, usize>) {
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut end = killed.then_some(End::Killed);
        let mut points = BTreeMap::new();
        for line in output.lines().map_while(Result::ok) {
            // The test harness writes its own words before ours on the same line.
            let line = line.trim_start_matches("test child ... ");
            if line == "AT" {
                child.kill().expect("the child can be killed");
                end = Some(End::Killed);
                break;
            } else if let Some(state) = line.strip_prefix("DONE ") {
                let state = serde_json::from_str(state).expect("the child prints JSON");
                end = Some(End::Done(state));
            } else if line == "SUSPENDED" {
                end = Some(End::Suspended);
            } else if let Some(problem) = line.strip_prefix("ENDED ") {
                panic!("the run ended badly: {problem}");
            } else if let Some(point) = line.strip_prefix("POINT ") {
                let (label, count) = point.rsplit_once(':').expect("label:count");
                points.insert(label.to_owned(), count.parse().expect("a count"));
            }
        }
        child.wait().expect("the child ends");
        (end.expect("the child says how it ended"), points)
    }

    /// Answers what is open as an honest operator would: looks at the world when a tool is in doubt. Gives the number
    /// of doubts.
    fn answer(&self) -> usize {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        tokio.block_on(async {
            let store = SqliteStore::open(self.folder.path().join("runs.db")).expect("the store opens");
            let mut doubts = 0;
            for pending in store.questions(None).await.expect("questions can be listed") {
                let answer = match &pending.question.kind {
                    QuestionKind::Choice { .. } => {
                        doubts += 1;
                        let details = &pending.question.details;
                        let key = details.split("with key ").nth(1).and_then(|rest| rest.split(' ').next());
                        let acted = self.world.has("blind", key.expect("the question names the key"));
                        Answer::choose(if acted { "done" } else { "again" })
                    }
                    _ => Answer::approve(),
                };
                store.answer(&pending.run, &pending.id, answer).await.expect("the answer is taken");
            }
            let run: RunId = "trial".parse().expect("a valid id");
            for letter in [1_u32, 2] {
                let mail =
                    NewMail::json("letters", &letter).expect("a number is JSON").key(letter.to_string());
                // Killed before it was made, there is nobody to send it to; it is sent again before every start.
                let _ = store.post(&run, mail).await;
            }
            doubts
        })
    }

    fn observe(
        &self,
        state: serde_json::Value,
        points: Vec<BTreeMap<String, usize>>,
        kills: usize,
        unknown: usize,
    ) -> Observed {
        let (reconciled, twice) = self.world.summary("reconciled");
        let (blind, blindly_twice) = self.world.summary("blind");
        let (calls, repeated_model_calls) = self.world.summary("model");
        Observed {
            state,
            effects: self.effects(),
            points,
            kills,
            keyed: self.world.keyed(),
            reconciled,
            blind,
            duplicated: twice + blindly_twice,
            unknown,
            distinct_model_calls: calls.len() - repeated_model_calls,
            repeated_model_calls,
        }
    }

    /// How many effects the journal has.
    fn effects(&self) -> usize {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        tokio.block_on(async {
            let store = SqliteStore::open(self.folder.path().join("runs.db")).expect("the store opens");
            let run = "trial".parse().expect("a valid id");
            let entries = store.entries(&run, 1, usize::MAX >> 1).await.expect("entries can be read");
            let addresses = entries.iter().map(|entry| (entry.path.clone(), entry.ordinal));
            addresses.collect::<std::collections::HashSet<_>>().len()
        })
    }
}
