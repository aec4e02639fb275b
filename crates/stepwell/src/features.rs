//! Turns vertex labels and attributes into the model's input `X`.
//!
//! A [`FeatureMap`] is fitted once, without targets, on the training graphs and stored with the
//! model. It z-scores the attributes, gives every vertex label its own one-hot column, and can add
//! columns computed from the structure. Vertices without labels and attributes get their z-scored
//! degree. Attributes that are one-hot rows are treated like labels and are not scaled. The
//! resulting [`Inputs`] store one-hot rows as integers, because a one-hot row times `V` is a row of
//! `V`.
//!
//! Wide attributes that are mostly 0 are stored as sparse rows: memory and the time of `X V` are
//! proportional to the number of non-zeros. Z-scoring a sparse row divides its non-zeros by the
//! scales and subtracts `mean / scale` from every column, which is one constant row for all
//! vertices. On request, the map fits labels and attributes of edges in the same way.
//!
//! ```
//! use stepwell::features::{FeatureMap, FeatureOptions};
//! use stepwell::graph::{EdgeList, Graph};
//! let star = Graph::new(&EdgeList::new(3, &[0, 0], &[1, 2]))?;
//! let map = FeatureMap::fit(star.as_batch(), &FeatureOptions::default())?;
//! let x = map.apply(star.as_batch())?;
//! assert_eq!(x.width(), 1); // the degree, centred and scaled
//! assert!((x.dense_row(0)[0] - 2f64.sqrt()).abs() < 1e-12);
//! # Ok::<(), stepwell::Error>(())
//! ```

mod edges;
mod exact;
mod fit;
mod triangles;

pub use edges::{EdgeInputs, EdgeMap};
pub(crate) use exact::Spread;
pub use fit::{FeatureFit, SPARSE_WIDTH};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, same_length};
use crate::graph::{GraphBatch, GraphRef, SparseRows, VertexAttributes};
use crate::memory;

/// A column (or five) computed from a vertex's position in the graph.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StructuralFeature {
    /// The weighted degree.
    Degree,
    /// `ln(1 + degree)`.
    LogDegree,
    /// The fraction of pairs of neighbours that are neighbours themselves.
    Clustering,
    /// The degree and the minimum, maximum, mean and standard deviation of the
    /// neighbours' degrees (5 columns; 0 without neighbours).
    LocalDegreeProfile,
}

impl StructuralFeature {
    /// The number of columns it adds.
    pub fn width(self) -> usize {
        match self {
            Self::LocalDegreeProfile => 5,
            _ => 1,
        }
    }

    /// Its columns for one graph, unscaled, stored by row (one row per vertex).
    pub fn columns(self, graph: GraphRef<'_>) -> Vec<f64> {
        match self {
            Self::Degree => graph.degrees(),
            Self::LogDegree => graph.degrees().into_iter().map(f64::ln_1p).collect(),
            Self::Clustering => clustering_coefficients(graph),
            Self::LocalDegreeProfile => local_degree_profile(graph),
        }
    }
}

/// The columns of `X` and their scaling.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureOptions {
    /// Use attributes as they are instead of z-scoring them. Structural columns are always
    /// z-scored.
    pub raw: bool,
    /// Divide attributes by one number, the root mean square length of their rows, instead of
    /// z-scoring them. One-hot rows are left unchanged: their length is 1.
    #[serde(skip_serializing_if = "is_false")]
    pub by_length: bool,
    /// Structural columns, appended to the attributes.
    pub structure: Vec<StructuralFeature>,
    /// Structural columns for vertices without attributes and labels, if `structure` is empty. If
    /// this is empty, too, [`StructuralFeature::Degree`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bare_structure: Vec<StructuralFeature>,
    /// Also fit labels and attributes of edges.
    pub edges: bool,
}

/// The numbers of input columns of a model.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InputShape {
    /// Columns of `X`, F.
    pub features: usize,
    /// Number of edge labels with a gate.
    pub edge_labels: usize,
    /// Number of edge attributes.
    pub edge_attributes: usize,
}

impl From<usize> for InputShape {
    fn from(features: usize) -> Self {
        Self { features, ..Self::default() }
    }
}

/// The sparse columns: only the non-zeros are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseInputs {
    rows: SparseRows,
    /// Added to every row; empty if it is 0 in all columns.
    shift: Vec<f64>,
}

