//! Landmarks: similarities to some training rows replace coordinates.
//!
//! With inputs standardised and divided by the square root of their number,
//! `k(x, c) = x·c + exp(-|x - c|²/2w²)` is the similarity of a row and a landmark `c`. The linear
//! part extrapolates to where there are no landmarks; the Gaussian part adds detail near them. The
//! colours that two graphs share can be a third part ([`Assignment`]), or the only one. A
//! regression that is linear in the similarities to all rows is kernel ridge regression; with some
//! rows as landmarks it is the Nyström approximation of that. To use the penalty of the kernel, the
//! regression is trained on `k(x, C) L⁻ᵀ`, where `L Lᵀ = k(C, C)`. Its solution is converted back
//! to weights of the similarities.
//!
//! Scaled rows, and their products with landmarks, are rounded to f32. The products of landmarks
//! with each other are not, because `k(C, C)` might then not be positive definite.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Assignment, Columns, ReadoutOptions, Rows, Sample, binary, rows};
use crate::colours::{ColourRows, Colours};
use crate::error::{Error, Result, same_length};
use crate::graph::mixed;
use crate::kernel::Compared;
use crate::linalg;
use crate::memory;
use crate::reservoir::Device;
use crate::rng::Stream;

/// Landmarks, and the scaling of inputs before they are compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Landmarks {
    mean: Array1<f64>,
    /// Divisor of the inputs: the standard deviation times the square root of the number of varying
    /// inputs. Infinite for constant inputs, which are therefore ignored.
    scale: Array1<f64>,
    /// The scaled landmarks, landmarks x inputs.
    #[serde(with = "binary::matrix")]
    rows: Array2<f32>,
    /// Half the squared length of each landmark.
    halves: Vec<f64>,
    compared: Compares,
    /// The index of their colours, if colours are compared.
    assignment: Option<Assignment>,
}

/// How vectors are compared.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
enum Compares {
    Nothing,
    /// By the linear and the Gaussian kernel, with this sharpness.
    Vectors(f64),
}

/// Scaled inputs are clamped to this modulus: products of larger ones would overflow in f32.
const FARTHEST: f64 = 1e18;

/// Added to the diagonal of `k(C, C)`, which would otherwise be singular if landmarks are equal.
const JITTER: f64 = 1e-7;

