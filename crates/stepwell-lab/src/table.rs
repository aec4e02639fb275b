//! Tables of strings and numbers: shown on a page, written as Markdown (rounded, for
//! people) or as CSV (all digits, for programs).
//!
//! ```
//! use stepwell_lab::table::{Cell, Table};
//! let mut table = Table::new("Sizes", ["ring", "vertices"]);
//! table.rows.push(vec![Cell::text("a"), Cell::number(4.96, 1)]);
//! assert_eq!(table.markdown(), "| ring | vertices |\n|---|--:|\n| a | 5.0 |\n");
//! assert_eq!(table.csv(), "ring,vertices\na,4.96\n");
//! ```

/// Rows under a header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The displayed string.
    pub text: String,
    /// The number to sort by, if there is one.
    pub value: Option<f64>,
    /// The emphasis.
    pub emphasis: Emphasis,
    /// Whether it is a sentence, which may be longer than a name.
    pub is_sentence: bool,
}

/// The emphasis of a cell.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Emphasis {
    /// None.
    #[default]
    None,
    /// More or better.
    Above,
    /// Less or worse.
    Below,
    /// A missing value.
    Missing,
}

impl Cell {
    /// A string, sorted as a string.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, emphasis: Emphasis::None, is_sentence: false }
    }

    /// A number with `decimals` decimals.
    pub fn number(value: f64, decimals: usize) -> Self {
        // Adding 0 makes -0 positive.
        Self::sorted(format!("{:.decimals$}", value + 0.0), value)
    }

    /// A number with `decimals` decimals, or a dash.
    pub fn optional(value: Option<f64>, decimals: usize) -> Self {
        value.map_or_else(Self::none, |value| Self::number(value, decimals))
    }

    /// A count.
    pub fn count(value: usize) -> Self {
        Self::sorted(value.to_string(), value as f64)
    }

    /// `mean ± std`, sorted by the mean.
    pub fn spread(mean: f64, std: f64) -> Self {
        Self::sorted(format!("{mean:.1} ± {std:.1}"), mean)
    }

    /// A string, sorted by a number.
    pub fn sorted(text: impl Into<String>, value: f64) -> Self {
        Self { value: Some(value).filter(|value| value.is_finite()), ..Self::text(text) }
    }

    /// A missing value, with a string in its place.
    pub fn missing(text: impl Into<String>) -> Self {
        Self { emphasis: Emphasis::Missing, ..Self::text(text) }
    }

    /// A dash: no value.
    pub fn none() -> Self {
        Self::missing("–")
    }

    /// A whole sentence.
    pub fn sentence(text: impl Into<String>) -> Self {
        Self { is_sentence: true, ..Self::text(text) }
    }
}

/// A column of a table: its name, and a function from a row to its cell.
pub type Column<T> = (&'static str, fn(&T) -> Cell);

impl Table {
    /// A table with one row per value.
    pub fn of<T>(caption: &str, rows: &[T], columns: &[Column<T>]) -> Self {
        let mut table = Self::new(caption, columns.iter().map(|(name, _)| *name));
        table.rows.extend(rows.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect()));
        table
    }

    /// A table without rows.
    pub fn new<S: Into<String>>(caption: &str, header: impl IntoIterator<Item = S>) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Self { caption: caption.to_owned(), header, rows: Vec::new() }
    }

    /// Whether a column has numbers.
    pub fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.value.is_some()))
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: String = (0..self.header.len())
            .map(|column| if self.is_numeric(column) { "|--:" } else { "|---" })
            .chain(["|\n"])
            .collect();
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(|cell| &cell.text)));
        line(&mut self.header.iter()) + &rule + &rows.collect::<String>()
    }

    /// As comma-separated values: numbers with all digits, empty fields for missing
    /// values.
    pub fn csv(&self) -> String {
        let quoted = |text: &str| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let cell = |cell: &Cell| match cell.value {
            Some(value) => value.to_string(),
            None if cell.emphasis == Emphasis::Missing => String::new(),
            None => quoted(&cell.text),
        };
        let header: Vec<String> = self.header.iter().map(|name| quoted(name)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>());
        std::iter::once(header).chain(rows).map(|line| line.join(",") + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_separators_stay_whole() {
        let mut table = Table::new("", ["set", "accuracy"]);
        table.rows.push(vec![Cell::text("a,\"b\"|c"), Cell::number(1.0 / 3.0, 1)]);
        table.rows.push(vec![Cell::text("d"), Cell::none()]);
        assert_eq!(table.csv(), "set,accuracy\n\"a,\"\"b\"\"|c\",0.3333333333333333\nd,\n");
        assert_eq!(table.markdown(), "| set | accuracy |\n|---|--:|\n| a,\"b\"\\|c | 0.3 |\n| d | – |\n");
    }
}
