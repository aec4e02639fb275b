//! The optimal assignment kernel of Weisfeiler–Lehman colours between graphs and landmarks.
//!
//! `OA(G, G')` is the size of the intersection of the two multisets of colours, divided by the
//! geometric mean of their sizes. This normalised histogram intersection is the best value that any
//! assignment of the vertices of one graph to those of the other attains (Kriege, Giscard and
//! Wilson). An inverted index lists the landmarks of every colour, so one pass over a graph's
//! colours gives its similarities to all landmarks. The intersections are sums of integers, so
//! their order does not change a bit.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::binary;
use crate::colours::{ColourRows, Colours};
use crate::error::{Error, Result, out_of_range, same_length};

/// An inverted index: the landmarks that have each colour, and their counts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Assignment {
    /// The weight of this kernel relative to the other parts.
    weight: f64,
    /// Ascending.
    #[serde(with = "binary::list")]
    colours: Vec<u64>,
    /// Where the landmarks of each colour begin, followed by their total number.
    #[serde(with = "binary::list")]
    starts: Vec<u32>,
    /// Ascending for each colour.
    #[serde(with = "binary::list")]
    holders: Vec<u32>,
    #[serde(with = "binary::list")]
    counts: Vec<u32>,
    /// For each landmark, one over the square root of its number of colours.
    #[serde(with = "binary::list")]
    scales: Vec<f64>,
}

impl Assignment {
    /// Indexes the colours of landmarks.
    pub fn new(landmarks: ColourRows<'_>, weight: f64) -> Result<Self> {
        let mut all: Vec<(u64, u32, u32)> = (0..landmarks.len())
            .flat_map(|row| landmarks.iter(row).map(move |(colour, count)| (colour, row as u32, count)))
            .collect();
        all.sort_unstable();
        let (mut colours, mut starts) = (Vec::new(), Vec::new());
        for (at, (colour, ..)) in all.iter().enumerate() {
            if colours.last() != Some(colour) {
                colours.push(*colour);
                starts.push(at as u32);
            }
        }
        let most = u32::try_from(all.len());
        starts.push(most.map_err(|_| Error::TooLarge {
            what: "colours of the landmarks",
            limit: u32::MAX.into(),
            found: all.len() as u64,
        })?);
        let (holders, counts) = all.into_iter().map(|(_, row, count)| (row, count)).unzip();
        Self::from_parts(landmarks.len(), weight, Index { colours, starts, holders, counts })
    }

    /// Restores an index of `landmarks` landmarks.
    pub fn from_parts(landmarks: usize, weight: f64, index: Index) -> Result<Self> {
        let Index { colours, starts, holders, counts } = index;
        same_length("starts of the colours", colours.len() + 1, starts.len())?;
        same_length("landmarks of the colours", holders.len(), counts.len())?;
        same_length("start of the first colour", 0, starts.first().map_or(0, |&start| start as usize))?;
        same_length("landmarks of the colours", starts.last().copied().unwrap_or(0) as usize, holders.len())?;
        ascending("colours of the landmarks", &colours)?;
        ascending("starts of the colours", &starts)?;
        if let Some(&found) = holders.iter().find(|&&holder| holder as usize >= landmarks) {
            return Err(out_of_range("landmark of a colour", landmarks, found as usize));
        }
        let mut totals = vec![0u64; landmarks];
        for (&holder, &count) in holders.iter().zip(&counts) {
            totals[holder as usize] += u64::from(count);
        }
        let scales = totals.into_iter().map(scale).collect();
        Ok(Self { weight, colours, starts, holders, counts, scales })
    }

    /// The index: the colours, where the landmarks of each colour begin, the landmarks, and their
    /// counts.
    pub fn parts(&self) -> (&[u64], &[u32], &[u32], &[u32]) {
        (&self.colours, &self.starts, &self.holders, &self.counts)
    }

    /// Adds the similarity of a graph to every landmark to `to`. `shared` is a buffer.
    pub fn add(&self, graph: impl Iterator<Item = (u64, u32)>, shared: &mut Vec<u32>, to: &mut [f64]) {
        shared.clear();
        shared.resize(self.scales.len(), 0);
        let mut total = 0;
        for (colour, count) in graph {
            total += u64::from(count);
            let Ok(at) = self.colours.binary_search(&colour) else { continue };
            let range = self.starts[at] as usize..self.starts[at + 1] as usize;
            for (&holder, &other) in self.holders[range.clone()].iter().zip(&self.counts[range]) {
                shared[holder as usize] += count.min(other);
            }
        }
        let scale = self.weight * scale(total);
        for ((value, &shared), other) in to.iter_mut().zip(&*shared).zip(&self.scales) {
            *value += scale * other * f64::from(shared);
        }
    }

