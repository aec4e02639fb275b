//! Turns labels and attributes of edges into the inputs of the model's gates.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::exact::Spread;
use super::{Inputs, one_hot_column, one_hot_columns};
use crate::error::{Error, Result, same_length};
use crate::graph::{Attributes, GraphBatch};

/// Scaled attributes are clamped to this many standard deviations. A larger value would make the
/// gate noise, and in f32 possibly not a number.
const FARTHEST: f64 = 1e6;

/// The part of a [`FeatureMap`](super::FeatureMap) that reads edges: the labels of each label
/// column and the scales of the attributes. Constant columns carry no information and are ignored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct EdgeMap {
    /// The labels of each column, ascending. If attributes are one-hot rows, one more column lists
    /// those of their positions that occur.
    labels: Vec<Vec<i32>>,
    /// Subtracted from each attribute.
    means: Vec<f64>,
    /// Divisor of each attribute; `f64::MAX` for a constant one, so that it vanishes.
    scales: Vec<f64>,
    /// Whether attributes are one-hot rows, which are treated like labels.
    one_hot: bool,
}

/// A map as read from a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    labels: Vec<Vec<i32>>,
    means: Vec<f64>,
    scales: Vec<f64>,
    one_hot: bool,
}

impl TryFrom<Written> for EdgeMap {
    type Error = Error;

    fn try_from(Written { labels, means, scales, one_hot }: Written) -> Result<Self> {
        same_length("scales of edge attributes", means.len(), scales.len())?;
        super::check_scales(&means, &scales)?;
        super::check_labels("edge labels", &labels)?;
        if one_hot && labels.is_empty() {
            return Err(Error::Length { what: "columns of edge labels", expected: 1, found: 0 });
        }
        Ok(Self { labels, means, scales, one_hot })
    }
}

/// Labels and attributes of the edges of a batch, in the form that gates are computed from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeInputs {
    /// Number of label columns with more than one label.
    columns: usize,
    /// The distinct rows of labels, as lines of the gate table.
    kinds: Vec<u32>,
    /// The index of each entry's row of labels; empty if there are no such columns.
    kind_of: Vec<u32>,
    width: usize,
    /// Scaled, `width` per entry.
    attributes: Vec<f64>,
}

impl EdgeInputs {
    /// Whether edges have neither labels nor attributes.
    pub fn is_empty(&self) -> bool {
        self.columns == 0 && self.width == 0
    }

    /// The distinct rows of labels, ascending. Each holds, for every label, its line in the gate
    /// table, or [`Inputs::NO_COLUMN`] if the label is unknown.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.kinds.chunks_exact(self.columns.max(1))
    }

    /// The index of each entry in [`kinds`](Self::kinds); empty without labels.
    pub fn kind_of(&self) -> &[u32] {
        &self.kind_of
    }

    /// The gate-table lines of one entry's labels; empty without labels.
    pub fn labels(&self, entry: usize) -> &[u32] {
        let kind =
            |&kind: &u32| &self.kinds[kind as usize * self.columns..(kind as usize + 1) * self.columns];
        self.kind_of.get(entry).map_or(&[], kind)
    }

    /// Number of attributes per entry.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of entries with attributes.
    pub fn num_attributed(&self) -> usize {
        self.attributes.len().checked_div(self.width).unwrap_or(0)
    }

    /// The attributes of one entry; empty without attributes.
    pub fn attributes(&self, entry: usize) -> &[f64] {
        &self.attributes[entry * self.width..(entry + 1) * self.width]
    }
}

