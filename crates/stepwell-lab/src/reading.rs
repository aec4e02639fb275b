//! Readouts trained on some graphs and asked about others, for every alpha.

use ndarray::{Array2, ArrayView2, Axis};
use stepwell::readout::{DualRidge, LeaveOneOut, Moments, RidgePath};

use crate::error::Result;
use crate::protocol::Protocol;

/// What is known of graphs: a row each, or, where rows would be too long to
/// write down, the inner product of each with each.
#[derive(Clone, Debug, PartialEq)]
pub enum Table {
    /// A row for every graph.
    Vectors(Array2<f64>),
    /// Row times row.
    Products(Array2<f64>),
}

impl Table {
    /// Trains on some of the graphs.
    pub fn train(&self, learnt: &[usize], y: &Array2<f64>, protocol: &Protocol) -> Result<Reader> {
        let y = y.select(Axis(0), learnt);
        match self {
            Self::Vectors(vectors) => Reader::primal(vectors.select(Axis(0), learnt), y, protocol),
            Self::Products(_) => Reader::dual(self.seen(learnt, learnt), y, protocol),
        }
    }

    /// What a reader that has learnt from some graphs is shown of others.
    pub fn seen(&self, judged: &[usize], learnt: &[usize]) -> Array2<f64> {
        match self {
            Self::Vectors(vectors) => vectors.select(Axis(0), judged),
            Self::Products(products) => {
                Array2::from_shape_fn((judged.len(), learnt.len()), |(i, j)| products[(judged[i], learnt[j])])
            }
        }
    }
}

/// A readout for each alpha of the protocol, or for the best by leave-one-out.
pub struct Reader {
    ridge: Ridge,
    /// The alphas there are readouts for.
    pub alphas: Vec<f64>,
}

enum Ridge {
    Primal(Box<RidgePath>),
    Dual(DualRidge),
}

impl Reader {
    fn primal(x: Array2<f64>, y: Array2<f64>, protocol: &Protocol) -> Result<Self> {
        let mut moments = Moments::new(x.ncols(), y.ncols())?;
        moments.observe(x.view(), y.view(), None)?;
        let path = RidgePath::new(&moments, false)?;
        let alphas = match protocol.leave_one_out {
            false => protocol.alphas.clone(),
            true => {
                let mut errors = LeaveOneOut::new(&path, &protocol.alphas)?;
                errors.observe(x.view(), y.view(), None)?;
                vec![errors.finish().best()]
            }
        };
        Ok(Self { ridge: Ridge::Primal(Box::new(path)), alphas })
    }

    fn dual(products: Array2<f64>, y: Array2<f64>, protocol: &Protocol) -> Result<Self> {
        let ridge = DualRidge::new(products, y)?;
        let alphas = match protocol.leave_one_out {
            false => protocol.alphas.clone(),
            true => vec![ridge.leave_one_out(&protocol.alphas)?.best()],
        };
        Ok(Self { ridge: Ridge::Dual(ridge), alphas })
    }

    /// The readout for one of the alphas.
    pub fn solve(&self, index: usize) -> Result<Solved> {
        let (weights, intercept) = match &self.ridge {
            Ridge::Primal(path) => {
                let found = path.solve(self.alphas[index])?;
                (found.weights, found.intercept)
            }
            Ridge::Dual(ridge) => {
                let found = ridge.solve(self.alphas[index])?;
                (found.weights, found.intercept)
            }
        };
        Ok(Solved { weights, intercept })
    }
}

/// A readout.
pub struct Solved {
    weights: Array2<f64>,
    intercept: ndarray::Array1<f64>,
}

impl Solved {
    /// What it says of graphs, shown as [`Table::seen`] shows them.
    pub fn decisions(&self, seen: ArrayView2<'_, f64>) -> Array2<f64> {
        seen.dot(&self.weights) + &self.intercept
    }
}
