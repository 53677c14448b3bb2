//! A list as text: its columns beside each other, or its rows as records where the terminal is too narrow for that.
//!
//! A figure, a time or an id that is broken over two lines cannot be read or copied. So a column is never narrower than its
//! longest word. If the columns do not fit into the terminal then, each row is written as a record, a line for each key.

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// The space between two columns.
const GAP: usize = 2;
/// Tables with this number of columns are never written as records, which would have as many columns.
const RECORD_COLUMNS: usize = 2;

/// Rows of text cells below the names of their columns.
pub struct TextTable {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub fn new(columns: &[&str]) -> Self {
        let headings = columns.iter().map(|column| column.replace('_', " ").to_uppercase()).collect();
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text for a terminal with `width` columns. `None`: there is no terminal, and lines may have any width.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let Some(width) = width else { return self.columns(None) };
        let words = self.longest_words();
        let has_room = self.headings.len() <= RECORD_COLUMNS || line_width(&words) <= width;
        if has_room { self.columns(Some((width, &words))) } else { self.records(width) }
    }

    /// The length of the longest word of each column.
    fn longest_words(&self) -> Vec<usize> {
        let longest = |cell: &String| cell.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let mut words: Vec<usize> = self.headings.iter().map(longest).collect();
        for row in &self.rows {
            for (word, cell) in words.iter_mut().zip(row) {
                *word = longest(cell).max(*word);
            }
        }
        words
    }

    /// The columns beside each other; in a terminal with its width, and each with the length of its longest word.
    fn columns(&self, terminal: Option<(usize, &[usize])>) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(self.headings.iter().map(|heading| heading_cell(heading)));
        table.add_rows(&self.rows);
        if let Some((width, words)) = terminal {
            limit_width(&mut table, width);
            if words.len() > RECORD_COLUMNS {
                for (column, word) in table.column_iter_mut().zip(words) {
                    let least = u16::try_from(word + GAP).unwrap_or(u16::MAX);
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
                }
            }
        }
        table.trim_fmt()
    }

    /// Each row as lines of a heading and a cell, with an empty line between two rows.
    fn records(&self, width: usize) -> String {
        let record = |row: &Vec<String>| {
            let mut table = Table::new();
            table.load_preset(presets::NOTHING);
            for (heading, cell) in self.headings.iter().zip(row) {
                table.add_row([heading_cell(heading), Cell::new(cell)]);
            }
            limit_width(&mut table, width);
            if let Some(column) = table.column_mut(0) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            table.trim_fmt()
        };
        self.rows.iter().map(record).collect::<Vec<_>>().join("\n\n")
    }
}

/// The width of a line with cells of these lengths. A line begins with a space.
fn line_width(cells: &[usize]) -> usize {
    cells.iter().map(|cell| cell + GAP).sum::<usize>().saturating_sub(1)
}

/// Wraps the cells of `table` in a terminal with `width` columns. The space after the last column is left out.
fn limit_width(table: &mut Table, width: usize) {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width + 1).unwrap_or(u16::MAX));
}

fn heading_cell(heading: &str) -> Cell {
    let cell = Cell::new(heading);
    if is_plain() { cell } else { cell.add_attribute(Attribute::Bold) }
}

/// True if the user has disabled colours and weights (no-color.org).
fn is_plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
