//! Fits a feature map on graphs that arrive in pieces.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::edges::EdgeFit;
use super::exact::Spread;
use super::{EdgeMap, FeatureMap, FeatureOptions, StructuralFeature, one_hot_columns};
use crate::error::{Error, Result, same_length};
use crate::graph::{GraphBatch, VertexAttributes};

/// At least this many attributes are stored as sparse rows, if few of them are not 0.
pub const SPARSE_WIDTH: usize = 32;

/// Few means at most one in this number.
const SPARSE_SHARE: u64 = 10;

/// Fits a [`FeatureMap`] on graphs that arrive in pieces. The map is bit-identical however the
/// graphs are split, and in whatever order and on whatever machine the pieces are observed.
///
/// ```
/// use stepwell::features::{FeatureFit, FeatureMap, FeatureOptions};
/// use stepwell::graph::{EdgeList, Graph};
/// let star = Graph::new(&EdgeList::new(3, &[0, 0], &[1, 2]))?;
/// let pair = Graph::new(&EdgeList::new(2, &[0], &[1]))?;
/// let mut here = FeatureFit::new(&FeatureOptions::default());
/// let mut there = here.clone();
/// here.observe(pair.as_batch())?;
/// there.observe(star.as_batch())?;
/// here.merge(&there)?;
///
/// let mut both = star.into_batch();
/// both.append(pair.as_batch())?;
/// assert_eq!(here.finish(), FeatureMap::fit(&both, &FeatureOptions::default())?);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FeatureFit {
    options: FeatureOptions,
    /// The unscaled map so far. Its columns are known after the first graph.
    map: Option<FeatureMap>,
    /// The distinct labels observed, for each label position.
    labels: Vec<BTreeSet<i32>>,
    /// Number of labels per vertex; known after the first vertex.
    labelled: Option<usize>,
    edges: EdgeFit,
    /// The statistics of each attribute and structural column.
    columns: Vec<Spread>,
    /// The first vertex's attributes, as long as all vertices have the same.
    constant: Option<Vec<f64>>,
    /// The fit without attributes. It replaces this one if they turn out to be constant.
    bare: Option<Box<FeatureFit>>,
    /// Whether all attribute rows so far were one-hot.
    one_hot: bool,
    /// The number of attribute values, and the number of those that were not 0.
    #[serde(default)]
    values: u64,
    #[serde(default)]
    non_zeros: u64,
    /// Whether no graph so far had vertices.
    only_empty: bool,
}

impl FeatureFit {
    /// A fit without graphs.
    pub fn new(options: &FeatureOptions) -> Self {
        Self {
            options: options.clone(),
            map: None,
            labels: Vec::new(),
            labelled: None,
            edges: EdgeFit::default(),
            columns: Vec::new(),
            constant: None,
            bare: None,
            one_hot: true,
            values: 0,
            non_zeros: 0,
            only_empty: false,
        }
    }

    /// The options of the map.
    pub fn options(&self) -> &FeatureOptions {
        &self.options
    }

    /// Whether vertices would be indistinguishable if all attributes were constant.
    fn needs_more_than_constants(&self, batch: &GraphBatch) -> bool {
        !self.options.raw && self.options.structure.is_empty() && batch.vertex_labels().is_none()
    }

    /// Checks whether all vertices still have the same attributes.
    fn watch_constants(&mut self, batch: &GraphBatch) -> Result<()> {
        let Some(attributes) = batch.vertex_attributes() else { return Ok(()) };
        let Some(constant) = &self.constant else { return Ok(()) };
        if (0..attributes.len()).any(|row| *attributes.row(row) != constant[..]) {
            (self.constant, self.bare) = (None, None);
        } else if let Some(bare) = &mut self.bare {
            bare.observe(&batch.clone().bare())?;
        }
        Ok(())
    }

