//! Tables that fit a width.

use convoke_text::columns;

use super::Rich;
use crate::Tone;

const GAP: usize = 2;

/// Before a column is left out, prose is given as much room as this.
const COMFORTABLE: usize = 20;

/// The alignment of the text of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At its beginning.
    Left,
    /// At its end, as numbers do.
    Right,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    align: Align,
    least: Option<Least>,
    /// Where room is short, such columns are left out, the lowest number first.
    surplus: Option<u8>,
}

/// How narrow a column may become, and how its texts are then cut.
#[derive(Debug, Clone, Copy)]
struct Least {
    columns: usize,
    /// Ids are cut without a sign: what is left can still be copied.
    is_id: bool,
}

impl Column {
    /// A column with this title, as wide as what is in it.
    #[must_use]
    pub fn new(title: &'static str, align: Align) -> Self {
        Self { title, align, least: None, surplus: None }
    }

    /// Lets the column become as narrow as this.
    #[must_use]
    pub fn yielding(self, columns: usize) -> Self {
        Self { least: Some(Least { columns, is_id: false }), ..self }
    }

    /// Lets the column be left out where room is short, the lowest number first.
    #[must_use]
    pub fn surplus(self, order: u8) -> Self {
        Self { surplus: Some(order), ..self }
    }

    /// Lets ids be cut to their first digits, if nothing else gives room.
    #[must_use]
    pub fn abbreviating(self, columns: usize) -> Self {
        Self { least: Some(Least { columns, is_id: true }), ..self }
    }
}

/// Rows under titles.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    /// A table of these columns, without rows.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row: one text per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = (Tone, String)>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table in lines no wider than this.
    #[must_use]
    pub fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        let widths = self.widths(width);
        let titles: Vec<_> =
            self.columns.iter().map(|column| (Tone::Faint, column.title.to_owned())).collect();
        std::iter::once(&titles).chain(&self.rows).map(|row| self.line(row, &widths, width)).collect()
    }

    /// How wide each column is; 0 for one that is left out.
    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let widest = |index: usize, column: &Column| {
            let cells =
                self.rows.iter().filter_map(|row| row.get(index)).map(|(_, cell)| columns::width(cell));
            cells.chain([columns::width(column.title)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> =
            self.columns.iter().enumerate().map(|(index, column)| widest(index, column)).collect();
        let Some(limit) = limit else { return widths };
        self.leave_out(&mut widths, limit);
        let gaps = GAP * widths.iter().filter(|width| **width > 0).count().saturating_sub(1);
        // Prose gives way before ids do.
        for ids in [false, true] {
            for (index, column) in self.columns.iter().enumerate() {
                let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
                if let Some(least) = column.least.filter(|least| least.is_id == ids) {
                    let least = least.columns.max(columns::width(column.title)).min(widths[index]);
                    widths[index] = widths[index].saturating_sub(excess).max(least);
                }
            }
        }
        widths
    }

    /// Leaves out what is not needed until prose has room and ids are whole.
    fn leave_out(&self, widths: &mut [usize], limit: usize) {
        let mut surplus: Vec<usize> =
            (0..self.columns.len()).filter(|index| self.columns[*index].surplus.is_some()).collect();
        surplus.sort_by_key(|index| self.columns[*index].surplus);
        for index in surplus {
            let wanted = self.columns.iter().zip(&*widths).filter(|(_, width)| **width > 0);
            let wanted: usize = wanted
                .map(|(column, width)| match column.least {
                    Some(Least { is_id: false, .. }) => GAP + (*width).min(COMFORTABLE),
                    _ => GAP + width,
                })
                .sum();
            if wanted.saturating_sub(GAP) <= limit {
                return;
            }
            widths[index] = 0;
        }
    }

    fn line(&self, row: &[(Tone, String)], widths: &[usize], limit: Option<usize>) -> Rich {
        let mut line = Rich::default();
        for (index, (tone, cell)) in row.iter().enumerate() {
            let (column, width) = (&self.columns[index], widths[index]);
            if width == 0 {
                continue;
            }
            let is_id = column.least.is_some_and(|least| least.is_id);
            let cell = if is_id { columns::head(cell, width).to_owned() } else { columns::cut(cell, width) };
            let space = " ".repeat(width.saturating_sub(columns::width(&cell)));
            let gap = if index == 0 { "" } else { "  " };
            line = line.with(Tone::Plain, gap);
            line = match column.align {
                Align::Left => line.with(*tone, cell).with(Tone::Plain, space),
                Align::Right => line.with(Tone::Plain, space).with(*tone, cell),
            };
        }
        match limit {
            Some(limit) => line.cut(limit),
            None => line,
        }
    }
}