    /// The contribution of one occurrence of each of a graph's colours to the outputs, given the
    /// weights of the similarities (landmarks x outputs).
    pub(super) fn of_colours(&self, graph: ColourRows<'_>, weights: ArrayView2<'_, f64>) -> Array2<f64> {
        let total = graph.counts(0).iter().map(|&count| u64::from(count)).sum();
        let own = self.weight * scale(total);
        let mut values = Array2::zeros((graph.colours(0).len(), weights.ncols()));
        for ((colour, count), mut value) in graph.iter(0).zip(values.outer_iter_mut()) {
            let Ok(at) = self.colours.binary_search(&colour) else { continue };
            for place in self.starts[at] as usize..self.starts[at + 1] as usize {
                let (holder, shared) = (self.holders[place] as usize, count.min(self.counts[place]));
                let factor = own * self.scales[holder] * f64::from(shared) / f64::from(count);
                value.scaled_add(factor, &weights.row(holder));
            }
        }
        values
    }

    /// Reconstructs the colours of every landmark.
    pub(super) fn colours(&self) -> Colours {
        let mut rows = vec![(Vec::new(), Vec::new()); self.scales.len()];
        for (at, &colour) in self.colours.iter().enumerate() {
            for place in self.starts[at] as usize..self.starts[at + 1] as usize {
                let (colours, counts) = &mut rows[self.holders[place] as usize];
                colours.push(colour);
                counts.push(self.counts[place]);
            }
        }
        let mut all = Colours::default();
        rows.iter().for_each(|(colours, counts)| all.push(colours, counts));
        all
    }
}

/// The arrays of an [`Assignment`]; see [`Assignment::parts`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Index {
    pub colours: Vec<u64>,
    pub starts: Vec<u32>,
    pub holders: Vec<u32>,
    pub counts: Vec<u32>,
}

/// The scale of a graph with `total` colours. A graph without vertices is similar to none.
fn scale(total: u64) -> f64 {
    if total == 0 { 0.0 } else { 1.0 / (total as f64).sqrt() }
}

fn ascending<T: PartialOrd>(what: &'static str, values: &[T]) -> Result<()> {
    match values.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(position) => Err(Error::NotAscending { what, position: position + 1 }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(graphs: &[&[(u64, u32)]]) -> Colours {
        let mut all = Colours::default();
        for graph in graphs {
            let (colours, counts): (Vec<u64>, Vec<u32>) = graph.iter().copied().unzip();
            all.push(&colours, &counts);
        }
        all
    }

    #[test]
    fn similarities_are_shared_colours_over_the_mean_of_all() {
        let landmarks = rows(&[&[(1, 2), (7, 1)], &[], &[(7, 5)]]);
        let assignment = Assignment::new(landmarks.view(), 2.0).unwrap();
        assert_eq!(assignment.colours(), landmarks);
        let (mut found, mut room) = (vec![1.0, 0.0, 0.0], Vec::new());
        assignment.add([(1, 1), (3, 4), (7, 2)].into_iter(), &mut room, &mut found);
        let expected = [1.0 + 2.0 * 2.0 / 21f64.sqrt(), 0.0, 2.0 * 2.0 / 35f64.sqrt()];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
        let mut none = vec![0.0; 3];
        assignment.add(std::iter::empty(), &mut room, &mut none);
        assert_eq!(none, [0.0; 3]);
    }

    #[test]
    fn an_index_that_does_not_fit_is_refused() {
        let good = || Index {
            colours: vec![1, 7],
            starts: vec![0, 1, 3],
            holders: vec![0, 0, 1],
            counts: vec![1; 3],
        };
        assert!(Assignment::from_parts(2, 1.0, good()).is_ok());
        for bad in [
            Index { colours: vec![7, 1], ..good() },
            Index { starts: vec![0, 1, 4], ..good() },
            Index { starts: vec![0, 3], ..good() },
            Index { holders: vec![0, 0, 2], ..good() },
            Index { counts: vec![1; 2], ..good() },
        ] {
            assert!(Assignment::from_parts(2, 1.0, bad).is_err());
        }
    }
}