impl Landmarks {
    /// Uses the given rows as landmarks. `columns` defines the scaling, `options` the kernel.
    pub fn new<'a>(rows: impl Into<Rows<'a>>, columns: &Columns, options: &ReadoutOptions) -> Result<Self> {
        let Rows { vectors: rows, colours } = rows.into();
        let vectors: Vec<ArrayView1<'_, f64>> = rows.outer_iter().collect();
        Self::of_vectors(&vectors, colours, columns, options)
    }

    fn of_vectors(
        vectors: &[ArrayView1<'_, f64>],
        colours: Option<ColourRows<'_>>,
        columns: &Columns,
        options: &ReadoutOptions,
    ) -> Result<Self> {
        let (mean, mut scale) = columns.mean_and_deviations(f64::INFINITY);
        let varying = scale.iter().filter(|scale| scale.is_finite()).count();
        scale *= (varying.max(1) as f64).sqrt();
        for vector in vectors {
            same_length("columns of the landmarks", mean.len(), vector.len())?;
        }
        let (scaled, _) = scaled(vectors.len(), |row| vectors[row], &mean, &scale);
        let scaled = Array2::from_shape_vec((vectors.len(), mean.len()), scaled);
        let scaled = scaled.expect("one number for each of the vectors'");
        let assignment = if options.kernel.has_colours() {
            Some(Assignment::new(colours.ok_or_else(colourless)?, options.wl_weight)?)
        } else {
            None
        };
        Self::from_parts((mean, scale), scaled, assignment, options)
    }

    /// Restores stored landmarks: the mean and scale of the inputs, the scaled landmarks, and the
    /// index of their colours, if the options need one.
    pub fn from_parts(
        (mean, scale): (Array1<f64>, Array1<f64>),
        landmarks: Array2<f32>,
        assignment: Option<Assignment>,
        options: &ReadoutOptions,
    ) -> Result<Self> {
        same_length("scales of the landmarks", mean.len(), scale.len())?;
        same_length("columns of the landmarks", mean.len(), landmarks.ncols())?;
        let good = |(mean, scale): (&f64, &f64)| mean.is_finite() && *scale > 0.0;
        if let Some(index) = mean.iter().zip(&scale).position(|pair| !good(pair)) {
            let value = if mean[index].is_finite() { scale[index] } else { mean[index] };
            return Err(Error::BadValue {
                what: "mean or scale of the landmarks",
                item: "column",
                index,
                value,
            });
        }
        let landmarks = if landmarks.is_standard_layout() {
            landmarks
        } else {
            landmarks.as_standard_layout().into_owned()
        };
        let halves: Vec<f64> = landmarks.outer_iter().map(half_square).collect();
        if let Some(index) = halves.iter().position(|half| !half.is_finite()) {
            let value =
                landmarks.row(index).iter().copied().find(|x| !x.is_finite()).unwrap_or(f32::INFINITY);
            return Err(Error::BadValue { what: "landmark", item: "row", index, value: value.into() });
        }
        if options.kernel.has_colours() != assignment.is_some() {
            let (expected, found) = if assignment.is_some() {
                ("no colours of landmarks, because the kernel does not compare colours", "colours")
            } else {
                ("colours of landmarks, which the kernel compares", "none")
            };
            return Err(Error::BadOption { name: "kernel", expected: expected.into(), found: found.into() });
        }
        let compared = if options.kernel.has_states() {
            Compares::Vectors(options.gaussian_width.powi(-2))
        } else {
            Compares::Nothing
        };
        Ok(Self { mean, scale, rows: landmarks, halves, compared, assignment })
    }

    /// The sharpness of the Gaussian, if vectors are compared.
    pub(super) fn sharpness(&self) -> Option<f64> {
        match self.compared {
            Compares::Nothing => None,
            Compares::Vectors(sharpness) => Some(sharpness),
        }
    }

    /// The index of the landmarks' colours, if colours are compared.
    pub fn assignment(&self) -> Option<&Assignment> {
        self.assignment.as_ref()
    }

    /// The mean of the inputs, which is subtracted first.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// The divisor of the inputs.
    pub fn scale(&self) -> &Array1<f64> {
        &self.scale
    }

    /// The landmarks, scaled: landmarks x inputs.
    pub fn rows(&self) -> &Array2<f32> {
        &self.rows
    }

    /// The similarity of every row to every landmark. A row's bits do not depend on the other rows.
    pub fn apply<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Array2<f64>> {
        self.apply_on(rows.into(), &Device::processor())
    }

    /// The same on a device.
    pub(super) fn apply_on(&self, rows: Rows<'_>, device: &Device) -> Result<Array2<f64>> {
        let mut alike = Vec::new();
        self.apply_into(rows, device, &mut alike)?;
        rows::shaped(alike, (rows.len(), self.halves.len()))
    }

    /// The same, stored by row, into a buffer that is reused.
    pub(super) fn apply_into(&self, rows: Rows<'_>, device: &Device, alike: &mut Vec<f64>) -> Result<()> {
        same_length("columns of the inputs", self.mean.len(), rows.vectors.ncols())?;
        rows.check()?;
        let shape = (rows.len(), self.halves.len());
        memory::ask_array("similarities to landmarks", &[shape.0, shape.1 + self.mean.len() / 2], 8)?;
        match self.compared {
            Compares::Nothing => {
                alike.clear();
                alike.resize(shape.0 * shape.1, 0.0);
            }
            Compares::Vectors(sharpness) => {
                let row = |row| rows.vectors.index_axis_move(Axis(0), row);
                let (scaled, halves) = scaled(rows.len(), row, &self.mean, &self.scale);
                let landmarks = self.rows.as_slice().expect("made to lie row after row");
                let width = self.mean.len();
                let compared = Compared { landmarks, halves: &self.halves, width, sharpness };
                match device.products(&scaled, landmarks, width) {
                    Some(products) => compared.finish_all(&products?, &halves, alike),
                    None => compared.compare(&scaled, &halves, alike),
                }
            }
        }
        if let Some(assignment) = &self.assignment {
            let colours = rows.colours.ok_or_else(colourless)?;
            let alike = alike.par_chunks_mut(shape.1.max(1)).enumerate();
            alike
                .for_each_init(Vec::new, |room, (row, alike)| assignment.add(colours.iter(row), room, alike));
        }
        Ok(())
    }

    /// `L` with `L Lᵀ = k(C, C)`. Solving with `L` turns similarities into coordinates with the
    /// inner products of the kernel.
    pub(super) fn root(&self) -> Result<Array2<f64>> {
        let size = self.rows.nrows();
        memory::ask_array("similarities of landmarks", &[size, 3 * size + self.mean.len()], 8)?;
        let mut alike = match self.compared {
            Compares::Nothing => Array2::zeros((size, size)),
            Compares::Vectors(_) => linalg::products(self.rows.mapv(f64::from).view()),
        };
        let colours = self.assignment.as_ref().map(Assignment::colours);
        let entries = alike.as_slice_mut().expect("products lie row after row");
        entries.par_chunks_mut(size.max(1)).enumerate().for_each_init(Vec::new, |room, (i, row)| {
            if let Compares::Vectors(sharpness) = self.compared {
                Compared { landmarks: &[], halves: &self.halves[..i], width: 0, sharpness }
                    .finish(&mut row[..i], self.halves[i]);
                row[i] += 1.0;
            }
            if let (Some(assignment), Some(colours)) = (&self.assignment, &colours) {
                assignment.add(colours.view().iter(i), room, &mut row[..=i]);
            }
            row[i] += JITTER;
        });
        linalg::root(alike)
            .ok_or(Error::NoDecomposition { what: "decomposition of the landmarks' kernel", size })
    }
}

