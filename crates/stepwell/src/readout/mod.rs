//! The readout, the only trained part of a model: ridge regression on embeddings, in f64.
//!
//! [`Readout::fit`] trains on rows in memory. Underneath, a [`ReadoutFit`] makes several passes
//! over the rows. It gathers [`Moments`] of the rows piece by piece and merges them,
//! [`LeaveOneOut`] compares all penalties `alpha` exactly in one more pass, and [`Coefficients`]
//! are the solution for the best alpha. A [`RidgePath`] solves for every alpha. [`DualRidge`]
//! learns from inner products if rows are too long to store. Classes are encoded as targets of 1
//! and -1, one column per class ([`Encoded`](crate::targets::Encoded)), as in the paper, which
//! follows scikit-learn's `RidgeClassifier`; so do the results.
//!
//! ```
//! use ndarray::{Axis, array};
//! use stepwell::readout::{Alpha, Coefficients, LeaveOneOut, Moments, Readout, ReadoutOptions, Sample};
//! use stepwell::targets::{Encoded, Targets, decode_classes};
//!
//! let x = array![[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 5.0], [4.0, 4.0], [5.0, 6.0]];
//! let classes = Encoded::new(&Targets::integers(vec![0, 0, 0, 1, 1, 1]))?;
//! let readout = Readout::fit(x.view(), &classes, Sample::default(), &ReadoutOptions::default(), 0)?;
//! assert_eq!(decode_classes(readout.predict(x.view())?.view()), [0, 0, 0, 1, 1, 1]);
//!
//! // The same steps on rows that come in pieces, here one by one.
//! let y = array![[1.0], [3.0], [2.0], [5.0], [4.0], [6.0]];
//! let pieces = || x.axis_chunks_iter(Axis(0), 1).zip(y.axis_chunks_iter(Axis(0), 1));
//! let mut moments = Moments::new(2, 1)?;
//! pieces().try_for_each(|(x, y)| moments.observe(x, y, None))?;
//! let mut errors = LeaveOneOut::of_moments(&moments, &Alpha::LOO, false)?;
//! pieces().try_for_each(|(x, y)| errors.observe(x, y, None))?;
//! let best = errors.finish().best(); // y is a column of x: the less penalty the better
//! assert_eq!(best, 1e-6);
//! assert!((Coefficients::of_moments(&moments, best, false)?.weights[(1, 0)] - 1.0).abs() < 1e-5);
//! # Ok::<(), stepwell::Error>(())
//! ```

mod assessment;
mod assignment;
mod binary;
mod calibration;
mod choice;
mod class_weight;
mod columns;
mod dual;
mod few;
mod fit;
mod landmarks;
mod leave_one_out;
mod left_out;
mod local;
mod moments;
mod pieces;
mod random_features;
mod regression;
mod ridge;
mod rows;
mod sums;
mod trained;

pub use assessment::{Assessment, Conformal, Operating, Threshold, Wanted};
pub use assignment::{Assignment, Index};
pub use calibration::Calibration;
pub use columns::Columns;
pub use dual::{DualCoefficients, DualRidge};
pub use fit::{Gathered, Piecewise, ReadoutFit};
pub use landmarks::{Landmarks, Lots};
pub use leave_one_out::{AlphaErrors, LeaveOneOut};
pub use local::Local;
pub use moments::{Moments, Scatter};
pub use pieces::Fitted;
pub use random_features::RandomFeatures;
pub use ridge::{Coefficients, RidgePath};
pub use rows::{Rows, Sample};
pub use trained::{Expansion, Readout};

pub use crate::config::{Alpha, ClassWeight, ReadoutOptions};

#[cfg(test)]
mod several;
#[cfg(test)]
mod tests;