impl SparseInputs {
    /// The rows without the shift.
    pub fn rows(&self) -> &SparseRows {
        &self.rows
    }

    /// Added to every row; empty if it is 0 in all columns.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// Appends one complete row, zeros included.
    fn extend_with_row(&self, vertex: usize, out: &mut Vec<f64>) {
        let begin = out.len();
        out.extend_from_slice(&self.shift);
        out.resize(begin + self.rows.width(), 0.0);
        let (columns, values) = self.rows.row(vertex);
        columns.iter().zip(values).for_each(|(&column, value)| out[begin + column as usize] += value);
    }

    /// The column of the 1 in every row, if all rows are one-hot.
    fn one_hot_columns(&self) -> Option<Vec<u32>> {
        if !self.shift.is_empty() || self.rows.width() < 2 {
            return None;
        }
        let column = |row: usize| match self.rows.row(row) {
            (&[column], &[1.0]) => Some(column),
            _ => None,
        };
        (0..self.rows.len()).map(column).collect()
    }
}

/// The model's input: a sparse, a dense and a one-hot part, in this order, and the inputs of the
/// edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    sparse: Option<SparseInputs>,
    dense_width: usize,
    dense: Vec<f64>,
    one_hot_width: usize,
    /// Number of labels per vertex, each with its own columns.
    labels: usize,
    one_hot: Vec<u32>,
    edges: EdgeInputs,
}

impl Inputs {
    /// Inputs with only a dense part, unscaled. If all rows are one-hot, they are stored as
    /// integers: the same `X`, the same bits, less work.
    pub fn from_rows(width: usize, rows: Vec<f64>) -> Result<Self> {
        let found = if width == 0 { rows.len() } else { rows.len() % width };
        if found != 0 {
            return Err(Error::Length { what: "numbers in the last row of inputs", expected: width, found });
        }
        if let Some(at) = rows.iter().position(|value| !value.is_finite()) {
            let (index, value) = (at / width, rows[at]);
            return Err(Error::BadValue { what: "input", item: "vertex", index, value });
        }
        Ok(Self::new(width, rows, 0, 0, Vec::new()))
    }

    /// Concatenates rows `range` of each part, without the edge inputs. All parts must have the
    /// same width; the error names the first part that differs.
    pub fn concat<'a>(
        parts: impl IntoIterator<Item = (&'a Inputs, std::ops::Range<usize>)> + Clone,
    ) -> Result<Self, WidthDiffers> {
        let mut parts_seen = parts.clone().into_iter();
        let Some((first, _)) = parts_seen.next() else { return Ok(Self::default()) };
        let mut alike = true;
        for (part, (inputs, _)) in parts_seen.enumerate() {
            if inputs.width() != first.width() {
                let (expected, found) = (first.width(), inputs.width());
                return Err(WidthDiffers { part: part + 1, expected, found });
            }
            alike &= inputs.dense_width == first.dense_width && inputs.labels == first.labels;
            alike &= inputs.sparse.is_none();
        }
        alike &= first.sparse.is_none();
        let mut whole = Self::default();
        (whole.dense_width, whole.one_hot_width, whole.labels) = if alike {
            (first.dense_width, first.one_hot_width, first.labels)
        } else {
            (first.width(), 0, 0)
        };
        for (inputs, range) in parts {
            if alike {
                let Self { dense_width, labels, .. } = *inputs;
                whole
                    .dense
                    .extend_from_slice(&inputs.dense[range.start * dense_width..range.end * dense_width]);
                whole.one_hot.extend_from_slice(&inputs.one_hot[range.start * labels..range.end * labels]);
            } else {
                range.for_each(|vertex| inputs.extend_with_row(vertex, &mut whole.dense));
            }
        }
        Ok(whole)
    }

    /// Appends one vertex's complete row of `X`, including the one-hot columns.
    pub fn extend_with_row(&self, vertex: usize, rows: &mut Vec<f64>) {
        if let Some(sparse) = &self.sparse {
            sparse.extend_with_row(vertex, rows);
        }
        rows.extend_from_slice(self.dense_row(vertex));
        let begin = rows.len();
        rows.resize(begin + self.one_hot_width, 0.0);
        for &column in self.one_hot_row(vertex).iter().filter(|&&column| column != Self::NO_COLUMN) {
            rows[begin + column as usize] = 1.0;
        }
    }