fn colourless() -> Error {
    let expected = "rows with Weisfeiler–Lehman colours, which the kernel compares (pass the whole embedding, not its vectors)";
    Error::BadOption { name: "kernel", expected: expected.into(), found: "rows without colours".into() }
}

/// Rows minus the mean, divided by the scale, stored by row, and half their squared lengths.
fn scaled<'a>(
    count: usize,
    row: impl Fn(usize) -> ArrayView1<'a, f64> + Sync,
    mean: &Array1<f64>,
    scale: &Array1<f64>,
) -> (Vec<f32>, Vec<f64>) {
    let width = mean.len();
    let mut numbers = vec![0.0; count * width];
    let mut halves = vec![0.0; count];
    let rows = numbers.par_chunks_mut(width.max(1)).zip(&mut halves).enumerate();
    rows.for_each(|(index, (scaled, half))| {
        for (((scaled, x), mean), scale) in scaled.iter_mut().zip(row(index)).zip(mean).zip(scale) {
            *scaled = ((x - mean) / scale).clamp(-FARTHEST, FARTHEST) as f32;
        }
        *half = half_square(ArrayView1::from(&*scaled));
    });
    (numbers, halves)
}

fn half_square(row: ArrayView1<'_, f32>) -> f64 {
    row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / 2.0
}

/// A random sample of rows for landmarks, drawn in one pass: the rows with the smallest random
/// keys. The random key depends only on the seed and the row's key, so neither the order of rows
/// nor their split into pieces matters, and equal rows count once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Picked {
    most: usize,
    seed: u64,
    /// The largest random key in the sample, if it is known in advance.
    limit: Option<u64>,
    by_lot: BTreeMap<u64, Candidate>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Candidate {
    #[serde(with = "binary::list")]
    vector: Vec<f64>,
    /// Colours and counts, if rows have them.
    colours: Option<(Vec<u64>, Vec<u32>)>,
}

impl Picked {
    pub fn new(most: usize, seed: u64, limit: Option<u64>) -> Self {
        Self { most, seed, limit, by_lot: BTreeMap::new() }
    }

    /// The number of rows sampled so far.
    pub fn len(&self) -> usize {
        self.by_lot.len()
    }

    /// Adds rows to the sample. Skips rows of weight 0.
    pub fn observe(&mut self, rows: Rows<'_>, sample: Sample<'_>) {
        // Choose first, because copying vectors takes longer.
        let mut chosen = BTreeMap::new();
        for (index, row) in rows.vectors.outer_iter().enumerate() {
            if sample.weights.is_some_and(|weights| weights.get(index) == Some(&0.0)) {
                continue;
            }
            let key = sample.keys.and_then(|keys| keys.get(index)).copied();
            let key = key.unwrap_or_else(|| mixed(0, row.iter().map(|value| value.to_bits())));
            let lot = lot(self.seed, key);
            if self.limit.is_some_and(|limit| lot > limit) {
                continue;
            }
            self.by_lot.remove(&lot);
            chosen.insert(lot, index);
            if self.by_lot.len() + chosen.len() > self.most {
                if self.by_lot.keys().next_back() > chosen.keys().next_back() {
                    self.by_lot.pop_last();
                } else {
                    chosen.pop_last();
                }
            }
        }
        let copied = |(lot, index): (u64, usize)| {
            let own =
                |colours: ColourRows<'_>| (colours.colours(index).to_vec(), colours.counts(index).to_vec());
            (lot, Candidate { vector: rows.vectors.row(index).to_vec(), colours: rows.colours.map(own) })
        };
        let chosen: Vec<(u64, usize)> = chosen.into_iter().collect();
        self.by_lot.par_extend(chosen.into_par_iter().map(copied));
    }

