//! What is to be predicted, and how good predictions of it are.

use ndarray::ArrayView2;
use stepwell::targets::{Encoded, decode_classes};
use stepwell_data::Dataset;

use crate::error::{Error, Result};

/// The targets of a dataset, which must have one number or class for every graph.
pub fn of(dataset: &Dataset) -> Result<Encoded> {
    let encoded = Encoded::new(&dataset.targets)?;
    if encoded.codes().is_none() && encoded.numbers().is_none() {
        let (expected, found) = ("one target for every graph".into(), "several".into());
        return Err(Error::BadOption { name: "dataset", expected, found });
    }
    Ok(encoded)
}

/// One class per graph to stratify by; numbers are one class.
pub fn strata(targets: &Encoded) -> Vec<usize> {
    targets.codes().map_or_else(|| vec![0; targets.len()], <[usize]>::to_vec)
}

/// The score of predictions for some graphs; see [`Unit`](crate::protocol::Unit).
pub fn score(targets: &Encoded, graphs: &[usize], decisions: ArrayView2<'_, f64>) -> f64 {
    match targets.codes() {
        Some(codes) => {
            let found = decode_classes(decisions);
            found.iter().zip(graphs).filter(|&(&found, &graph)| found == codes[graph]).count() as f64
        }
        None => {
            let values = targets.numbers().expect("checked: one number for every graph");
            let errors = decisions.column(0).into_iter().zip(graphs);
            -errors.map(|(found, &graph)| (found - values[graph]).powi(2)).sum::<f64>()
        }
    }
}