impl EdgeMap {
    /// Whether the map reads no edges. Edges may then carry any labels and attributes.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.means.is_empty()
    }

    /// Number of lines of the gate table: one per label of every column with more than one label.
    pub fn num_labels(&self) -> usize {
        self.labels.iter().map(Vec::len).filter(|&labels| labels > 1).sum()
    }

    /// Number of attributes that gates use.
    pub fn num_attributes(&self) -> usize {
        let varies = self.scales.iter().any(|&scale| scale < f64::MAX);
        if varies && !self.one_hot { self.means.len() } else { 0 }
    }

    /// Number of label columns without the one for one-hot attributes.
    fn label_columns(&self) -> usize {
        self.labels.len() - usize::from(self.one_hot)
    }

    /// The labels of an entry, followed by the column of its one-hot attributes, if any.
    fn labels_of<'a>(
        &'a self,
        batch: &'a GraphBatch,
        entry: usize,
    ) -> impl Iterator<Item = Option<i32>> + 'a {
        let labels = batch.edge_labels().map_or(&[][..], |labels| labels.row(entry));
        let attributes = batch.edge_attributes().filter(|_| self.one_hot);
        let column = attributes.map(|attributes| one_hot_column(attributes.row(entry)).map(|c| c as i32));
        labels.iter().map(|&label| Some(label)).chain(column)
    }

    /// The number of edges with a label that the map was not fitted on.
    pub fn unknown_labels(&self, batch: &GraphBatch) -> usize {
        let carried = batch.edge_labels().map_or(0, |labels| labels.width);
        if self.labels.is_empty() || carried != self.label_columns() {
            return 0;
        }
        let known = |(label, known): (Option<i32>, &Vec<i32>)| {
            label.is_some_and(|label| known.binary_search(&label).is_ok())
        };
        let mut unknown = 0;
        let mut entry = 0;
        for graph in batch.iter() {
            for (row, column, _) in graph.entries() {
                let counts = graph.is_directed() || row <= column;
                unknown += usize::from(counts && !self.labels_of(batch, entry).zip(&self.labels).all(known));
                entry += 1;
            }
        }
        unknown
    }

    /// Whether the edge attributes were constant when the map was fitted, but vary in this batch.
    pub(super) fn misses_attributes(&self, batch: &GraphBatch) -> bool {
        let attributes = batch.edge_attributes().filter(|all| !self.one_hot && all.width == self.means.len());
        let differs = |table: &Attributes| {
            table.values.chunks_exact(table.width).any(|row| row != &table.values[..table.width])
        };
        self.num_attributes() == 0 && attributes.is_some_and(differs)
    }

    /// Computes the gate inputs of all entries of a batch.
    pub fn apply(&self, batch: &GraphBatch) -> Result<EdgeInputs> {
        if self.is_empty() || batch.num_entries() == 0 {
            return Ok(EdgeInputs::default());
        }
        let (labels, attributes) = (batch.edge_labels(), batch.edge_attributes());
        check("edge labels", self.label_columns(), labels.map_or(0, |labels| labels.width))?;
        check("edge attributes", self.means.len(), attributes.map_or(0, |attributes| attributes.width))?;
        let mut inputs = EdgeInputs::default();
        if let Some(attributes) = attributes.filter(|_| self.num_attributes() > 0) {
            inputs.width = attributes.width;
            let scaled = |row: &[f64], k: usize| {
                ((row[k] - self.means[k]) / self.scales[k]).clamp(-FARTHEST, FARTHEST)
            };
            let rows = attributes.values.chunks_exact(attributes.width);
            inputs.attributes = rows.flat_map(|row| (0..row.len()).map(move |k| scaled(row, k))).collect();
        }
        inputs.columns = self.labels.iter().filter(|known| known.len() > 1).count();
        if inputs.columns > 0 {
            inputs.number(batch.num_entries(), |entry, row| {
                let mut first = 0;
                for (label, known) in self.labels_of(batch, entry).zip(&self.labels) {
                    if known.len() > 1 {
                        let at = label.and_then(|label| known.binary_search(&label).ok());
                        row.push(at.map_or(Inputs::NO_COLUMN, |at| first + at as u32));
                        first += known.len() as u32;
                    }
                }
            });
        }
        Ok(inputs)
    }
}