    /// Adds graphs. They must have the same kinds of labels and attributes as the earlier ones.
    pub fn observe(&mut self, batch: &GraphBatch) -> Result<()> {
        // Graphs without vertices have no labels or attributes and fit any others.
        let empty = batch.num_vertices() == 0;
        if batch.is_empty() || (empty && self.map.is_some()) {
            return Ok(());
        }
        if self.only_empty {
            (self.map, self.one_hot) = (None, true);
        }
        self.only_empty = empty;
        if self.options.edges {
            self.edges.observe(batch)?;
        }
        let attributes = batch.vertex_attributes().map_or(0, VertexAttributes::width);
        if self.map.is_none() && attributes > 0 && !empty && self.needs_more_than_constants(batch) {
            self.constant = batch.vertex_attributes().map(|all| all.row(0).to_vec());
            self.bare = Some(Box::new(Self::new(&self.options)));
        }
        let map = self.map.get_or_insert_with(|| {
            let mut structure = self.options.structure.clone();
            if structure.is_empty() && attributes == 0 && batch.vertex_labels().is_none() {
                structure.clone_from(&self.options.bare_structure);
                if structure.is_empty() {
                    structure.push(StructuralFeature::Degree);
                }
            }
            let width = attributes + structure.iter().map(|s| s.width()).sum::<usize>();
            self.columns = vec![Spread::default(); width];
            FeatureMap {
                attributes,
                ignored: 0,
                names: batch.attribute_names().unwrap_or_default().to_vec(),
                structure,
                sparse: false,
                means: vec![0.0; width],
                scales: vec![1.0; width],
                labels: Vec::new(),
                edges: EdgeMap::default(),
            }
        });
        if attributes != map.attributes {
            return Err(Error::Length {
                what: "vertex attributes",
                expected: map.attributes,
                found: attributes,
            });
        }
        let order = map.order(batch)?;
        if !empty {
            let found = batch.vertex_labels().map_or(0, |labels| labels.width);
            same_labels(*self.labelled.get_or_insert(found), found)?;
            self.labels.resize(found, BTreeSet::new());
        }
        if let Some(labels) = batch.vertex_labels() {
            for (at, &label) in labels.values.iter().enumerate() {
                self.labels[at % labels.width].insert(label);
            }
        }
        if let Some(attributes) = batch.vertex_attributes() {
            self.values += (attributes.len() * attributes.width()) as u64;
            self.non_zeros += attributes.num_non_zeros() as u64;
        }
        let width = map.means.len();
        let untouched = self.options.raw && map.structure.is_empty();
        if untouched || width == 0 {
            return Ok(());
        }
        match batch.vertex_attributes() {
            None => {}
            Some(VertexAttributes::Dense(all)) => {
                self.one_hot &= one_hot_columns(&all.values, all.width).is_some();
            }
            Some(VertexAttributes::Sparse(rows)) => {
                let one = |row: usize| matches!(rows.row(row), (&[_], &[1.0]));
                self.one_hot &= rows.width() > 1 && (0..rows.len()).all(one);
            }
        }
        if let Some(all @ VertexAttributes::Sparse(rows)) = batch.vertex_attributes() {
            // Zeros are counted, not visited.
            let mut missing = vec![rows.len() as u64; attributes];
            let mut goes_to: Vec<usize> = (0..attributes).collect();
            order.iter().flatten().enumerate().for_each(|(to, &from)| goes_to[from] = to);
            for (column, value) in (0..rows.len()).flat_map(|row| all.non_zeros(row)) {
                self.columns[goes_to[column]].add(value);
                missing[goes_to[column]] -= 1;
            }
            self.columns.iter_mut().zip(missing).for_each(|(column, zeros)| column.add_zeros(zeros));
            let structural = FeatureMap { sparse: true, ..map.clone() }.dense(batch, None);
            for row in structural.chunks_exact((width - attributes).max(1)) {
                row.iter().zip(&mut self.columns[attributes..]).for_each(|(&x, column)| column.add(x));
            }
        } else {
            for row in map.dense(batch, order.as_deref()).chunks_exact(width) {
                row.iter().zip(&mut self.columns).for_each(|(&x, column)| column.add(x));
            }
        }
        self.watch_constants(batch)
    }

