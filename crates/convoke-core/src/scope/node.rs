//! The tree of open scopes.
//!
//! A node is made for every step that runs, so it is kept small and lazy: its path is put together only when somebody
//! asks for it, and limits are inherited by copying a few words.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::cancel::Cancel;
use super::tap::Tap;
use super::time_limit::{Deadline, EffectsAhead, OwnTime, shorter};
use super::work_clock::WorkClock;
use super::{LeafReplay, Scope, ScopeLabels, Settings};
use crate::Path;
use crate::budget::{Budget, Limits};
use crate::error::TimedOut;
use crate::event::LogicalTime;
use crate::journal::JournalIndex;
use crate::run::Run;

pub(crate) struct Node {
    pub(crate) run: Arc<Run>,
    pub(crate) parent: Option<Arc<Node>>,
    pub(crate) name: Arc<str>,
    pub(crate) repetition: u32,
    pub(crate) depth: u32,
    path: OnceLock<Path>,
    /// Where keys of effects are derived from; another attempt has the path of the first.
    key_path: OnceLock<Path>,
    /// What happens here may be tried again.
    pub(crate) retried: AtomicBool,
    /// Another attempt has asked for something else here than the one before: what it asks for from now on is its own.
    pub(crate) went_own_way: AtomicBool,
    /// What it asked for of its own, here or below, changes something: nothing that follows is what it was.
    pub(crate) acted_otherwise: AtomicBool,
    pub(crate) next_ordinal: AtomicU32,
    children: Mutex<ChildCounts>,
    /// When the narrowest limit that counts everything is reached.
    pub(crate) deadline: Option<Deadline>,
    /// The limit that it has itself over the life of the run.
    own_time: Option<OwnTime>,
    /// What the journal has of the scopes with a limit of their own that this one is in, and was not asked for.
    pub(crate) ahead: Option<Arc<EffectsAhead>>,
    /// Measures the limits that count only work.
    pub(crate) clock: Option<Arc<WorkClock>>,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tap: Option<Tap>,
    /// The depth of the scope whose state is told about; a branch of a fan-out has a state of its own.
    pub(crate) state_owner: u32,
    /// It is not all that the run does at the moment: a branch of a fan-out, or a call of a tool.
    pub(crate) is_part: bool,
    /// The step is over; whatever still reports from below it comes too late.
    pub(crate) ended: AtomicBool,
    /// A question was left unanswered at or below this scope.
    pub(crate) suspended: AtomicBool,
    /// Set if nothing new may happen here: the first time, the step was dropped for lack of time.
    pub(crate) replay: OnceLock<Arc<LeafReplay>>,
    /// How far logical time has come here, as the number of a [`LogicalTime`].
    moment: AtomicU64,
    /// A step runs in this very scope; others are part of one.
    pub(crate) entered: AtomicBool,
    /// What a call of a tool leaves with its outcome.
    pub(crate) note: OnceLock<Box<serde_json::Value>>,
    /// A step made the call of a tool that this is, and no model reads the result.
    pub(crate) is_for_step: AtomicBool,
    /// What is known of where things came from that are known here.
    pub(crate) learnt: ScopeLabels,
}

/// The place of a scope that is opened later: its number is taken, its time has not begun.
#[derive(Debug, Clone)]
#[must_use = "a place is for opening a scope in it"]
pub struct ReservedScope {
    pub(crate) name: Arc<str>,
    pub(crate) repetition: u32,
    /// When it was taken: what is opened here later follows from nothing that has happened since.
    pub(crate) taken: LogicalTime,
}

impl ReservedScope {
    /// Says that what is opened here follows from what has happened in a scope beside it, which is over.
    pub fn follow(&mut self, earlier: &Scope) {
        self.taken = self.taken.max(earlier.node.moment());
    }
}

/// The time that is left to a scope, of what it or something it is part of may take in all.
#[derive(Clone, Copy)]
pub(crate) struct TimeLeft {
    pub(crate) left: Duration,
    pub(crate) of: Duration,
}

