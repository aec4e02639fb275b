//! Which pooling, with which settings: one value for configurations and flags.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::ndp::{Ndp, NdpOptions, Sparsify, sparsify};
use super::{GraclusOptions, KMisOptions, NmfOptions, Pooled, graclus, kmis, nmf};
use crate::error::Result;
use crate::graph::{GraphBatch, GraphRef};
use crate::pyramid::{Pyramid, coarsen};

/// One of the poolings that come with the library.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum Pooling {
    /// Clusters of one or two matched vertices.
    Graclus(GraclusOptions),
    /// Soft clusters by factorising the adjacency.
    Nmf(NmfOptions),
    /// One side of a large cut, joined by Kron reduction.
    Ndp(NdpOptions),
    /// Clusters around a maximal independent set.
    #[serde(rename = "kmis")]
    KMis(KMisOptions),
}

impl Pooling {
    /// The names [`named`](Self::named) knows.
    pub const NAMES: [&'static str; 4] = ["graclus", "nmf", "ndp", "kmis"];

    /// The pooling of that name with its usual settings.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "graclus" => Some(Self::Graclus(GraclusOptions::default())),
            "nmf" => Some(Self::Nmf(NmfOptions::default())),
            "ndp" => Some(Self::Ndp(NdpOptions::default())),
            "kmis" => Some(Self::KMis(KMisOptions::default())),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Graclus(_) => "graclus",
            Self::Nmf(_) => "nmf",
            Self::Ndp(_) => "ndp",
            Self::KMis(_) => "kmis",
        }
    }

    /// Pools one graph; `level` poolings came before.
    pub fn pool(&self, graph: GraphRef<'_>, level: usize) -> Result<Pooled> {
        match self {
            Self::Graclus(options) => graclus(graph, options, level),
            Self::Nmf(options) => nmf(graph, options, level),
            Self::Ndp(options) => Ndp::default().pool(graph, options, level),
            Self::KMis(options) => kmis(graph, options),
        }
    }

    /// Pools every graph of a batch `levels` times. The levels are those a
    /// model uses: where links are dropped only after the next level was made
    /// from them, they have been dropped.
    pub fn coarsen(
        &self,
        batch: &GraphBatch,
        levels: usize,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Pyramid> {
        let mut pyramid = coarsen(batch, levels, |graph, level| self.pool(graph, level), progress)?;
        if let Self::Ndp(NdpOptions { sparsify: Sparsify::Deferred, delta, .. }) = self {
            for level in &mut pyramid.levels {
                let mut sparse = GraphBatch::default();
                for graph in level.graphs.iter() {
                    sparse.append(sparsify(graph, *delta)?.as_batch())?;
                }
                level.graphs = sparse;
            }
        }
        Ok(pyramid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Graph};

    #[test]
    fn every_name_is_a_pooling_that_works() {
        let ring =
            Graph::new(&EdgeList::new(8, &[0, 1, 2, 3, 4, 5, 6, 7], &[1, 2, 3, 4, 5, 6, 7, 0])).unwrap();
        for name in Pooling::NAMES {
            let pooling = Pooling::named(name).unwrap();
            assert_eq!(pooling.name(), name);
            let pyramid = pooling.coarsen(ring.as_batch(), 2, |_| ControlFlow::Continue(())).unwrap();
            let sizes: Vec<usize> = pyramid.levels.iter().map(|level| level.graphs.num_vertices()).collect();
            assert!(sizes[0] < 8 && sizes[1] < sizes[0], "{name}: {sizes:?}");
        }
        assert_eq!(Pooling::named("none"), None);
    }

    #[test]
    fn deferred_links_reach_the_next_level_but_not_the_model() {
        // A weighted path whose coarse links are weak.
        let weights: Vec<f64> = (0..8).map(|edge| 0.05 + 0.01 * f64::from(edge)).collect();
        let sources: Vec<u32> = (0..8).collect();
        let targets: Vec<u32> = (1..9).collect();
        let path = EdgeList { weights: Some(&weights), ..EdgeList::new(9, &sources, &targets) };
        let path = Graph::new(&path).unwrap();
        let levels = |sparsify| {
            let options = NdpOptions { sparsify, delta: 0.1, ..NdpOptions::default() };
            let pyramid =
                Pooling::Ndp(options).coarsen(path.as_batch(), 2, |_| ControlFlow::Continue(())).unwrap();
            let sizes =
                |level: &crate::pyramid::Level| (level.graphs.num_vertices(), level.graphs.num_entries());
            pyramid.levels.iter().map(sizes).collect::<Vec<_>>()
        };
        let (each, deferred) = (levels(Sparsify::EachLevel), levels(Sparsify::Deferred));
        assert_eq!((each[0].1, deferred[0].1), (0, 0), "weak links are dropped either way");
        assert_eq!(each[1].0, each[0].0, "without links every vertex is its own component");
        assert!(deferred[1].0 < deferred[0].0, "with links the next level is smaller");
    }
}