    /// Adds a sample of other rows.
    pub fn merge(&mut self, other: Self) {
        self.by_lot.extend(other.by_lot);
        while self.by_lot.len() > self.most {
            self.by_lot.pop_last();
        }
    }

    /// Uses the sampled rows as landmarks.
    pub fn landmarks(self, columns: &Columns, options: &ReadoutOptions) -> Result<Landmarks> {
        let candidates: Vec<&Candidate> = self.by_lot.values().collect();
        let mut colours = Some(Colours::default());
        for candidate in &candidates {
            colours = colours.zip(candidate.colours.as_ref()).map(|(mut all, (colours, counts))| {
                all.push(colours, counts);
                all
            });
        }
        let vectors: Vec<_> = candidates.iter().map(|one| ArrayView1::from(&one.vector)).collect();
        Landmarks::of_vectors(&vectors, colours.as_ref().map(Colours::view), columns, options)
    }
}

fn lot(seed: u64, key: u64) -> u64 {
    Stream::new(seed, "landmarks", [key, 0]).bits()
}

/// The random keys that decide which graphs become landmarks, drawn before any graph has a vector.
/// Workers that know them do not keep vectors of graphs that cannot become landmarks; see
/// [`ReadoutFit::with_lots`](super::ReadoutFit::with_lots).
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Lots {
    most: usize,
    seed: u64,
    least: BTreeSet<u64>,
}

impl Lots {
    /// Starts without graphs, for `landmarks` landmarks.
    pub fn new(landmarks: usize, seed: u64) -> Self {
        Self { most: landmarks, seed, least: BTreeSet::new() }
    }

    /// Adds graphs with these [keys](crate::graph::GraphBatch::keys).
    pub fn observe(&mut self, keys: &[u64]) {
        self.least.extend(keys.iter().map(|&key| lot(self.seed, key)));
        self.drop_most();
    }

    /// Adds the random keys of other graphs.
    pub fn merge(&mut self, other: Self) {
        self.least.extend(other.least);
        self.drop_most();
    }

    fn drop_most(&mut self) {
        while self.least.len() > self.most {
            self.least.pop_last();
        }
    }

