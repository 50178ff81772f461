//! The tree of a run under way.

use std::collections::HashMap;

use convoke_core::{EffectKind, Path, RunStatus, Segment, Timestamp};
use convoke_goals::Kind;
use convoke_history::History;

use super::planned::Planned;
use super::row::{Row, Used};

/// What is known of a run under way.
#[derive(Debug)]
pub(crate) struct Progress {
    /// All nodes; the first is the whole. Parents come before their children.
    pub(super) rows: Vec<Row>,
    /// Which node a step that was begun is.
    pub(super) at: HashMap<Path, usize>,
    /// Calls of tools that are known, by who makes them: ids are unique only in a conversation.
    pub(super) calls: HashMap<(usize, String), Call>,
    /// Questions that are open, and who asks them.
    pub(super) questions: HashMap<String, usize>,
    /// What calls of models before the run was resumed used, by where they were made.
    past: Vec<(Path, Used)>,
    /// Whether the run had been started before.
    pub(crate) resumed: bool,
    /// How it ended.
    pub(crate) ended: Option<RunStatus>,
    /// The message that is being said, and the end of it.
    pub(crate) said: Option<Said>,
}

/// A call of a tool.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// What a model is saying.
#[derive(Debug)]
pub(crate) struct Said {
    pub(super) message: String,
    pub(super) row: usize,
    pub(super) text: String,
}

impl Progress {
    /// Nothing has happened yet.
    pub(crate) fn new(planned: &Planned) -> Self {
        let mut progress = Self {
            rows: Vec::new(),
            at: HashMap::new(),
            calls: HashMap::new(),
            questions: HashMap::new(),
            past: Vec::new(),
            resumed: false,
            ended: None,
            said: None,
        };
        progress.plan(planned, None, 1);
        progress
    }

    /// The same, with what the run's journal says was used before. What answers from a journal is not told of every call, so
    /// nodes take it from here when they begin again.
    pub(crate) fn remembering(mut self, history: &History) -> Self {
        let calls = history.effects.iter().filter(|effect| effect.kind == EffectKind::Model);
        self.past = calls.map(|effect| (effect.path.clone(), Used::from(effect.spent()))).collect();
        self
    }

    /// What was used before at a path and below it.
    pub(super) fn used_before(&self, path: &Path) -> Used {
        let within = self.past.iter().filter(|(place, _)| place.is_within(path));
        within.fold(Used::default(), |sum, (_, used)| sum.with(*used))
    }

    /// Whether it is known what was used before.
    pub(super) fn knows_the_past(&self) -> bool {
        !self.past.is_empty()
    }

    fn plan(&mut self, planned: &Planned, parent: Option<usize>, repetition: usize) {
        let own = self.add(&planned.name, planned.kind, segment(&planned.name, repetition), parent);
        self.rows[own].planned = true;
        for (index, child) in planned.children.iter().enumerate() {
            let before = planned.children[..index].iter().filter(|other| other.name == child.name).count();
            self.plan(child, Some(own), before + 1);
        }
    }

    fn add(&mut self, name: &str, kind: Kind, segment: String, parent: Option<usize>) -> usize {
        let own = self.rows.len();
        self.rows.push(Row::new(name, kind, segment, parent));
        if let Some(parent) = parent {
            self.rows[parent].children.push(own);
        }
        own
    }

    /// The node that is or has the step at a path.
    pub(super) fn nearest(&self, path: &Path) -> usize {
        let mut text = path.as_str();
        loop {
            if let Some(row) = self.at.get(&Path::from(text)) {
                return *row;
            }
            match text.rsplit_once('/') {
                Some((above, _)) => text = above,
                None => return 0,
            }
        }
    }

    /// The node that a step begins, made if it is not there.
    pub(super) fn begun_by(&mut self, path: &Path, kind: Kind) -> usize {
        let mut segments = path.segments();
        let last = segments.next_back().unwrap_or_default().to_owned();
        let row = if segments.next_back().is_none() {
            0
        } else {
            let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
            let parent = self.nearest(&Path::from(above));
            self.child(parent, &last).unwrap_or_else(|| self.add(&name_of(&last), kind, last, Some(parent)))
        };
        self.at.insert(path.clone(), row);
        row
    }

    /// The child that a step of this name is. A repetition of which there is but one in the plan is that one again.
    fn child(&self, parent: usize, segment: &str) -> Option<usize> {
        let children = &self.rows[parent].children;
        let is = |row: &&usize, segment: &str| self.rows[**row].segment == segment;
        let once = || {
            let base = Segment::of(segment).written();
            children.iter().find(|row| self.rows[**row].planned && is(row, base))
        };
        children.iter().find(|row| is(row, segment)).or_else(once).copied()
    }

    /// The node of a name at a path, or right below it: some is said by a part about itself, some by what is around it.
    pub(super) fn named(&self, path: &Path, name: Option<&str>) -> usize {
        let nearest = self.nearest(path);
        let Some(name) = name.filter(|name| self.rows[nearest].name != **name) else { return nearest };
        let children = &self.rows[nearest].children;
        children.iter().copied().find(|child| self.rows[*child].name == name).unwrap_or(nearest)
    }

    /// A node and all around it.
    pub(super) fn upwards(&self, row: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(row), |row| self.rows[*row].parent)
    }

    /// The node that something at a path is about.
    pub(crate) fn row(&self, path: &Path) -> &Row {
        &self.rows[self.nearest(path)]
    }

    /// A call of a tool at a path.
    pub(super) fn call(&self, path: &Path, id: &str) -> Option<&Call> {
        self.calls.get(&(self.nearest(path), id.to_owned()))
    }

    /// The whole.
    pub(crate) fn whole(&self) -> &Row {
        // There is always one: made with the tree.
        &self.rows[0]
    }

    /// What the whole run used so far.
    pub(super) fn used(&self) -> &Used {
        &self.whole().used
    }

    /// How many goals there are, and how many of them are settled.
    pub(crate) fn goals(&self) -> (usize, usize) {
        let is_goal = |row: &&Row| matches!(row.kind, Kind::Goal | Kind::Convergence);
        let goals = self.rows.iter().filter(is_goal);
        (goals.clone().filter(|row| row.state.is_settled()).count(), goals.count())
    }

    /// Ends whatever is not over.
    pub(super) fn stop(&mut self, state: super::State, at: Timestamp) {
        for row in &mut self.rows {
            if row.begun.is_some() {
                row.end(state, at);
            }
        }
    }
}

/// A name as paths have it.
fn segment(name: &str, repetition: usize) -> String {
    let name = name.replace('%', "%25").replace('/', "%2f").replace('#', "%23");
    if repetition > 1 { format!("{name}#{repetition}") } else { name }
}

/// The name in a part of a path.
pub(super) fn name_of(segment: &str) -> String {
    segment.replace("%2f", "/").replace("%23", "#").replace("%25", "%")
}