    /// Adds the statistics of other graphs, collected with the same options.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let Some(theirs) = &other.map else { return Ok(()) };
        let Some(mine) = self.map.as_ref().filter(|_| !self.only_empty || other.only_empty) else {
            self.clone_from(other);
            return Ok(());
        };
        if other.only_empty {
            return Ok(());
        }
        if let (Some(mine), Some(theirs)) = (self.labelled, other.labelled) {
            same_labels(mine, theirs)?;
        }
        same_length("vertex attributes", mine.attributes, theirs.attributes)?;
        same_length("columns of features", mine.means.len(), theirs.means.len())?;
        same_length("columns of features", self.columns.len(), other.columns.len())?;
        self.columns.iter_mut().zip(&other.columns).for_each(|(mine, theirs)| mine.merge(theirs));
        self.labels.iter_mut().zip(&other.labels).for_each(|(mine, theirs)| mine.extend(theirs));
        self.edges.merge(&other.edges)?;
        self.one_hot &= other.one_hot;
        self.values += other.values;
        self.non_zeros += other.non_zeros;
        if self.constant != other.constant {
            (self.constant, self.bare) = (None, None);
        }
        match (&mut self.bare, &other.bare) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            _ => Ok(()),
        }
    }

    /// Returns the map. Columns whose standard deviation overflows are not scaled. If the
    /// attributes are the same on all vertices, the map ignores them and treats the graphs as
    /// graphs without attributes.
    pub fn finish(self) -> FeatureMap {
        let edges = self.edges.finish(self.options.raw);
        if let (Some(constant), Some(bare)) = (&self.constant, self.bare) {
            let ignored = constant.len();
            return FeatureMap { ignored, edges, ..bare.finish() };
        }
        let mut map = FeatureMap { edges, ..self.map.unwrap_or_default() };
        let few = self.values > 0 && self.non_zeros * SPARSE_SHARE <= self.values;
        map.sparse = map.attributes >= SPARSE_WIDTH && few;
        map.labels = self.labels.into_iter().map(|known| known.into_iter().collect()).collect();
        let by_length = self.options.by_length && !self.options.raw && !self.one_hot;
        let as_they_are = if self.options.raw || self.one_hot || by_length { map.attributes } else { 0 };
        if by_length {
            let square = |column: &Spread| {
                let (mean, deviation) = column.mean_and_deviation();
                mean * mean + deviation * deviation
            };
            let length = self.columns.iter().take(map.attributes).map(square).sum::<f64>().sqrt();
            if length.is_finite() && length > 0.0 {
                map.scales[..map.attributes].fill(length);
            }
        }
        let mut varies = as_they_are > 0;
        for column in as_they_are..map.means.len().min(self.columns.len()) {
            // A column that was constant here must be ignored in other graphs, too.
            let scaled = self.columns[column].mean_and_scale();
            varies |= scaled.is_none_or(|(_, scale)| scale < f64::MAX);
            if let Some(scaled) = scaled {
                (map.means[column], map.scales[column]) = scaled;
            }
        }
        // If all inputs vanished, so would every state. Keep one input, with the value 1.
        if !varies && map.labels.is_empty() && !map.means.is_empty() {
            let mean = map.means[0];
            (map.means[0], map.scales[0]) = if mean > 0.0 { (0.0, mean) } else { (mean - 1.0, 1.0) };
        }
        map
    }
}