    /// The largest random key of a landmark, if there are at least as many distinct graphs as
    /// landmarks.
    pub(super) fn limit(&self) -> Option<u64> {
        self.least.last().copied().filter(|_| self.least.len() == self.most)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;
    use crate::readout::{DualRidge, Moments};

    fn columns_of(x: &Array2<f64>) -> Columns {
        let mut columns = Columns::new(x.ncols());
        columns.observe(x.view(), None).unwrap();
        columns
    }

    fn formula(x: &Array2<f64>, c: &Array2<f64>, columns: &Columns) -> Array2<f64> {
        let scaled = |x: &Array2<f64>| (x - &columns.mean()) / columns.deviations();
        let (x, c) = (scaled(x), scaled(c));
        Array2::from_shape_fn((x.nrows(), c.nrows()), |(i, j)| {
            let apart = (0..x.ncols()).map(|k| (x[(i, k)] - c[(j, k)]).powi(2)).sum::<f64>();
            (-apart / 2.0 / x.ncols() as f64).exp() + x.row(i).dot(&c.row(j)) / x.ncols() as f64
        })
    }

    #[test]
    fn similarities_are_those_of_the_formula_and_whitened_they_are_the_kernel() {
        let mut stream = Stream::new(1, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((90, 5), || 3.0 * stream.normal() + 7.0);
        let columns = columns_of(&x);
        let some = x.slice(s![..20, ..]).to_owned();
        let landmarks = Landmarks::new(some.view(), &columns, &ReadoutOptions::default()).unwrap();
        let near = landmarks.apply(x.view()).unwrap();
        let expected = formula(&x, &some, &columns);
        assert!((&near - &expected).iter().all(|off| off.abs() < 1e-6));
        assert_eq!(
            landmarks.apply(x.slice(s![70..71, ..])).unwrap().row(0),
            near.row(70),
            "alone as in company"
        );
        let mut points = near.slice(s![..20, ..]).to_owned();
        let root = landmarks.root().unwrap();
        linalg::solve_rows(points.as_slice_mut().unwrap(), 20, root.view());
        let again = points.dot(&points.t()) - expected.slice(s![..20, ..]);
        assert!(again.iter().all(|off| off.abs() < 1e-5), "up to the jitter");
    }

    #[test]
    fn with_all_rows_it_is_kernel_ridge_regression() {
        let mut stream = Stream::new(2, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((60, 3), || stream.normal());
        let y = Array2::from_shape_fn((60, 1), |(i, _)| (2.0 * x[(i, 0)]).sin() + x[(i, 1)] * x[(i, 2)]);
        let columns = columns_of(&x);
        let landmarks = Landmarks::new(x.view(), &columns, &ReadoutOptions::default()).unwrap();
        let root = landmarks.root().unwrap();
        let mut points = landmarks.apply(x.view()).unwrap();
        linalg::solve_rows(points.as_slice_mut().unwrap(), 60, root.view());
        let mut moments = Moments::new(60, 1).unwrap();
        moments.observe(points.view(), y.view(), None).unwrap();
        let found = crate::readout::Coefficients::of_moments(&moments, 0.1, false).unwrap();
        let weights = linalg::solve_transposed(root.view(), found.weights);
        let new = Array2::from_shape_simple_fn((9, 3), || stream.normal());
        let predicted = landmarks.apply(new.view()).unwrap().dot(&weights) + &found.intercept;
        let dual = DualRidge::new(formula(&x, &x, &columns), y).unwrap().solve(0.1).unwrap();
        let expected = formula(&new, &x, &columns).dot(&dual.weights) + &dual.intercept;
        assert!((predicted - expected).iter().all(|off| off.abs() < 1e-4));
    }

    #[test]
    fn rows_from_far_away_have_similarities_that_are_numbers() {
        let mut stream = Stream::new(4, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((30, 3), || stream.normal());
        let landmarks = Landmarks::new(x.view(), &columns_of(&x), &ReadoutOptions::default()).unwrap();
        let far = ndarray::array![[1e300, -1e300, 1e300], [1e40, 0.0, 1e-300]];
        assert!(landmarks.apply(far.view()).unwrap().iter().all(|value| value.is_finite()));
    }

    #[test]
    fn columns_that_never_change_are_not_looked_at() {
        let mut stream = Stream::new(3, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((30, 3), || stream.normal());
        let padded =
            |filling: f64| Array2::from_shape_fn((30, 5), |(i, j)| if j < 3 { x[(i, j)] } else { filling });
        let landmarks =
            Landmarks::new(padded(0.1).view(), &columns_of(&padded(0.1)), &ReadoutOptions::default())
                .unwrap();
        let expected = Landmarks::new(x.view(), &columns_of(&x), &ReadoutOptions::default())
            .unwrap()
            .apply(x.view())
            .unwrap();
        let found = landmarks.apply(padded(7.0).view()).unwrap();
        assert!((found - expected).iter().all(|off| off.abs() < 1e-6));
    }

    #[test]
    fn picking_depends_neither_on_pieces_nor_on_order() {
        let x = Array2::from_shape_fn((200, 2), |(i, j)| (i * 2 + j) as f64);
        let columns = columns_of(&x);
        let rows =
            |picked: Picked| picked.landmarks(&columns, &ReadoutOptions::default()).unwrap().rows().clone();
        let picked = |x: &Array2<f64>, piece: usize, most: usize| {
            let mut picked = Picked::new(most, 5, None);
            x.axis_chunks_iter(Axis(0), piece).for_each(|x| picked.observe(x.into(), Sample::default()));
            rows(picked)
        };
        let some = picked(&x, 7, 30);
        assert_eq!(some, picked(&x, 200, 30));
        assert_eq!(some.nrows(), 30);
        let backwards = x.slice(s![..;-1, ..]).to_owned();
        assert_eq!(some, picked(&backwards, 200, 30));
        let twice = ndarray::concatenate![Axis(0), x, x];
        assert_eq!(some, picked(&twice, 11, 30), "equal rows count once");
        assert_eq!(picked(&twice, 50, 500).nrows(), 200, "all of them");
        let (mut here, mut there) = (Picked::new(30, 5, None), Picked::new(30, 5, None));
        here.observe(x.slice(s![..90, ..]).into(), Sample::default());
        there.observe(x.slice(s![90.., ..]).into(), Sample::default());
        here.merge(there);
        assert_eq!(some, rows(here), "wherever they were seen");
        // In standard deviations, divided by the root of the number of columns.
        let spread = some.column(0).mean().unwrap();
        assert!(spread.abs() < 0.37, "from everywhere: {spread}");
    }
}