/// What distinguishes a child from its parent; everything else is inherited.
pub(crate) struct Child<'a> {
    pub(crate) name: &'a str,
    /// What the journal calls it, if that is known.
    pub(crate) known_name: Option<Arc<str>>,
    /// Its number among those of its name; `None` counts it now.
    pub(crate) repetition: Option<u32>,
    /// The longest it may take over the life of the run, whatever it waits for while somebody works on it.
    pub(crate) timeout: Option<Duration>,
    /// The time it has from now on, as a part of something that may take so long over the life of the run.
    pub(crate) time_left: Option<TimeLeft>,
    /// The longest it may work: waiting for people or for readers of events does not count.
    pub(crate) work_limit: Option<Duration>,
    pub(crate) settings: Option<Arc<Settings>>,
    pub(crate) limits: Option<Limits>,
    pub(crate) cancel: Option<Arc<Cancel>>,
    pub(crate) tap: Option<Tap>,
    pub(crate) owns_state: bool,
    /// It is a call of a tool.
    pub(crate) is_call: bool,
    /// Where keys are derived from, if that is not its own path.
    pub(crate) key_path: Option<Path>,
    /// When its logical time begins; `None`: now.
    pub(crate) since: Option<LogicalTime>,
}

impl<'a> Child<'a> {
    pub(crate) fn named(name: &'a str) -> Self {
        Self {
            name,
            known_name: None,
            repetition: None,
            timeout: None,
            time_left: None,
            work_limit: None,
            settings: None,
            limits: None,
            cancel: None,
            tap: None,
            owns_state: false,
            is_call: false,
            key_path: None,
            since: None,
        }
    }

    pub(crate) fn at(place: &'a ReservedScope) -> Self {
        Self { repetition: Some(place.repetition), since: Some(place.taken), ..Self::named(&place.name) }
    }
}

impl Node {
    pub(crate) fn root(
        run: Arc<Run>,
        settings: Arc<Settings>,
        budget: Option<Arc<Budget>>,
        cancel: Arc<Cancel>,
        deadline: Option<Deadline>,
    ) -> Self {
        Self {
            run,
            parent: None,
            name: "".into(),
            repetition: 1,
            depth: 0,
            path: OnceLock::from(Path::from("")),
            key_path: OnceLock::new(),
            retried: AtomicBool::new(false),
            went_own_way: AtomicBool::new(false),
            acted_otherwise: AtomicBool::new(false),
            next_ordinal: AtomicU32::new(0),
            children: Mutex::default(),
            deadline,
            own_time: None,
            ahead: None,
            clock: None,
            cancel,
            budget,
            settings,
            tap: None,
            state_owner: 0,
            is_part: false,
            ended: AtomicBool::new(false),
            suspended: AtomicBool::new(false),
            replay: OnceLock::new(),
            moment: AtomicU64::new(0),
            entered: AtomicBool::new(false),
            note: OnceLock::new(),
            is_for_step: AtomicBool::new(false),
            learnt: ScopeLabels::default(),
        }
    }

    pub(crate) fn child(self: &Arc<Self>, child: Child<'_>) -> Self {
        let depth = self.depth + 1;
        let clock = match child.work_limit {
            Some(limit) => Some(WorkClock::start(limit, depth, self.clock.clone())),
            None => self.clock.clone(),
        };
        let name = child.known_name.unwrap_or_else(|| self.name_of(child.name).into());
        let repetition = child.repetition.unwrap_or_else(|| self.count_child(&name));
        let path = OnceLock::new();
        let own_path = || path.get_or_init(|| Path::join(self.path(), &name, repetition));
        let own_time = child.timeout.map(|limit| OwnTime::of(limit, self.time_used_by(own_path())));
        let (deadline, ahead) = match (own_time, child.time_left) {
            (None, None) => (self.deadline.clone(), self.ahead.clone()),
            (own_time, time_left) => self.time_limit_of_child(own_path(), own_time, time_left),
        };
        let budget = child.limits.map(|limits| Budget::new(own_path().clone(), limits, self.budget.clone()));
        Self {
            run: Arc::clone(&self.run),
            parent: Some(Arc::clone(self)),
            name,
            repetition,
            depth,
            path,
            key_path: child.key_path.map_or_else(OnceLock::new, OnceLock::from),
            retried: AtomicBool::new(self.retried.load(Ordering::Relaxed)),
            went_own_way: AtomicBool::new(false),
            acted_otherwise: AtomicBool::new(false),
            next_ordinal: AtomicU32::new(0),
            children: Mutex::default(),
            deadline,
            own_time,
            ahead,
            clock,
            cancel: child.cancel.unwrap_or_else(|| Arc::clone(&self.cancel)),
            budget: budget.or_else(|| self.budget.clone()),
            settings: child.settings.unwrap_or_else(|| Arc::clone(&self.settings)),
            tap: child.tap.or_else(|| self.tap.clone()),
            state_owner: if child.owns_state { depth } else { self.state_owner },
            is_part: self.is_part || child.owns_state || child.is_call,
            ended: AtomicBool::new(false),
            suspended: AtomicBool::new(false),
            replay: self.replay.clone(),
            moment: AtomicU64::new(child.since.unwrap_or_else(|| self.moment()).number()),
            entered: AtomicBool::new(false),
            note: OnceLock::new(),
            is_for_step: AtomicBool::new(false),
            learnt: ScopeLabels::default(),
        }
    }