/// Rejects graphs whose number of labels differs from the earlier graphs.
fn same_labels(expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let told = |width: usize| match width {
        0 => "none".to_owned(),
        _ if expected.min(found) == 0 => "some".to_owned(),
        width => format!("{width} per vertex"),
    };
    Err(Error::Mixed { what: "vertex labels", expected: told(expected), found: told(found) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Graph};

    #[test]
    fn graphs_without_vertices_change_no_map() {
        let path =
            EdgeList { vertex_attributes: Some((&[1.0, 2.0, 3.0, 5.0], 2)), ..EdgeList::new(2, &[0], &[1]) };
        let (path, empty) = (Graph::new(&path).unwrap(), Graph::new(&EdgeList::default()).unwrap());
        let options = FeatureOptions::default();
        let expected = FeatureMap::fit(path.as_batch(), &options).unwrap();
        let seen = |graphs: &[&Graph]| {
            let mut fit = FeatureFit::new(&options);
            graphs.iter().for_each(|graph| fit.observe(graph.as_batch()).unwrap());
            fit
        };
        assert_eq!(seen(&[&empty, &path, &empty]).finish(), expected);
        for (mut one, other) in [
            (seen(&[&empty]), seen(&[&path])),
            (seen(&[&path]), seen(&[&empty])),
            (seen(&[]), seen(&[&path])),
        ] {
            one.merge(&other).unwrap();
            assert_eq!(one.finish(), expected);
        }
        assert_eq!(seen(&[&empty, &empty]).finish().width(), 1, "the degree, where there is nothing at all");
    }

    /// A graph whose vertices have the attributes `values`, stored by row.
    fn carrying(values: &[f64], width: usize) -> Graph {
        let n = values.len() / width;
        let (from, to): (Vec<u32>, Vec<u32>) = (1..n as u32).map(|v| (v - 1, v)).unzip();
        let edges = EdgeList { vertex_attributes: Some((values, width)), ..EdgeList::new(n, &from, &to) };
        Graph::new(&edges).unwrap()
    }

    #[test]
    fn constant_attributes_carry_nothing() {
        let options =
            FeatureOptions { bare_structure: vec![StructuralFeature::LogDegree], ..Default::default() };
        let (path, longer) =
            (carrying(&[1.0, 7.0, 1.0, 7.0, 1.0, 7.0], 2), carrying(&[1.0, 7.0].repeat(4), 2));
        let mut both = path.clone().into_batch();
        both.append(longer.as_batch()).unwrap();
        let bare = FeatureMap::fit(&both.clone().bare(), &options).unwrap();
        let map = FeatureMap::fit(&both, &options).unwrap();
        assert_eq!(FeatureMap { ignored: 0, ..map.clone() }, bare);
        assert_eq!(map.apply(&both).unwrap(), bare.apply(&both.clone().bare()).unwrap());
        assert!(map.apply(&both.clone().bare()).is_err(), "other graphs must have as many attributes");
        // Fit in pieces, and merge with graphs that carry other data.
        let seen = |graph: &Graph| {
            let mut fit = FeatureFit::new(&options);
            fit.observe(graph.as_batch()).unwrap();
            fit
        };
        let mut merged = seen(&path);
        merged.merge(&seen(&longer)).unwrap();
        assert_eq!(merged.finish(), map);
        let other = carrying(&[2.0, 7.0, 2.0, 7.0], 2);
        let mut merged = seen(&path);
        merged.merge(&seen(&other)).unwrap();
        let mut observed = seen(&path);
        observed.observe(other.as_batch()).unwrap();
        let found = observed.finish();
        assert_eq!((found.attributes(), found.ignored), (2, 0));
        // All graphs must have labels or none, in whatever order they are observed.
        let labelled = path.as_batch().clone().bare();
        let edges = EdgeList { vertex_labels: Some((&[1, 2], 1)), ..EdgeList::new(2, &[0], &[1]) };
        let with = Graph::new(&edges).unwrap();
        for (first, second) in [(&labelled, with.as_batch()), (with.as_batch(), &labelled)] {
            let (mut one, mut other) = (FeatureFit::new(&options), FeatureFit::new(&options));
            one.observe(first).unwrap();
            other.observe(second).unwrap();
            assert!(one.merge(&other).unwrap_err().to_string().starts_with("vertex labels: "));
            assert!(one.observe(second).unwrap_err().to_string().starts_with("vertex labels: "));
        }
        assert_eq!(merged.finish(), found);
        // Raw attributes are used even if they are constant.
        let raw = FeatureMap::fit(&both, &FeatureOptions { raw: true, ..options }).unwrap();
        assert_eq!(raw.apply(&both).unwrap().dense_row(0), [1.0, 7.0]);
    }

    #[test]
    fn something_is_left_of_structure_that_never_changes() {
        let rings = |sizes: &[u32]| {
            let mut batch = GraphBatch::default();
            for &n in sizes {
                let (from, to): (Vec<u32>, Vec<u32>) = (0..n).map(|v| (v, (v + 1) % n)).unzip();
                batch.append(Graph::new(&EdgeList::new(n as usize, &from, &to)).unwrap().as_batch()).unwrap();
            }
            batch
        };
        let structure = vec![StructuralFeature::LogDegree, StructuralFeature::Clustering];
        let options = FeatureOptions { bare_structure: structure, ..Default::default() };
        let graphs = rings(&[5, 6, 9]);
        let inputs = FeatureMap::fit(&graphs, &options).unwrap().apply(&graphs).unwrap();
        let mut rows = Vec::new();
        (0..20).for_each(|vertex| inputs.extend_with_row(vertex, &mut rows));
        assert_eq!(rows, [1.0, 0.0].repeat(20));
    }

    #[test]
    fn named_columns_are_found_by_their_names() {
        let named = |values: &[f64], names: [&str; 2]| {
            let graph = carrying(values, 2).into_batch();
            graph.with_attribute_names(names.map(str::to_owned).to_vec()).unwrap()
        };
        let here = named(&[1.0, 7.0, 2.0, 9.0, 3.0, 4.0], ["mass", "charge"]);
        let there = named(&[7.0, 1.0, 9.0, 2.0, 4.0, 3.0], ["charge", "mass"]);
        let map = FeatureMap::fit(&here, &FeatureOptions::default()).unwrap();
        assert_eq!(map.apply(&there).unwrap(), map.apply(&here).unwrap());
        let again: FeatureMap = serde_json::from_str(&serde_json::to_string(&map).unwrap()).unwrap();
        assert_eq!(again, map);
        let other = named(&[1.0, 7.0, 2.0, 9.0], ["mass", "size"]);
        let refused = map.apply(&other).unwrap_err().to_string();
        assert_eq!(
            refused,
            "vertex attributes: the model expects graphs with mass, charge, but these have mass, size"
        );
        let nameless = carrying(&[1.0, 7.0, 2.0, 9.0], 2);
        assert!(map.apply(nameless.as_batch()).is_ok(), "without names they are taken in their order");
        let mut fit = FeatureFit::new(&FeatureOptions::default());
        fit.observe(&here).unwrap();
        fit.observe(&there).unwrap();
        let mut twice = FeatureFit::new(&FeatureOptions::default());
        twice.observe(&here).unwrap();
        twice.observe(&here).unwrap();
        assert_eq!(fit.finish(), twice.finish());
        assert!(carrying(&[1.0, 2.0], 2).into_batch().with_attribute_names(vec!["a".into(); 2]).is_err());
    }
}
