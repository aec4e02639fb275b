//! Training on rows at hand, or on rows that come in pieces.

use ndarray::{Array2, Axis};

use super::fit::{Piecewise, ReadoutFit};
use super::rows::{Rows, Sample};
use super::trained::{PIECE, Readout};
use crate::config::ReadoutOptions;
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::targets::Encoded;

/// Rows as they go into the regression, their targets and weights.
type Expanded = (Array2<f64>, Array2<f64>, Option<Vec<f64>>);

/// Numbers in expanded rows that are kept in memory: half a gigabyte.
const MOST_KEPT: usize = 1 << 26;

/// A readout, and what it says of the rows it was trained on.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The readout.
    pub readout: Readout,
    /// A row of [`predict`](Readout::predict) for every row, up to rounding.
    pub values: Array2<f64>,
}

impl Readout {
    /// Trains on rows at hand. `sample` says how much each row counts, beside the
    /// class weights of the options, and what landmarks are drawn by; `seed` is
    /// that of random features and landmarks.
    pub fn fit<'a>(
        rows: impl Into<Rows<'a>>,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
    ) -> Result<Self> {
        let rows = rows.into();
        same_length("rows of the targets", rows.len(), targets.len())?;
        rows.check()?;
        let width = rows.vectors.ncols();
        let fitted = Self::fit_pieces(width, targets, sample, options, seed, |take| {
            rows.pieces(PIECE).try_for_each(&mut *take)
        });
        fitted.map(|fitted: Fitted| fitted.readout)
    }

    /// Trains on rows that come in pieces and need not fit into memory. `pass`
    /// hands all of them, in the same order, to what it is given; it is called up
    /// to three times, and more often if there are very many targets. How rows are cut into pieces changes no bit.
    pub fn fit_pieces<E: From<Error>>(
        num_inputs: usize,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
        mut pass: impl FnMut(&mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(), E>,
    ) -> Result<Fitted, E> {
        let mut fit = ReadoutFit::new(num_inputs, targets.task(), &targets.census(), options, seed)?;
        sample.check(targets.len())?;
        targets.check_weights(sample.weights)?;
        let mut pass = |take: &mut Piecewise<'_>| {
            let mut seen = 0;
            pass(&mut |x| {
                let rows = seen..seen + x.len();
                seen = rows.end;
                if seen > targets.len() {
                    return same_length("rows of the targets", seen, targets.len());
                }
                take(x, targets.columns(rows.clone()).view(), sample.of(rows))
            })?;
            Ok::<(), E>(same_length("rows of the inputs", targets.len(), seen)?)
        };
        // Rows that are dear to expand are kept for the next pass, as long as they are not too many.
        let mut kept: Option<Vec<Expanded>> = None;
        loop {
            let gathered = match &kept {
                Some(rows) => fit.gather_expanded(|take| {
                    rows.iter().try_for_each(|(x, y, weights)| {
                        take(x.view().into(), y.view(), Sample { weights: weights.as_deref(), keys: None })
                    })
                })?,
                None if !fit.expands() => fit.gather(&mut pass)?,
                None => {
                    let (mut keeping, mut numbers) = (Some(Vec::new()), 0);
                    let gathered = fit.gather_expanded(|take| {
                        fit.pass(&mut pass, &mut |x, y, sample| {
                            take(x, y, sample)?;
                            let x = x.vectors;
                            numbers += x.len();
                            keeping = keeping.take().filter(|_| numbers <= MOST_KEPT);
                            if let Some(rows) = &mut keeping {
                                rows.push((x.to_owned(), y.to_owned(), sample.weights.map(<[f64]>::to_vec)));
                            }
                            Ok(())
                        })
                    })?;
                    kept = keeping;
                    gathered
                }
            };
            let Some((readout, inner)) = fit.advanced(gathered)? else { continue };
            let mut values = Array2::zeros((0, targets.task().num_columns()));
            let mut add =
                |more: Array2<f64>| values.append(Axis(0), more.view()).expect("one column per target");
            match kept {
                Some(rows) => rows.iter().for_each(|(x, _, _)| {
                    add(linalg::multiply(x.view(), inner.weights.view()) + &inner.intercept);
                }),
                None => pass(&mut |x, _, _| {
                    add(readout.predict(x)?);
                    Ok(())
                })?,
            }
            return Ok(Fitted { readout, values });
        }
    }
}
