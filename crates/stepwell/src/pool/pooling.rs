//! A pooling with its options: one value for configurations and flags.

use std::ops::ControlFlow;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::ndp::{self, Side, Sparsify};
use super::{Going, Pooled, Reduce, graclus, kmis, nmf, still};
use crate::error::{Error, Result};
use crate::graph::GraphRef;

/// The poolings.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// No pooling: graphs stay as they are.
    #[default]
    None,
    /// Clusters of one or two matched vertices: [`graclus`].
    Graclus,
    /// Soft clusters by factorising the adjacency: [`nmf`].
    Nmf,
    /// One side of a large cut, linked by Kron reduction: [`ndp`](super::ndp).
    Ndp,
    /// Clusters around a maximal independent set: [`kmis`].
    #[serde(rename = "kmis")]
    KMis,
}

impl Pool {
    /// All poolings that shrink graphs.
    pub const ALL: [Self; 4] = [Self::Graclus, Self::Nmf, Self::Ndp, Self::KMis];

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Graclus => "graclus",
            Self::Nmf => "nmf",
            Self::Ndp => "ndp",
            Self::KMis => "kmis",
        }
    }
}

/// A pooling with the options of all poolings. It reads only its own.
///
/// ```
/// use stepwell::pool::{Pool, Pooling};
/// let pooling = Pooling { delta: 0.05, ..Pool::Ndp.into() };
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Pooling {
    /// The pooling.
    pub method: Pool,
    /// Graclus, NMF, NDP: determines the order of visits, the initial factors, or the
    /// starting vector of the eigenvector search in large components.
    #[serde(rename = "pool_seed")]
    pub seed: u64,
    /// Graclus, k-MIS: how the states of a cluster are combined.
    pub reduce: Reduce,
    /// k-MIS: centres are more than this many steps apart. 0 keeps every vertex.
    pub k: usize,
    /// NMF: maximum number of iterations, each of which updates both factors.
    pub max_iterations: usize,
    /// NMF: stops when the violation of the optimality conditions has fallen to this
    /// share of that in the first iteration.
    pub tolerance: f64,
    /// NDP: links of the coarse graph with a smaller weight are dropped.
    pub delta: f64,
    /// NDP: when they are dropped.
    pub sparsify: Sparsify,
    /// NDP: which side of the cut is kept.
    pub side: Side,
    /// NDP: maximum number of pairs of vertices to link and hold; each takes about 60
    /// bytes.
    pub fill_budget: u64,
    /// NDP: beyond that budget, drop small new weights during the elimination (the
    /// [notes](super::Notes) count them) instead of failing.
    pub approximate: bool,
}

impl Default for Pooling {
    fn default() -> Self {
        Self {
            method: Pool::None,
            seed: 0,
            reduce: Reduce::Mean,
            k: 1,
            max_iterations: 10,
            tolerance: 1e-4,
            delta: 0.1,
            sparsify: Sparsify::EachLevel,
            side: Side::Largest,
            fill_budget: 1 << 26,
            approximate: false,
        }
    }
}

impl From<Pool> for Pooling {
    /// The pooling with default options.
    fn from(method: Pool) -> Self {
        Self { method, ..Self::default() }
    }
}

impl Serialize for Pooling {
    /// Writes its name and its own options. The names of cached pyramids depend on this order.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.method)?;
        match self.method {
            Pool::None => {}
            Pool::Graclus => map.serialize_entry("reduce", &self.reduce)?,
            Pool::Nmf => {
                map.serialize_entry("max_iterations", &self.max_iterations)?;
                map.serialize_entry("tolerance", &self.tolerance)?;
            }
            Pool::Ndp => {
                map.serialize_entry("delta", &self.delta)?;
                map.serialize_entry("sparsify", &self.sparsify)?;
                map.serialize_entry("side", &self.side)?;
                map.serialize_entry("fill_budget", &self.fill_budget)?;
                map.serialize_entry("approximate", &self.approximate)?;
            }
            Pool::KMis => {
                map.serialize_entry("k", &self.k)?;
                map.serialize_entry("reduce", &self.reduce)?;
            }
        }
        if matches!(self.method, Pool::Graclus | Pool::Nmf | Pool::Ndp) {
            map.serialize_entry("pool_seed", &self.seed)?;
        }
        map.end()
    }
}

impl Pooling {
    /// Checks all values.
    pub fn validate(&self) -> Result<()> {
        if self.delta.is_finite() && self.delta >= 0.0 {
            return Ok(());
        }
        let expected = "a finite number of at least 0".to_string();
        Err(Error::BadOption { name: "delta", expected, found: self.delta.to_string() })
    }

    /// Pools one graph. `level` is the number of earlier poolings.
    pub fn pool(&self, graph: GraphRef<'_>, level: usize) -> Result<Pooled> {
        self.pool_while(graph, level, &|| ControlFlow::Continue(()))
    }

    /// The same, with `going` called from time to time. If it breaks, the result is
    /// [`Error::Cancelled`].
    pub fn pool_while(&self, graph: GraphRef<'_>, level: usize, going: &Going<'_>) -> Result<Pooled> {
        self.validate()?;
        still(going)?;
        match self.method {
            Pool::None => Pooled::unchanged(graph),
            Pool::Graclus => graclus(graph, self.reduce, self.seed, level),
            Pool::Nmf => nmf::nmf_while(graph, self, level, going),
            Pool::Ndp => ndp::ndp_while(graph, self, level, going),
            Pool::KMis => kmis(graph, self.k, self.reduce),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of cached pyramids are hashes of this text.
    #[test]
    fn what_is_written_of_a_pooling_is_its_name_and_its_own_settings() {
        let texts = [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp, Pool::KMis].map(|pool| {
            let pooling = Pooling { seed: 7, delta: 0.01, ..pool.into() };
            serde_json::to_string(&pooling).unwrap()
        });
        let expected = [
            r#"{"method":"none"}"#,
            r#"{"method":"graclus","reduce":"mean","pool_seed":7}"#,
            r#"{"method":"nmf","max_iterations":10,"tolerance":0.0001,"pool_seed":7}"#,
            r#"{"method":"ndp","delta":0.01,"sparsify":"each-level","side":"largest","fill_budget":67108864,"approximate":false,"pool_seed":7}"#,
            r#"{"method":"kmis","k":1,"reduce":"mean"}"#,
        ];
        assert_eq!(texts, expected);
        let again: Pooling = serde_json::from_str(expected[3]).unwrap();
        assert_eq!(again, Pooling { seed: 7, delta: 0.01, ..Pool::Ndp.into() });
        assert!(serde_json::from_str::<Pooling>(r#"{"method":"leaves"}"#).is_err());
        assert!(serde_json::from_str::<Pooling>(r#"{"method":"ndp","dlta":0.1}"#).is_err());
        for pool in Pool::ALL {
            assert_eq!(serde_json::to_string(&pool).unwrap(), format!("{:?}", pool.name()));
        }
    }
}