    /// The time that a child with this path was at work before: in this generation, and if it is the first of its place, in the one
    /// before, which the run continued out of it.
    fn time_used_by(&self, path: &Path) -> Duration {
        let index = self.live_index();
        let before = match index.is_some_and(|index| index.is_renewed(path)) {
            true => None,
            false => self.run.used_before(path),
        };
        let index = index.filter(|index| index.knows_within(path));
        before.unwrap_or_default() + index.map_or(Duration::ZERO, |index| index.time_used(path))
    }

    /// What the journal has of a run that really goes on.
    fn live_index(&self) -> Option<&JournalIndex> {
        self.run.journal.as_ref().filter(|journal| journal.is_live()).map(|journal| &journal.index)
    }

    /// How much of their time the scopes with a limit that this one is in have used so far, by their places.
    pub(crate) fn times_used(&self) -> BTreeMap<Path, Duration> {
        let scopes = std::iter::successors(Some(self), |node| node.parent.as_deref());
        scopes
            .filter_map(|node| Some((node.path().without_repetitions(), node.own_time.as_ref()?.used())))
            .collect()
    }

    /// When the time of a child is up that has a limit of its own, and what of its past takes none of it.
    fn time_limit_of_child(
        &self,
        path: &Path,
        own_time: Option<OwnTime>,
        time_left: Option<TimeLeft>,
    ) -> (Option<Deadline>, Option<Arc<EffectsAhead>>) {
        let index = self.live_index().filter(|index| index.knows_within(path));
        let over_life = own_time.map(|OwnTime { left, limit, .. }| (TimeLeft { left, of: limit }, limit));
        let from_now_on = time_left.map(|time| (time, time.left));
        let narrowest = over_life.into_iter().chain(from_now_on).min_by_key(|(time, _)| time.left);
        let Some((TimeLeft { left, of }, limit)) = narrowest else {
            return (self.deadline.clone(), self.ahead.clone());
        };
        let own = Deadline::at(Instant::now() + left, limit, self.depth + 1);
        let ahead = index.map(|index| EffectsAhead::new(index.finished_within(path), self.ahead.clone()));
        let own = match &ahead {
            Some(ahead) => own.after(Arc::clone(ahead), of),
            None => own,
        };
        (Some(own.within(self.deadline.as_ref())), ahead.or_else(|| self.ahead.clone()))
    }

    /// What the run's journal calls a child of this name.
    pub(crate) fn name_of<'a>(&'a self, name: &'a str) -> &'a str {
        let names = &self.run.names;
        if names.is_empty() { name } else { names.of(self.path(), name) }
    }

    /// The same of a name that is shared.
    pub(crate) fn shared_name_of(&self, name: &Arc<str>) -> Arc<str> {
        let names = &self.run.names;
        if names.is_empty() { Arc::clone(name) } else { names.of(self.path(), name).into() }
    }

    pub(crate) fn count_child(&self, name: &str) -> u32 {
        self.children.lock().unwrap_or_else(PoisonError::into_inner).count(name_hash(name))
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.get_or_init(|| match &self.parent {
            Some(parent) => Path::join(parent.path(), &self.name, self.repetition),
            None => Path::from(""),
        })
    }