impl EdgeInputs {
    /// Numbers the distinct rows that `read` returns, in ascending order of the rows.
    fn number(&mut self, entries: usize, read: impl Fn(usize, &mut Vec<u32>)) {
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
        let (mut row, mut before, mut number) = (Vec::new(), Vec::new(), 0);
        for entry in 0..entries {
            row.clear();
            read(entry, &mut row);
            // Consecutive entries are often of the same kind, which saves the look-up.
            if entry == 0 || row != before {
                number = match numbers.get(&row) {
                    Some(&known) => known,
                    None => {
                        let new = numbers.len() as u32;
                        numbers.insert(row.clone(), new);
                        new
                    }
                };
                std::mem::swap(&mut row, &mut before);
            }
            self.kind_of.push(number);
        }
        // Sort the rows, so that their numbers do not depend on the order of the edges.
        let mut sorted: Vec<(Vec<u32>, u32)> = numbers.into_iter().collect();
        sorted.sort_unstable();
        let mut place = vec![0; sorted.len()];
        for (at, (row, number)) in sorted.into_iter().enumerate() {
            self.kinds.extend_from_slice(&row);
            place[number as usize] = at as u32;
        }
        self.kind_of.iter_mut().for_each(|kind| *kind = place[*kind as usize]);
    }
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let told = |width: usize| if width == 0 { "none".to_owned() } else { format!("{width} per edge") };
    Err(Error::Unfit { what, expected: told(expected), found: told(found) })
}

/// Collects the data of an [`EdgeMap`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct EdgeFit {
    /// Numbers of label and attribute columns; known after the first edge.
    widths: Option<(usize, usize)>,
    labels: Vec<BTreeSet<i32>>,
    attributes: Vec<Spread>,
    /// Whether some attributes were not one-hot rows.
    dense: bool,
}

impl EdgeFit {
    pub fn observe(&mut self, batch: &GraphBatch) -> Result<()> {
        if batch.num_entries() == 0 {
            return Ok(());
        }
        let (labels, attributes) = (batch.edge_labels(), batch.edge_attributes());
        let found = (labels.map_or(0, |table| table.width), attributes.map_or(0, |table| table.width));
        self.check(found)?;
        if let Some(labels) = labels {
            for row in labels.values.chunks_exact(labels.width) {
                for (known, &label) in self.labels.iter_mut().zip(row) {
                    known.insert(label);
                }
            }
        }
        if let Some(attributes) = attributes {
            self.dense |= one_hot_columns(&attributes.values, attributes.width).is_none();
            for row in attributes.values.chunks_exact(attributes.width) {
                row.iter().zip(&mut self.attributes).for_each(|(&value, column)| column.add(value));
            }
        }
        Ok(())
    }

    fn check(&mut self, found: (usize, usize)) -> Result<()> {
        let expected = *self.widths.get_or_insert(found);
        same_length("edge labels", expected.0, found.0)?;
        same_length("edge attributes", expected.1, found.1)?;
        self.labels.resize(found.0, BTreeSet::new());
        self.attributes.resize(found.1, Spread::default());
        Ok(())
    }

    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let Some(widths) = other.widths else { return Ok(()) };
        self.check(widths)?;
        self.labels.iter_mut().zip(&other.labels).for_each(|(mine, theirs)| mine.extend(theirs));
        self.attributes.iter_mut().zip(&other.attributes).for_each(|(mine, theirs)| mine.merge(theirs));
        self.dense |= other.dense;
        Ok(())
    }

    pub fn finish(self, raw: bool) -> EdgeMap {
        let mut labels: Vec<Vec<i32>> =
            self.labels.into_iter().map(|known| known.into_iter().collect()).collect();
        let one_hot = !self.dense && self.attributes.len() > 1;
        if one_hot {
            let occurs = |(_, column): &(i32, &Spread)| column.mean_and_deviation().0 > 0.0;
            labels.push((0..).zip(&self.attributes).filter(occurs).map(|(column, _)| column).collect());
        }
        let scale = |column: &Spread| match column.mean_and_scale() {
            Some((_, f64::MAX)) => (0.0, f64::MAX),
            Some(scaled) if !raw => scaled,
            _ => (0.0, 1.0),
        };
        let (means, scales) = self.attributes.iter().map(scale).unzip();
        EdgeMap { labels, means, scales, one_hot }
    }
}
