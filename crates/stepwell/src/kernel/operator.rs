//! The rows of `Ã` (or `A`, or a quotient of either) of many graphs, in the order in
//! which a sweep visits them.

use super::Real;
use super::order::Order;

/// The matrices of a list of graphs.
///
/// Two invariants that the kernel relies on hold by construction: columns stay within
/// their graph, and no row reads another row of its colour.
#[derive(Clone, Default)]
pub(crate) struct Operator<T> {
    /// Graph g has the rows `graph_starts[g]..graph_starts[g + 1]`.
    graph_starts: Vec<usize>,
    /// Row r has the entries `row_starts[r]..row_starts[r + 1]`.
    row_starts: Vec<usize>,
    columns: Vec<u32>,
    /// The gate line of each entry. Empty if no graph's edges carry labels or
    /// attributes.
    lines: Vec<u32>,
    values: Vec<T>,
    /// The number of vertices each row stands for. Empty while it is 1 for all rows.
    sizes: Vec<u32>,
    /// Whether each graph has rows that stand for several vertices.
    lifted: Vec<bool>,
    /// Graph g has the colours `colour_starts[colour_lists[g]..colour_lists[g + 1]]`.
    colour_lists: Vec<usize>,
    /// Where the rows of each colour begin in their graph, followed by the number of
    /// rows.
    colour_starts: Vec<usize>,
}

/// The matrix of one graph.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) row_starts: &'a [usize],
    pub(crate) columns: &'a [u32],
    pub(crate) lines: &'a [u32],
    pub(crate) values: &'a [T],
    pub(crate) sizes: &'a [u32],
    pub(crate) colour_starts: &'a [usize],
}

impl<T: Real> Operator<T> {
    /// No graphs.
    pub fn new() -> Self {
        Self {
            graph_starts: vec![0],
            row_starts: vec![0],
            columns: Vec::new(),
            lines: Vec::new(),
            values: Vec::new(),
            sizes: Vec::new(),
            lifted: Vec::new(),
            colour_lists: vec![0],
            colour_starts: Vec::new(),
        }
    }

    /// Frees memory reserved for more entries.
    pub fn shrink(&mut self) {
        self.columns.shrink_to_fit();
        self.lines.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.graph_starts.len() - 1
    }

    /// Number of rows of all graphs.
    pub fn num_rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Number of entries of all graphs.
    pub fn num_entries(&self) -> usize {
        self.columns.len()
    }

    /// Where the rows of each graph begin, followed by the number of rows.
    pub fn graph_starts(&self) -> &[usize] {
        &self.graph_starts
    }

    /// Appends a matrix with rows and columns in the given order. `lines` holds the
    /// gate lines of the entries, for every matrix or for none. `sizes` holds the
    /// number of vertices each row stands for, if not 1. Returns the position of each
    /// row, or the first value that is not finite in `T`; the matrix is then unusable.
    ///
    /// # Panics
    /// If the order is not a proper colouring of the matrix.
    pub fn push(
        &mut self,
        row_starts: &[usize],
        columns: &[u32],
        lines: Option<&[u32]>,
        values: &[f64],
        sizes: Option<&[u32]>,
        order: &Order,
    ) -> Result<Vec<u32>, f64> {
        let mut places = vec![0u32; order.rows.len()];
        order.rows.iter().enumerate().for_each(|(place, &row)| places[row as usize] = place as u32);
        self.columns.reserve(columns.len());
        self.lines.reserve(lines.map_or(0, <[u32]>::len));
        self.values.reserve(columns.len());
        for colour in order.starts.windows(2) {
            for place in colour[0]..colour[1] {
                let row = order.rows[place] as usize;
                let entries = row_starts[row]..row_starts[row + 1];
                if let Some(lines) = lines {
                    self.lines.extend_from_slice(&lines[entries.clone()]);
                }
                for (&column, &value) in columns[entries.clone()].iter().zip(&values[entries]) {
                    let column = places[column as usize];
                    let own = column as usize == place;
                    assert!(
                        own || !(colour[0]..colour[1]).contains(&(column as usize)),
                        "improper colouring"
                    );
                    let rounded = T::from_f64(value);
                    if !rounded.is_finite() {
                        return Err(value);
                    }
                    self.columns.push(column);
                    self.values.push(rounded);
                }
                self.row_starts.push(self.columns.len());
            }
        }
        let first = self.graph_starts[self.len()];
        assert_eq!(self.num_rows() - first, order.rows.len(), "colours must cover the rows");
        assert!(self.lines.is_empty() || self.lines.len() == self.columns.len(), "all have gates, or none");
        if let Some(sizes) = sizes {
            self.sizes.resize(first, 1);
            self.sizes.extend(order.rows.iter().map(|&row| sizes[row as usize]));
        } else if !self.sizes.is_empty() {
            self.sizes.resize(self.num_rows(), 1);
        }
        self.lifted.push(sizes.is_some());
        self.graph_starts.push(self.num_rows());
        self.colour_starts.extend_from_slice(&order.starts);
        self.colour_lists.push(self.colour_starts.len());
        Ok(places)
    }

    /// The matrix of one graph.
    pub fn graph(&self, index: usize) -> Rows<'_, T> {
        let (first, end) = (self.graph_starts[index], self.graph_starts[index + 1]);
        // The result for a graph must not depend on whether others in the batch are lifted.
        let sizes = if self.lifted[index] { &self.sizes[first..end] } else { &[] };
        Rows {
            row_starts: &self.row_starts[first..=end],
            columns: &self.columns,
            lines: &self.lines,
            values: &self.values,
            sizes,
            colour_starts: &self.colour_starts[self.colour_lists[index]..self.colour_lists[index + 1]],
        }
    }
}

impl<T: Real> Rows<'_, T> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Whether entries have gates.
    pub fn gated(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The gate lines of the entries.
    pub(super) fn lines(&self) -> &[u32] {
        let entries = self.row_starts[0]..self.row_starts[self.len()];
        if self.gated() { &self.lines[entries] } else { &[] }
    }

    /// The number of vertices a row stands for.
    pub fn size(&self, row: usize) -> f64 {
        self.sizes.get(row).map_or(1.0, |&size| f64::from(size))
    }

    /// The number of vertices all rows stand for.
    pub fn num_vertices(&self) -> f64 {
        (0..self.len()).map(|row| self.size(row)).sum()
    }
}