    /// Where keys of effects are derived from: the path that this place had in the first attempt at it.
    pub(crate) fn key_path(&self) -> &Path {
        self.key_path.get_or_init(|| match &self.parent {
            Some(parent) if parent.retried.load(Ordering::Relaxed) => {
                Path::join(parent.key_path(), &self.name, self.repetition)
            }
            _ => self.path().clone(),
        })
    }

    /// What is done here from now on comes after what was done in a scope below, which is over.
    pub(crate) fn follow(&self, below: &Self) {
        if below.acted_otherwise.load(Ordering::Relaxed) {
            self.acted_otherwise.store(true, Ordering::Relaxed);
        }
    }

    /// Whether an attempt did something else here than the one before, or in what this is part of.
    pub(crate) fn goes_own_way(&self) -> bool {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.ancestry().any(|node| is_set(&node.went_own_way) || is_set(&node.acted_otherwise))
    }

    /// How far logical time has come here.
    pub(crate) fn moment(&self) -> LogicalTime {
        LogicalTime::from_number(self.moment.load(Ordering::Relaxed))
    }

    /// Something here follows from what has happened up to a moment. So does everything of the step that this is part of; what
    /// runs beside it is not concerned before it is over.
    pub(crate) fn reach(&self, moment: LogicalTime) {
        for node in self.ancestry() {
            node.moment.fetch_max(moment.number(), Ordering::Relaxed);
            if node.entered.load(Ordering::Relaxed) {
                break;
            }
        }
    }

    /// The next moment: something is told.
    pub(crate) fn tick(&self) -> LogicalTime {
        self.skip(1)
    }

    /// Lets as many moments pass as it takes to tell so much.
    pub(crate) fn skip(&self, ticks: u64) -> LogicalTime {
        let moment = LogicalTime::from_number(self.moment().number() + ticks);
        self.reach(moment);
        moment
    }

    /// This node and those further out.
    pub(crate) fn ancestry(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(self), |node| node.parent.as_deref())
    }

    fn at_depth(&self, depth: u32) -> &Node {
        self.ancestry().find(|node| node.depth == depth).unwrap_or(self)
    }

    /// The limit that is reached first, if time is up already.
    pub(crate) fn overdue(&self) -> Option<Deadline> {
        if self.deadline.is_none() && self.clock.is_none() {
            return None;
        }
        let now = Instant::now();
        let whole = self.deadline.clone().filter(|deadline| deadline.is_reached(now));
        let work = self.clock.as_ref().and_then(|clock| clock.overdue(now));
        whole.into_iter().chain(work).min_by_key(|deadline| deadline.at)
    }

    /// The time it is known to have at most.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        let whole = self.deadline.as_ref().map(|deadline| deadline.limit);
        shorter(whole, self.clock.as_ref().map(|clock| clock.limit()))
    }

    /// Whether a limit that was set within the run ends what happens here. What limits the run as a whole does not count while
    /// nobody works on it.
    pub(crate) fn is_timed(&self) -> bool {
        self.clock.is_some() || self.deadline.as_ref().is_some_and(|deadline| deadline.owner_depth > 0)
    }

    pub(crate) fn timed_out(&self, deadline: &Deadline) -> TimedOut {
        TimedOut { owner: self.at_depth(deadline.owner_depth).path().clone(), limit: deadline.limit }
    }

    pub(crate) fn state_path(&self) -> &Path {
        self.at_depth(self.state_owner).path()
    }
}

/// Where there are a few names, there are mostly some more.
const OTHERS: usize = 12;

/// How many children of each name there are. Many steps have a single one, which takes no table.
#[derive(Default)]
struct ChildCounts {
    first: Option<(u64, u32)>,
    others: HashMap<u64, u32, BuildHasherDefault<AlreadyHashed>>,
}

impl ChildCounts {
    fn count(&mut self, name: u64) -> u32 {
        let count = match self.first.get_or_insert((name, 0)) {
            (first, count) if *first == name => count,
            _ => {
                if self.others.is_empty() {
                    self.others.reserve(OTHERS);
                }
                self.others.entry(name).or_insert(0)
            }
        };
        *count += 1;
        *count
    }
}

/// Children are counted by a hash of their name: names need not be copied for it. Should two names ever share one,
/// their repetitions are counted together, which keeps paths unique and the same every time. The hash is FNV-1a and
/// must never change, or journals would no longer fit.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[derive(Default)]
pub(crate) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