    /// A dense part and a one-hot part (of width 0 if there is none). If there is no one-hot part
    /// and all dense rows are one-hot, they are stored as integers.
    fn new(
        dense_width: usize,
        dense: Vec<f64>,
        one_hot_width: usize,
        labels: usize,
        one_hot: Vec<u32>,
    ) -> Self {
        let edges = EdgeInputs::default();
        if one_hot_width == 0
            && let Some(one_hot) = one_hot_columns(&dense, dense_width)
        {
            let (dense, one_hot_width) = (Vec::new(), dense_width);
            return Self { sparse: None, dense_width: 0, dense, one_hot_width, labels: 1, one_hot, edges };
        }
        Self { sparse: None, dense_width, dense, one_hot_width, labels, one_hot, edges }
    }

    /// Adds a sparse part in front. If there is no other part and all its rows are one-hot, they
    /// are stored as integers, too.
    fn with_sparse(mut self, sparse: SparseInputs) -> Self {
        if self.width() == 0
            && let Some(one_hot) = sparse.one_hot_columns()
        {
            let (one_hot_width, edges) = (sparse.rows.width(), self.edges);
            return Self { one_hot_width, labels: 1, one_hot, edges, ..Self::default() };
        }
        self.sparse = Some(sparse);
        self
    }

    /// The [`one_hot`](Self::one_hot) entry of a vertex whose label the map was not fitted on: its
    /// one-hot row is all zeros.
    pub const NO_COLUMN: u32 = u32::MAX;

    /// Columns of `X`, F.
    pub fn width(&self) -> usize {
        self.sparse_width() + self.dense_width + self.one_hot_width
    }

    /// Columns of the sparse part, which are the first ones.
    pub fn sparse_width(&self) -> usize {
        self.sparse.as_ref().map_or(0, |sparse| sparse.rows.width())
    }

    /// The sparse part, if there is one.
    pub fn sparse(&self) -> Option<&SparseInputs> {
        self.sparse.as_ref()
    }

    /// Columns of the dense part, between the sparse and the one-hot columns.
    pub fn dense_width(&self) -> usize {
        self.dense_width
    }

    /// Columns of the one-hot part.
    pub fn one_hot_width(&self) -> usize {
        self.one_hot_width
    }

    /// One vertex's dense part.
    pub fn dense_row(&self, vertex: usize) -> &[f64] {
        &self.dense[vertex * self.dense_width..(vertex + 1) * self.dense_width]
    }

    /// The dense part, stored by row.
    pub fn dense(&self) -> &[f64] {
        &self.dense
    }

    /// Number of labels per vertex, each with its own columns in the one-hot part.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The one-hot columns of all vertices, [`labels`](Self::labels) per vertex, or
    /// [`NO_COLUMN`](Self::NO_COLUMN) for an unknown label. Empty if there is no one-hot part.
    pub fn one_hot(&self) -> &[u32] {
        &self.one_hot
    }

    /// One vertex's columns of the one-hot part.
    pub fn one_hot_row(&self, vertex: usize) -> &[u32] {
        &self.one_hot[vertex * self.labels..(vertex + 1) * self.labels]
    }

    /// The inputs of the edges.
    pub fn edges(&self) -> &EdgeInputs {
        &self.edges
    }
}

/// Inputs of different widths cannot be concatenated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WidthDiffers {
    /// The first part that differs from part 0.
    pub part: usize,
    /// Columns of part 0.
    pub expected: usize,
    /// Columns of this part.
    pub found: usize,
}

/// A fitted map from graphs to [`Inputs`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct FeatureMap {
    /// Number of attributes that become columns.
    attributes: usize,
    /// Number of attributes that do not become columns, because they were constant.
    #[serde(skip_serializing_if = "is_zero")]
    ignored: usize,
    /// The names of the attributes, if they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    structure: Vec<StructuralFeature>,
    /// Whether inputs store the attributes as sparse rows.
    #[serde(skip_serializing_if = "is_false")]
    sparse: bool,
    /// Subtracted from each attribute and structural column.
    means: Vec<f64>,
    /// Divisor of each of these columns; `f64::MAX` for a constant column, so that it vanishes.
    scales: Vec<f64>,
    /// For each label position, the labels with a one-hot column, ascending.
    labels: Vec<Vec<i32>>,
    #[serde(skip_serializing_if = "EdgeMap::is_empty")]
    edges: EdgeMap,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// A map as read from a file, before its parts are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    attributes: usize,
    #[serde(default)]
    ignored: usize,
    #[serde(default)]
    names: Vec<String>,
    structure: Vec<StructuralFeature>,
    #[serde(default)]
    sparse: bool,
    means: Vec<f64>,
    scales: Vec<f64>,
    labels: WrittenLabels,
    #[serde(default)]
    edges: EdgeMap,
}

