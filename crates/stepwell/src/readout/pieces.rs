//! Trains on rows in memory, or on rows that arrive in pieces.

use ndarray::{Array2, Axis};

use super::fit::{Piecewise, ReadoutFit};
use super::rows::{Rows, Sample};
use super::trained::{Readout, piece_on};
use crate::config::ReadoutOptions;
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::reservoir::Device;
use crate::targets::Encoded;

/// Expanded rows, their targets and weights.
type Expanded = (Array2<f64>, Array2<f64>, Option<Vec<f64>>);

/// Maximum number of values in expanded rows kept in memory: half a gigabyte.
const MOST_KEPT: usize = 1 << 26;

/// A readout, and its predictions for the training rows.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The readout.
    pub readout: Readout,
    /// A row of [`predict`](Readout::predict) for every row, up to rounding.
    pub values: Array2<f64>,
}

impl Readout {
    /// Trains on rows in memory. `sample` holds the weights of the rows, which multiply the class
    /// weights of the options, and the keys that landmarks are sampled by. `seed` is the seed of
    /// random features and landmarks.
    pub fn fit<'a>(
        rows: impl Into<Rows<'a>>,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
    ) -> Result<Self> {
        Self::fit_on(rows, targets, sample, options, seed, &Device::processor())
    }

    /// The same on a device that may compare rows with landmarks.
    pub fn fit_on<'a>(
        rows: impl Into<Rows<'a>>,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let rows = rows.into();
        same_length("rows of the targets", rows.len(), targets.len())?;
        rows.check()?;
        let width = rows.vectors.ncols();
        let fitted = Self::fit_pieces_on(width, targets, sample, options, seed, device, |take| {
            rows.pieces(piece_on(device)).try_for_each(&mut *take)
        });
        fitted.map(|fitted: Fitted| fitted.readout)
    }

    /// Trains on rows that arrive in pieces and need not fit into memory. `pass` passes all of
    /// them, in the same order, to its argument. It is called up to three times, or more often if
    /// there are very many targets. How rows are split into pieces does not change a bit.
    pub fn fit_pieces<E: From<Error>>(
        num_inputs: usize,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
        pass: impl FnMut(&mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(), E>,
    ) -> Result<Fitted, E> {
        Self::fit_pieces_on(num_inputs, targets, sample, options, seed, &Device::processor(), pass)
    }

    /// The same on a device that may compare rows with landmarks.
    pub fn fit_pieces_on<E: From<Error>>(
        num_inputs: usize,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
        device: &Device,
        mut pass: impl FnMut(&mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(), E>,
    ) -> Result<Fitted, E> {
        let fit = ReadoutFit::new(num_inputs, targets.task(), &targets.census(), options, seed)?;
        let mut fit = fit.on(device.clone());
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
        // Keep rows that are expensive to expand for the next pass, unless there are too many.
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
                    add(readout.predict_on(x, device)?);
                    Ok(())
                })?,
            }
            return Ok(Fitted { readout, values });
        }
    }
}
