//! Weisfeiler–Lehman subtrees: how often each occurs in a graph, or how many two graphs
//! share.

use std::collections::HashMap;

use ndarray::Array2;
use rayon::prelude::*;
use stepwell::colours::Colours;
use stepwell::features::Inputs;
use stepwell::graph::GraphBatch;
use stepwell::memory;
use stepwell::readout::Assignment;

use crate::error::Result;

/// The colours of some graphs, and the inner product to compute from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    colours: Colours,
    product: Product,
}

/// The inner product of two graphs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Product {
    /// The product of their colour counts.
    Counts,
    /// The same, with counts normalised to unit length.
    UnitLength,
    /// The number of colours they share: the optimal assignment kernel.
    Assignment,
}

/// Counts the colours of some graphs in all rounds up to `rounds`.
pub fn count(
    graphs: &GraphBatch,
    inputs: &Inputs,
    chosen: &[usize],
    rounds: usize,
    product: Product,
) -> Counts {
    Counts { colours: Colours::of(graphs, inputs, rounds).select(chosen), product }
}

impl Counts {
    /// The inner products of these graphs with others.
    pub fn products(&self, others: &Self) -> Result<Array2<f64>> {
        let (own, others) = (self.colours.view(), others.colours.view());
        let shape = (own.len(), others.len());
        memory::ask("similarities of all graphs", 8 * (shape.0 as u64).saturating_mul(shape.1 as u64))?;
        let mut products = vec![0.0; shape.0 * shape.1];
        let rows = products.par_chunks_mut(shape.1.max(1)).enumerate();
        if self.product == Product::Assignment {
            let index = Assignment::new(others, 1.0)?;
            rows.for_each_init(Vec::new, |room, (graph, row)| index.add(own.iter(graph), room, row));
        } else {
            let length = |counts: &[u32]| match self.product {
                Product::UnitLength => {
                    counts.iter().map(|&count| f64::from(count).powi(2)).sum::<f64>().sqrt()
                }
                _ => 1.0,
            };
            let mut holders: HashMap<u64, Vec<(usize, f64)>> = HashMap::new();
            for graph in 0..others.len() {
                let length = length(others.counts(graph));
                for (colour, count) in others.iter(graph) {
                    holders.entry(colour).or_default().push((graph, f64::from(count) / length));
                }
            }
            rows.for_each(|(graph, row)| {
                let length = length(own.counts(graph));
                for (colour, count) in own.iter(graph) {
                    for &(other, its) in holders.get(&colour).into_iter().flatten() {
                        row[other] += f64::from(count) / length * its;
                    }
                }
            });
        }
        Ok(Array2::from_shape_vec(shape, products).expect("a product for each pair"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_written_out_rows() {
        let counts = |rows: &[&[(u64, u32)]], product| {
            let mut colours = Colours::default();
            for row in rows {
                let (all, counts): (Vec<u64>, Vec<u32>) = row.iter().copied().unzip();
                colours.push(&all, &counts);
            }
            Counts { colours, product }
        };
        let products = |product| {
            let a = counts(&[&[(1, 2), (7, 1)], &[]], product);
            a.products(&counts(&[&[(7, 3)], &[(1, 1), (7, 2)]], product)).unwrap()
        };
        assert_eq!(products(Product::Counts), ndarray::array![[3.0, 4.0], [0.0, 0.0]]);
        let unit = products(Product::UnitLength);
        assert!(
            (unit[(0, 0)] - 1.0 / 5f64.sqrt()).abs() < 1e-12 && (unit[(0, 1)] - 0.8).abs() < 1e-12,
            "{unit}"
        );
        let shared = products(Product::Assignment);
        assert!((shared[(0, 0)] - 1.0 / 3.0).abs() < 1e-12 && (shared[(0, 1)] - 2.0 / 3.0).abs() < 1e-12);
    }
}