/// Version 0.1.0 had one label per vertex.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenLabels {
    One(Vec<i32>),
    Several(Vec<Vec<i32>>),
}

/// Checks that means are finite, and scales finite and positive.
fn check_scales(means: &[f64], scales: &[f64]) -> Result<()> {
    let unusable = |x: f64, scale: bool| !x.is_finite() || scale && x <= 0.0;
    let columns = means.iter().zip(scales).enumerate();
    for (index, (&mean, &scale)) in columns {
        let value = if unusable(mean, false) { mean } else { scale };
        if unusable(mean, false) || unusable(scale, true) {
            return Err(Error::BadValue { what: "mean or scale", item: "column", index, value });
        }
    }
    Ok(())
}

fn check_labels(what: &'static str, labels: &[Vec<i32>]) -> Result<()> {
    let position = |known: &Vec<i32>| known.windows(2).position(|pair| pair[0] >= pair[1]);
    match labels.iter().find_map(position) {
        Some(position) => Err(Error::NotAscending { what, position: position + 1 }),
        None => Ok(()),
    }
}

impl TryFrom<Written> for FeatureMap {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        let Written { attributes, ignored, names, structure, sparse, means, scales, labels, edges } = written;
        let labels = match labels {
            WrittenLabels::One(labels) if labels.is_empty() => Vec::new(),
            WrittenLabels::One(labels) => vec![labels],
            WrittenLabels::Several(labels) => labels,
        };
        if !names.is_empty() {
            same_length("names of vertex attributes", attributes, names.len())?;
        }
        let columns = structure.iter().map(|feature| feature.width()).sum::<usize>();
        let expected = attributes.saturating_add(columns);
        for (what, found) in [("means of the inputs", means.len()), ("scales of the inputs", scales.len())] {
            if found != expected {
                return Err(Error::Length { what, expected, found });
            }
        }
        check_scales(&means, &scales)?;
        check_labels("vertex labels", &labels)?;
        Ok(Self { attributes, ignored, names, structure, sparse, means, scales, labels, edges })
    }
}

impl FeatureMap {
    /// Fits the map on all graphs of a batch.
    pub fn fit(batch: &GraphBatch, options: &FeatureOptions) -> Result<Self> {
        let mut fit = FeatureFit::new(options);
        fit.observe(batch)?;
        Ok(fit.finish())
    }

    /// The map that returns `attributes` attributes unchanged.
    pub fn as_given(attributes: usize) -> Self {
        Self { attributes, means: vec![0.0; attributes], scales: vec![1.0; attributes], ..Self::default() }
    }

    /// The number of attributes that every vertex must carry.
    pub fn attributes(&self) -> usize {
        self.attributes + self.ignored
    }

    /// The number of attributes that are ignored, because all attributes were the same on all
    /// vertices that the map was fitted on.
    pub fn ignored(&self) -> usize {
        self.ignored
    }

    /// The names of the attributes that become columns, if they have names.
    pub fn attribute_names(&self) -> &[String] {
        &self.names
    }

    /// Whether inputs store the attributes as sparse rows: there are at least 32 of them, and at
    /// most a tenth of the values that the map was fitted on were not 0. It does not matter whether
    /// graphs store them as dense or sparse rows.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// The structural columns.
    pub fn structure(&self) -> &[StructuralFeature] {
        &self.structure
    }

    /// For each label position, the labels with a column, in the order of the columns.
    pub fn labels(&self) -> &[Vec<i32>] {
        &self.labels
    }

    /// The part that reads edges.
    pub fn edges(&self) -> &EdgeMap {
        &self.edges
    }

    /// The number of vertices of a batch that have a label without a column.
    pub fn unknown_labels(&self, batch: &GraphBatch) -> usize {
        let unknown = |row: &[i32]| {
            row.iter().zip(&self.labels).any(|(label, known)| known.binary_search(label).is_err())
        };
        let labels = batch.vertex_labels().filter(|labels| labels.width == self.labels.len());
        labels.map_or(0, |labels| labels.values.chunks_exact(labels.width).filter(|row| unknown(row)).count())
    }

