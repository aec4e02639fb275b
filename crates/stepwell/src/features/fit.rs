//! Fitting a map on graphs that come in pieces.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::exact::Spread;
use super::{FeatureMap, FeatureOptions, StructuralFeature, one_hot_columns};
use crate::error::{Error, Result};
use crate::graph::GraphBatch;

/// Fits a [`FeatureMap`] on graphs that come in pieces. How they are cut into
/// pieces, where each is looked at, and in what order, changes no bit of the map.
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
    /// The map in the making, unscaled; its columns are known once a graph has been seen.
    map: Option<FeatureMap>,
    labels: BTreeSet<i32>,
    /// Of each dense column.
    columns: Vec<Spread>,
    /// Whether all attributes so far were one-hot rows.
    one_hot: bool,
    /// Whether all graphs so far were without vertices.
    only_empty: bool,
}

impl FeatureFit {
    /// Nothing seen yet.
    pub fn new(options: &FeatureOptions) -> Self {
        Self {
            options: options.clone(),
            map: None,
            labels: BTreeSet::new(),
            columns: Vec::new(),
            one_hot: true,
            only_empty: false,
        }
    }

    /// Takes more graphs into account. They must carry what those before them carry.
    pub fn observe(&mut self, batch: &GraphBatch) -> Result<()> {
        // Graphs without vertices carry nothing, and fit beside all others.
        let empty = batch.num_vertices() == 0;
        if batch.is_empty() || (empty && self.map.is_some()) {
            return Ok(());
        }
        if self.only_empty {
            (self.map, self.one_hot) = (None, true);
        }
        self.only_empty = empty;
        let attributes = batch.vertex_attributes().map_or(0, |a| a.width);
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
                structure,
                means: vec![0.0; width],
                scales: vec![1.0; width],
                labels: Vec::new(),
            }
        });
        if attributes != map.attributes {
            return Err(Error::Length {
                what: "vertex attributes",
                expected: map.attributes,
                found: attributes,
            });
        }
        self.labels.extend(batch.vertex_labels().unwrap_or_default());
        let width = map.means.len();
        let untouched = self.options.raw && map.structure.is_empty();
        if untouched || width == 0 {
            return Ok(());
        }
        if let Some(attributes) = batch.vertex_attributes() {
            self.one_hot &= one_hot_columns(&attributes.values, attributes.width).is_some();
        }
        for row in map.dense(batch).chunks_exact(width) {
            row.iter().zip(&mut self.columns).for_each(|(&x, column)| column.add(x));
        }
        Ok(())
    }

    /// Adds what was seen of other graphs, under the same options.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let Some(theirs) = &other.map else { return Ok(()) };
        let Some(mine) = self.map.as_ref().filter(|_| !self.only_empty || other.only_empty) else {
            self.clone_from(other);
            return Ok(());
        };
        if other.only_empty {
            return Ok(());
        }
        let length = |what, expected, found| match expected == found {
            true => Ok(()),
            false => Err(Error::Length { what, expected, found }),
        };
        length("vertex attributes", mine.attributes, theirs.attributes)?;
        length("columns of features", mine.means.len(), theirs.means.len())?;
        length("columns of features", self.columns.len(), other.columns.len())?;
        self.columns.iter_mut().zip(&other.columns).for_each(|(mine, theirs)| mine.merge(theirs));
        self.labels.extend(&other.labels);
        self.one_hot &= other.one_hot;
        Ok(())
    }

    /// The map. Columns whose spread is too large for a number are not scaled.
    pub fn finish(self) -> FeatureMap {
        let mut map = self.map.unwrap_or_default();
        map.labels = self.labels.into_iter().collect();
        let as_they_are = if self.options.raw || self.one_hot { map.attributes } else { 0 };
        for column in as_they_are..map.means.len().min(self.columns.len()) {
            let (mean, deviation) = self.columns[column].mean_and_deviation();
            // What rounding alone leaves of a column that should be constant is not a spread.
            let constant = deviation <= 10.0 * f64::EPSILON * mean.abs();
            if mean.is_finite() && deviation.is_finite() {
                (map.means[column], map.scales[column]) = (mean, if constant { 1.0 } else { deviation });
                // The only input there is must not vanish, or every state does: it becomes 1.
                if constant && map.means.len() == 1 && map.labels.is_empty() && mean > 0.0 {
                    (map.means[column], map.scales[column]) = (0.0, mean);
                }
            }
        }
        map
    }
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
}
