//! The content of a diagram. It knows nothing of how it is drawn.

/// A box of a diagram, or a group of boxes, by the number it was added with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(pub(crate) usize);

/// The form of a box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Something that is done.
    #[default]
    Box,
    /// A state, or something that is done again and again.
    Rounded,
    /// Something that is given.
    Input,
    /// Something that decides where to go on.
    Decision,
    /// Where everything begins.
    Start,
    /// Where everything ends.
    End,
}

/// The fate of a box in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mark {
    /// There is no run, or nothing is known of it.
    #[default]
    None,
    /// The run never came there.
    Untouched,
    /// It is done.
    Done,
    /// The run is there.
    Active,
    /// The run waits there for somebody.
    Waiting,
    /// It failed there.
    Failed,
    /// Something else ended it there, and nothing of it counts.
    Cancelled,
}

/// A box of a diagram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The lines in it.
    pub lines: Vec<String>,
    /// Its form.
    pub shape: Shape,
    /// The group it is in.
    pub parent: Option<ItemId>,
    /// What became of it.
    pub mark: Mark,
    /// How often a run came there, if whoever made the diagram knows.
    pub visits: Option<u64>,
    /// What is said of that below the lines, such as how long it took; nothing if empty.
    pub note: String,
    /// Where a run does it: the path of its scope without repetitions, by which what happened is found.
    pub path: Option<String>,
    /// Whether a run may come there and leave nothing on record, so that nothing on record does not mean that it never came.
    pub leaves_no_trace: bool,
}

impl Item {
    /// A box with a line in it.
    #[must_use]
    pub fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], ..Self::default() }
    }

    /// Makes the mark where everything begins.
    #[must_use]
    pub fn start() -> Self {
        Self { shape: Shape::Start, ..Self::default() }
    }

    /// Makes the mark where everything ends.
    #[must_use]
    pub fn end() -> Self {
        Self { shape: Shape::End, ..Self::default() }
    }

    /// With another line below the others.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// With another form.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Within a group.
    #[must_use]
    pub fn within(mut self, group: ItemId) -> Self {
        self.parent = Some(group);
        self
    }

    /// Done by a run at this path, which has no repetitions in it.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Something that a run may do without anything on record.
    #[must_use]
    pub fn without_trace(mut self) -> Self {
        self.leaves_no_trace = true;
        self
    }
}

/// The meaning of an arrow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// One comes after the other.
    #[default]
    Solid,
    /// One uses what the other made.
    Dashed,
}

/// An arrow of a diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrow {
    /// Where it begins.
    pub from: ItemId,
    /// Where it ends.
    pub to: ItemId,
    /// What is written at it; nothing if empty.
    pub label: String,
    /// What it stands for.
    pub line: Line,
    /// How often a run went that way; `None` if there is no run or nothing is known of it.
    pub taken: Option<u64>,
}

impl Arrow {
    /// An arrow from one to another.
    #[must_use]
    pub fn new(from: ItemId, to: ItemId) -> Self {
        Self { from, to, label: String::new(), line: Line::Solid, taken: None }
    }

    /// With something written at it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Dashed.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.line = Line::Dashed;
        self
    }

    /// Returns whether it is dashed.
    #[must_use]
    pub fn is_dashed(&self) -> bool {
        self.line == Line::Dashed
    }
}

/// Boxes, groups of them, and arrows between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagram {
    pub(crate) title: String,
    items: Vec<Item>,
    arrows: Vec<Arrow>,
}

impl Diagram {
    /// A diagram with nothing in it. Its title is what a picture of it is called where it cannot be seen.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a box. One that others are [within](Item::within) is a group. A box that claims to be in a group that is not in
    /// this diagram is in none.
    pub fn add(&mut self, mut item: Item) -> ItemId {
        item.parent = item.parent.filter(|parent| parent.0 < self.items.len());
        self.items.push(item);
        ItemId(self.items.len() - 1)
    }

    /// Adds an arrow, unless it is there already or one of its ends is not in this diagram.
    pub fn connect(&mut self, arrow: Arrow) {
        let is_known = |id: ItemId| id.0 < self.items.len();
        if is_known(arrow.from) && is_known(arrow.to) && !self.arrows.contains(&arrow) {
            self.arrows.push(arrow);
        }
    }

    /// The boxes and groups, in the order they were added.
    pub fn items(&self) -> impl ExactSizeIterator<Item = (ItemId, &Item)> {
        self.items.iter().enumerate().map(|(number, item)| (ItemId(number), item))
    }

    /// The boxes and groups, to mark what became of them.
    pub fn items_mut(&mut self) -> impl Iterator<Item = (ItemId, &mut Item)> {
        self.items.iter_mut().enumerate().map(|(number, item)| (ItemId(number), item))
    }

    /// The arrows, in the order they were added.
    #[must_use]
    pub fn arrows(&self) -> &[Arrow] {
        &self.arrows
    }

    /// The arrows, to count how often they were taken.
    pub fn arrows_mut(&mut self) -> impl Iterator<Item = &mut Arrow> {
        self.arrows.iter_mut()
    }

    pub(crate) fn item(&self, id: ItemId) -> &Item {
        &self.items[id.0]
    }

    /// What is directly in a group, or in none.
    pub(crate) fn children(&self, parent: Option<ItemId>) -> Vec<ItemId> {
        self.items().filter(|(_, item)| item.parent == parent).map(|(id, _)| id).collect()
    }

    pub(crate) fn is_group(&self, id: ItemId) -> bool {
        self.items.iter().any(|item| item.parent == Some(id))
    }

    /// The groups an item is in, the innermost first, itself before them.
    pub(crate) fn ancestry(&self, id: ItemId) -> Vec<ItemId> {
        // A parent is added before what is in it, so this ends.
        std::iter::successors(Some(id), |id| self.item(*id).parent).collect()
    }
}