    /// The name of the edge data of a batch that the map ignores, if any.
    pub fn ignored_of_edges(&self, batch: &GraphBatch) -> Option<&'static str> {
        if batch.num_entries() == 0 || !self.edges.is_empty() {
            return self.edges.misses_attributes(batch).then_some("attributes");
        }
        match (batch.edge_labels(), batch.edge_attributes()) {
            (None, None) => None,
            (Some(_), None) => Some("labels"),
            (None, Some(_)) => Some("attributes"),
            (Some(_), Some(_)) => Some("labels and attributes"),
        }
    }

    /// Columns of its inputs, F.
    pub fn width(&self) -> usize {
        self.means.len() + self.one_hot_width()
    }

    /// The numbers of columns of all its inputs.
    pub fn shape(&self) -> InputShape {
        InputShape {
            features: self.width(),
            edge_labels: self.edges.num_labels(),
            edge_attributes: self.edges.num_attributes(),
        }
    }

    fn one_hot_width(&self) -> usize {
        self.labels.iter().map(Vec::len).sum()
    }

    /// Computes `X` for all vertices of a batch. Labels that the map was not fitted on become rows
    /// of zeros in the one-hot part.
    pub fn apply(&self, batch: &GraphBatch) -> Result<Inputs> {
        let found = batch.vertex_attributes().map_or(0, VertexAttributes::width);
        if batch.num_vertices() > 0 && found != self.attributes() {
            let told = |width: usize| if width == 0 { "none".to_owned() } else { width.to_string() };
            let (expected, found) = (told(self.attributes()), told(found));
            return Err(Error::Unfit { what: "vertex attributes", expected, found });
        }
        let order = self.order(batch)?;
        let labels = batch.vertex_labels().filter(|_| !self.labels.is_empty());
        let found = labels.map_or(0, |labels| labels.width);
        if batch.num_vertices() > 0 && self.labels.len() != found {
            let (mut expected, mut told) = (format!("{} per vertex", self.labels.len()), found.to_string());
            if found == 0 {
                (expected, told) = (format!("{} distinct labels", self.one_hot_width()), "none".into());
            }
            return Err(Error::Unfit { what: "vertex labels", expected, found: told });
        }
        let first = self.first_dense();
        let width = self.means.len() - first;
        let entries = batch.vertex_attributes().filter(|_| self.sparse).map_or(0, |all| all.num_non_zeros());
        let what = "the inputs of all vertices";
        memory::ask_array(what, &[batch.num_vertices(), width], 8)?;
        memory::ask_array(what, &[entries], 12)?;
        let mut dense = self.dense(batch, order.as_deref());
        if width > 0 {
            for row in dense.chunks_exact_mut(width) {
                let scaling = self.means[first..].iter().zip(&self.scales[first..]);
                for (x, (mean, scale)) in row.iter_mut().zip(scaling) {
                    *x = (*x - mean) / scale;
                }
            }
        }
        let starts: Vec<u32> = (0..self.labels.len())
            .map(|label| self.labels[..label].iter().map(|known| known.len() as u32).sum())
            .collect();
        let column = |(at, label): (usize, &i32)| {
            let known = at % self.labels.len();
            let found = self.labels[known].binary_search(label);
            found.map_or(Inputs::NO_COLUMN, |column| starts[known] + column as u32)
        };
        let values = labels.map_or(&[][..], |labels| &labels.values);
        let one_hot = values.iter().enumerate().map(column).collect();
        let inputs = Inputs::new(width, dense, self.one_hot_width(), self.labels.len(), one_hot);
        let inputs = Inputs { edges: self.edges.apply(batch)?, ..inputs };
        if self.sparse {
            Ok(inputs.with_sparse(self.sparse_part(batch, order.as_deref())))
        } else {
            Ok(inputs)
        }
    }

    /// The index of the first dense column.
    fn first_dense(&self) -> usize {
        if self.sparse { self.attributes } else { 0 }
    }

    /// The scaled attributes as sparse rows.
    fn sparse_part(&self, batch: &GraphBatch, order: Option<&[usize]>) -> SparseInputs {
        // The target column of each column of the batch.
        let goes_to = order.map(|order| {
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(to, &from)| places[from] = to as u32);
            places
        });
        let mut rows = SparseRows::empty(self.attributes);
        let mut entries = Vec::new();
        for vertex in 0..batch.num_vertices() {
            entries.clear();
            for (column, value) in batch.vertex_attributes().iter().flat_map(|all| all.non_zeros(vertex)) {
                let column = goes_to.as_ref().map_or(column as u32, |places| places[column]);
                entries.push((column, value / self.scales[column as usize]));
            }
            if goes_to.is_some() {
                entries.sort_unstable_by_key(|&(column, _)| column);
            }
            rows.push(entries.iter().copied());
        }
        let scaling = self.means[..self.attributes].iter().zip(&self.scales);
        let mut shift: Vec<f64> = scaling.map(|(mean, scale)| -mean / scale).collect();
        if shift.iter().all(|x| *x == 0.0) {
            shift.clear();
        }
        SparseInputs { rows, shift }
    }

    /// The position in the batch of each attribute that the map was fitted on, if the attributes
    /// have names and their order differs.
    fn order(&self, batch: &GraphBatch) -> Result<Option<Vec<usize>>> {
        let found = match batch.attribute_names() {
            Some(names) if !self.names.is_empty() && names != self.names => names,
            _ => return Ok(None),
        };
        let place = |name: &String| found.iter().position(|other| other == name);
        let order = self.names.iter().map(place).collect::<Option<Vec<usize>>>();
        order.map(Some).ok_or_else(|| Error::Unfit {
            what: "vertex attributes",
            expected: self.names.join(", "),
            found: found.join(", "),
        })
    }

    /// The attributes (unless they are sparse) and the structural columns side by side, unscaled.
    fn dense(&self, batch: &GraphBatch, order: Option<&[usize]>) -> Vec<f64> {
        let width = self.means.len() - self.first_dense();
        let mut dense = vec![0.0; batch.num_vertices() * width];
        let mut rest = &mut dense[..];
        let mut graphs = Vec::with_capacity(batch.len());
        for graph in batch.iter() {
            let (rows, others) = rest.split_at_mut(graph.num_vertices() * width);
            graphs.push((graph, rows));
            rest = others;
        }
        graphs.into_par_iter().for_each(|(graph, rows)| self.fill(rows, batch, graph, order));
        dense
    }

    /// Fills the rows of one graph of a batch.
    fn fill(&self, rows: &mut [f64], batch: &GraphBatch, graph: GraphRef<'_>, order: Option<&[usize]>) {
        let first = self.first_dense();
        let width = self.means.len() - first;
        let offset = batch.vertex_offsets()[graph.index()];
        match (batch.vertex_attributes().filter(|_| self.attributes > first), order) {
            (None, _) => {}
            (Some(VertexAttributes::Dense(all)), None) => {
                put(rows, width, 0, all.rows(offset..offset + graph.num_vertices()), all.width);
            }
            (Some(all), order) => {
                for (vertex, row) in rows.chunks_exact_mut(width).enumerate() {
                    let values = all.row(offset + vertex);
                    match order {
                        None => row[..values.len()].copy_from_slice(&values),
                        Some(order) => row.iter_mut().zip(order).for_each(|(x, &column)| *x = values[column]),
                    }
                }
            }
        }
        let mut column = self.attributes - first;
        for feature in &self.structure {
            put(rows, width, column, &feature.columns(graph), feature.width());
            column += feature.width();
        }
    }
}

/// The column of the 1 in every row, if all rows are one-hot. Rows of a single number do not count
/// as one-hot: a constant column carries no information.
fn one_hot_columns(dense: &[f64], width: usize) -> Option<Vec<u32>> {
    if width < 2 || width > u32::MAX as usize {
        return None;
    }
    dense.chunks_exact(width).map(|row| one_hot_column(row).map(|column| column as u32)).collect()
}

/// The column of the 1, if the row is one-hot.
fn one_hot_column(row: &[f64]) -> Option<usize> {
    let one = row.iter().position(|&x| x == 1.0)?;
    let zeros = row.iter().filter(|&&x| x == 0.0).count();
    (zeros == row.len() - 1).then_some(one)
}

fn put(rows: &mut [f64], width: usize, column: usize, values: &[f64], values_width: usize) {
    if values_width == 0 {
        return;
    }
    for (row, part) in rows.chunks_exact_mut(width).zip(values.chunks_exact(values_width)) {
        row[column..column + values_width].copy_from_slice(part);
    }
}

/// The clustering coefficient of Watts and Strogatz for every vertex: the fraction of its pairs of
/// neighbours that are joined, ignoring weights, directions of triangles and self loops. 0 for
/// vertices with fewer than two neighbours.
pub fn clustering_coefficients(graph: GraphRef<'_>) -> Vec<f64> {
    let others = |v: usize| graph.neighbours(v).iter().map(|&u| u as usize).filter(move |&u| u != v);
    let joined =
        if graph.is_directed() { triangles::joined_targets(graph) } else { triangles::joined_pairs(graph) };
    let share = |(v, joined): (usize, usize)| {
        let degree = others(v).count();
        if degree < 2 { 0.0 } else { joined as f64 / (degree * (degree - 1)) as f64 }
    };
    joined.into_iter().enumerate().map(share).collect()
}

fn local_degree_profile(graph: GraphRef<'_>) -> Vec<f64> {
    let degrees = graph.degrees();
    let mut rows = Vec::with_capacity(degrees.len() * 5);
    for (v, &degree) in degrees.iter().enumerate() {
        let around = || graph.neighbours(v).iter().map(|&u| degrees[u as usize]);
        let count = graph.neighbours(v).len() as f64;
        if count == 0.0 {
            rows.extend([degree, 0.0, 0.0, 0.0, 0.0]);
            continue;
        }
        let mean = around().sum::<f64>() / count;
        let variance = around().map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
        let (low, high) = around().fold((f64::MAX, f64::MIN), |(l, h), d| (l.min(d), h.max(d)));
        rows.extend([degree, low, high, mean, variance.sqrt()]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BatchBuilder, EdgeList};

    fn two_graphs() -> GraphBatch {
        let mut builder = BatchBuilder::default();
        let edges = EdgeList {
            vertex_labels: Some((&[5, -1, 5], 1)),
            vertex_attributes: Some((&[1.0, 7.0, 2.0, 7.0, 3.0, 7.0], 2)),
            ..EdgeList::new(3, &[0, 1], &[1, 2])
        };
        builder.push(&edges).unwrap();
        let edges = EdgeList {
            vertex_labels: Some((&[9], 1)),
            vertex_attributes: Some((&[6.0, 7.0], 2)),
            ..EdgeList::new(1, &[], &[])
        };
        builder.push(&edges).unwrap();
        builder.finish()
    }

    #[test]
    fn attributes_are_standardized_and_labels_get_columns() {
        let batch = two_graphs();
        let map = FeatureMap::fit(&batch, &FeatureOptions::default()).unwrap();
        let x = map.apply(&batch).unwrap();
        assert_eq!(map.labels(), [[-1, 5, 9]]);
        assert_eq!((x.dense_width(), x.one_hot_width(), x.width()), (2, 3, 5));
        assert_eq!(x.one_hot(), [1, 0, 1, 2]);
        let column: Vec<f64> = (0..4).map(|v| x.dense_row(v)[0]).collect();
        assert!(column.iter().sum::<f64>().abs() < 1e-12);
        assert!((column.iter().map(|x| x * x).sum::<f64>() - 4.0).abs() < 1e-12);
        assert!((0..4).all(|v| x.dense_row(v)[1] == 0.0), "a constant column is centred, not scaled");
    }

    #[test]
    fn pieces_fit_the_same_map_to_the_bit() {
        let batch = two_graphs();
        let whole = FeatureMap::fit(&batch, &FeatureOptions::default()).unwrap();
        let mut fit = FeatureFit::new(&FeatureOptions::default());
        for index in 0..batch.len() {
            fit.observe(&batch.select(&[index])).unwrap();
        }
        assert_eq!(fit.finish(), whole);
        // The means and deviations of the columns, by definition.
        let column = [1.0, 2.0, 3.0, 6.0];
        let mean: f64 = column.iter().sum::<f64>() / 4.0;
        let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 4.0;
        assert!((whole.means[0] - mean).abs() < 1e-14 && (whole.scales[0] - variance.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn unknown_labels_have_no_column_and_missing_ones_are_an_error() {
        let batch = two_graphs();
        let map = FeatureMap::fit(&batch.select(&[0]), &FeatureOptions::default()).unwrap();
        assert_eq!(map.apply(&batch).unwrap().one_hot()[3], Inputs::NO_COLUMN);
        let bare = crate::graph::Graph::new(&EdgeList::new(1, &[], &[])).unwrap();
        assert!(map.apply(bare.as_batch()).is_err());
    }

    #[test]
    fn raw_leaves_attributes_and_structure_adds_scaled_columns() {
        let batch = two_graphs();
        let structure = vec![StructuralFeature::Clustering, StructuralFeature::LocalDegreeProfile];
        let map =
            FeatureMap::fit(&batch, &FeatureOptions { raw: true, structure, ..Default::default() }).unwrap();
        let x = map.apply(&batch).unwrap();
        assert_eq!(x.dense_row(0)[..3], [1.0, 7.0, 0.0], "no triangle, no spread");
        // Degrees 1, 2, 1, 0 have mean 1 and variance 1/2; smallest neighbouring degrees are 2, 1, 2, none.
        let degrees = [0.0, 2f64.sqrt(), 0.0, -(2f64.sqrt())];
        let smallest = [2.0, 1.0, 2.0, 0.0].map(|low: f64| (low - 1.25) / 0.6875f64.sqrt());
        for v in 0..4 {
            assert!((x.dense_row(v)[3] - degrees[v]).abs() < 1e-12);
            assert!((x.dense_row(v)[4] - smallest[v]).abs() < 1e-12);
        }
    }

    #[test]
    fn bare_vertices_have_columns_of_their_own() {
        let options =
            FeatureOptions { bare_structure: vec![StructuralFeature::LogDegree], ..Default::default() };
        let carrying = two_graphs();
        let usual = FeatureMap::fit(&carrying, &FeatureOptions::default()).unwrap();
        assert_eq!(FeatureMap::fit(&carrying, &options).unwrap(), usual);
        let bare = carrying.bare();
        let map = FeatureMap::fit(&bare, &options).unwrap();
        let structure = vec![StructuralFeature::LogDegree];
        let asked = FeatureOptions { structure, ..Default::default() };
        assert_eq!(map, FeatureMap::fit(&bare, &asked).unwrap());
        assert_ne!(map, FeatureMap::fit(&bare, &FeatureOptions::default()).unwrap());
    }

    #[test]
    fn one_hot_attributes_are_not_scaled_and_become_integers() {
        let colours = |values: &[f64]| {
            let edges = EdgeList { vertex_attributes: Some((values, 3)), ..EdgeList::new(2, &[0], &[1]) };
            crate::graph::Graph::new(&edges).unwrap()
        };
        let graph = colours(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        let map = FeatureMap::fit(graph.as_batch(), &FeatureOptions::default()).unwrap();
        let x = map.apply(graph.as_batch()).unwrap();
        assert_eq!((x.dense_width(), x.one_hot_width(), x.one_hot()), (0, 3, &[2, 0][..]));
        // Rows that are not one-hot have the same columns, dense.
        let mixture = colours(&[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]);
        let x = map.apply(mixture.as_batch()).unwrap();
        assert_eq!((x.dense_row(0), x.width()), (&[0.5, 0.5, 0.0][..], 3));
    }

    #[test]
    fn inputs_are_joined_whatever_their_form() {
        let one_hot = Inputs::from_rows(2, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        let dense = Inputs::from_rows(2, vec![0.5, 0.5, 3.0, 4.0]).unwrap();
        assert_eq!((one_hot.one_hot_width(), dense.dense_width()), (2, 2));
        let both = Inputs::concat([(&one_hot, 1..2), (&dense, 0..2)]).unwrap();
        assert_eq!(both.dense(), [0.0, 1.0, 0.5, 0.5, 3.0, 4.0]);
        let same = Inputs::concat([(&one_hot, 0..2), (&one_hot, 0..1)]).unwrap();
        assert_eq!(same.one_hot(), [0, 1, 0]);
        let other = Inputs::from_rows(3, vec![1.0, 2.0, 3.0]).unwrap();
        let error = Inputs::concat([(&dense, 0..1), (&dense, 0..1), (&other, 0..1)]).unwrap_err();
        assert_eq!(error, WidthDiffers { part: 2, expected: 2, found: 3 });
        assert!(Inputs::from_rows(2, vec![1.0]).is_err() && Inputs::from_rows(1, vec![f64::NAN]).is_err());
    }

    #[test]
    fn clustering_counts_joined_pairs() {
        // A triangle 0-1-2 with a tail 2-3 and a self loop at 0.
        let edges = EdgeList::new(4, &[0, 1, 2, 2, 0], &[1, 2, 0, 3, 0]);
        let graph = crate::graph::Graph::new(&edges).unwrap();
        assert_eq!(clustering_coefficients(graph.view()), [1.0, 1.0, 1.0 / 3.0, 0.0]);
    }
}
