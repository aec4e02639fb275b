//! Compares ridge regression with the normal equations, leave-one-out with actually leaving rows
//! out, and moments with sums over all rows.

use ndarray::{Array1, Array2, Axis, array, concatenate, s};
use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::rng::Stream;
use crate::targets::{Census, Encoded, Labels, Targets, Task, decode_classes};

/// Classes named by integers, some of which may have no rows.
fn encoded(classes: &[usize], num_classes: i64) -> Encoded {
    let targets = Targets::integers(classes.iter().map(|&class| class as i64).collect());
    Encoded::with_classes(&targets, Labels::Int((0..num_classes).collect())).unwrap()
}

/// Rows whose columns differ in size and mean, and targets that depend on them.
struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    weights: Vec<f64>,
}

fn rows(count: usize, inputs: usize, targets: usize, seed: u64) -> Rows {
    let mut stream = Stream::new(seed, "rows", [0, 0]);
    let mut x = Array2::from_shape_simple_fn((count, inputs), || stream.normal());
    for (j, mut column) in x.columns_mut().into_iter().enumerate() {
        let (scale, shift) = ((j as f64).sin().exp(), (j % 3) as f64 - 1.0);
        column.mapv_inplace(|value| scale * value + shift);
    }
    let map = Array2::from_shape_simple_fn((inputs, targets), || stream.normal());
    let noise = Array2::from_shape_simple_fn((count, targets), || 0.3 * stream.normal() + 2.0);
    let weights = (0..count).map(|_| 0.2 + stream.uniform()).collect();
    Rows { y: x.dot(&map) + noise, x, weights }
}

impl Rows {
    fn moments(&self) -> Moments {
        let mut moments = Moments::new(self.x.ncols(), self.y.ncols()).unwrap();
        moments.observe(self.x.view(), self.y.view(), Some(&self.weights)).unwrap();
        moments
    }

    fn path(&self) -> RidgePath {
        RidgePath::from_rows(self.x.view(), self.y.view(), Some(&self.weights), false).unwrap()
    }

    fn leave_one_out(&self, path: &RidgePath, alphas: &[f64]) -> AlphaErrors {
        let mut errors = LeaveOneOut::new(path, alphas).unwrap();
        errors.observe(self.x.view(), self.y.view(), Some(&self.weights)).unwrap();
        errors.finish()
    }

    fn without(&self, row: usize) -> Self {
        let others: Vec<usize> = (0..self.x.nrows()).filter(|&other| other != row).collect();
        let weights = others.iter().map(|&other| self.weights[other]).collect();
        Self { x: self.x.select(Axis(0), &others), y: self.y.select(Axis(0), &others), weights }
    }
}

/// Gaussian elimination with pivots.
fn eliminate(mut a: Array2<f64>, mut b: Array2<f64>) -> Array2<f64> {
    let n = a.nrows();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
        for j in 0..n {
            a.swap((k, j), (pivot, j));
        }
        for j in 0..b.ncols() {
            b.swap((k, j), (pivot, j));
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..n {
                a[(i, j)] -= factor * a[(k, j)];
            }
            for j in 0..b.ncols() {
                b[(i, j)] -= factor * b[(k, j)];
            }
        }
    }
    Array2::from_shape_fn(b.dim(), |(i, j)| b[(i, j)] / a[(i, i)])
}

/// The normal equations of the inputs and an unpenalised column of ones.
fn by_normal_equations(rows: &Rows, alpha: f64) -> Coefficients {
    let inputs = rows.x.ncols();
    let x = concatenate![Axis(1), rows.x, Array2::ones((rows.x.nrows(), 1))];
    let weighted = &x * &Array1::from(rows.weights.clone()).insert_axis(Axis(1));
    let mut left = weighted.t().dot(&x);
    (0..inputs).for_each(|j| left[(j, j)] += alpha);
    let solution = eliminate(left, weighted.t().dot(&rows.y));
    Coefficients {
        weights: solution.slice(s![..inputs, ..]).to_owned(),
        intercept: solution.row(inputs).to_owned(),
    }
}

/// The largest difference divided by the largest entry.
fn relative<'a>(
    found: impl IntoIterator<Item = &'a f64>,
    expected: impl IntoIterator<Item = &'a f64>,
) -> f64 {
    let (mut worst, mut size) = (0.0_f64, 1e-300_f64);
    for (found, expected) in found.into_iter().zip(expected) {
        worst = worst.max((found - expected).abs());
        size = size.max(expected.abs());
    }
    worst / size
}

fn assert_close(found: &Coefficients, expected: &Coefficients, tolerance: f64) {
    let (weights, intercept) =
        (relative(&found.weights, &expected.weights), relative(&found.intercept, &expected.intercept));
    assert!(weights < tolerance && intercept < tolerance, "weights {weights:e}, intercept {intercept:e}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn moments_of_parts_merge_into_those_of_the_whole(
        count in 1usize..1500, inputs in 1usize..8, targets in 0usize..3, seed: u64, far: bool,
    ) {
        let mut whole = rows(count, inputs, targets, seed);
        if far {
            whole.x += 1e3;
        }
        let mut stream = Stream::new(seed, "parts", [0, 0]);
        let mut parts = vec![Moments::new(inputs, targets).unwrap(); 4];
        for row in 0..count {
            let (x, y) = (whole.x.slice(s![row..=row, ..]), whole.y.slice(s![row..=row, ..]));
            parts[stream.below(4)].observe(x, y, Some(&whole.weights[row..=row])).unwrap();
        }
        let mut merged = parts.pop().unwrap();
        parts.iter().for_each(|part| merged.merge(part).unwrap());
        let (found, expected) = (merged.scatter(), whole.moments().scatter());
        prop_assert_eq!(found.rows, expected.rows);
        prop_assert!((found.weight - expected.weight).abs() < 1e-12 * expected.weight);
        for (name, difference) in [
            ("x mean", relative(&found.x_mean, &expected.x_mean)),
            ("y mean", relative(&found.y_mean, &expected.y_mean)),
            ("xx", relative(&found.xx, &expected.xx)),
            ("xy", relative(&found.xy, &expected.xy)),
            ("yy", relative(&found.yy, &expected.yy)),
        ] {
            prop_assert!(count < 2 || difference < 1e-12, "{}: {:e}", name, difference);
        }
    }

    #[test]
    fn scatters_are_sums_over_rows(count in 1usize..40, inputs in 1usize..6, targets in 1usize..4, seed: u64) {
        let rows = rows(count, inputs, targets, seed);
        let found = rows.moments().scatter();
        let weights = Array1::from(rows.weights.clone());
        let (x_mean, y_mean) = (weights.dot(&rows.x) / weights.sum(), weights.dot(&rows.y) / weights.sum());
        let (x, y) = (&rows.x - &x_mean, &rows.y - &y_mean);
        let weighted = &x * &weights.insert_axis(Axis(1));
        let size = 1e-12 * (1.0 + rows.x.iter().chain(&rows.y).map(|v| v * v).sum::<f64>());
        let close = |a: &Array2<f64>, b: &Array2<f64>| (a - b).iter().all(|d| d.abs() < size);
        prop_assert!(close(&found.xx, &weighted.t().dot(&x)));
        prop_assert!(close(&found.xy, &weighted.t().dot(&y)));
        prop_assert!(found.xx == found.xx.t());
        prop_assert!(relative(&found.x_mean, &x_mean) < 1e-13 && relative(&found.y_mean, &y_mean) < 1e-13);
    }

    #[test]
    fn coefficients_solve_the_normal_equations(
        count in 2usize..40, inputs in 1usize..12, targets in 1usize..4, seed: u64, power in -2i32..3,
    ) {
        let rows = rows(count, inputs, targets, seed);
        let alpha = 10f64.powi(power);
        let expected = by_normal_equations(&rows, alpha);
        assert_close(&rows.path().solve(alpha).unwrap(), &expected, 1e-9);
        let moments = rows.moments();
        let path = RidgePath::new(&moments, false).unwrap();
        assert_close(&path.solve(alpha).unwrap(), &expected, 1e-9);
        assert_close(&Coefficients::of_moments(&moments, alpha, false).unwrap(), &expected, 1e-9);
        for standardize in [false, true] {
            let path = RidgePath::new(&moments, standardize).unwrap();
            let alone = Coefficients::of_moments(&moments, alpha, standardize).unwrap();
            assert_close(&alone, &path.solve(alpha).unwrap(), 1e-9);
        }
        let alone = Coefficients::of_moments(&moments, 0.0, false).unwrap();
        prop_assert_eq!(alone, path.solve(0.0).unwrap());
    }

    #[test]
    fn standardising_is_penalising_scaled_columns(
        count in 3usize..30, inputs in 1usize..20, seed: u64, power in -2i32..3,
    ) {
        let rows = rows(count, inputs, 2, seed);
        let alpha = 10f64.powi(power);
        let scales = rows.moments().scatter().deviations();
        let scaled = Rows { x: &rows.x / &scales, y: rows.y.clone(), weights: rows.weights.clone() };
        let mut expected = by_normal_equations(&scaled, alpha);
        expected.weights /= &scales.insert_axis(Axis(1));
        let path = RidgePath::from_rows(rows.x.view(), rows.y.view(), Some(&rows.weights), true).unwrap();
        assert_close(&path.solve(alpha).unwrap(), &expected, 1e-9);
        let path = RidgePath::new(&rows.moments(), true).unwrap();
        assert_close(&path.solve(alpha).unwrap(), &expected, 1e-9);
        let (found, expected) =
            (rows.leave_one_out(&path, &[alpha]), scaled.leave_one_out(&scaled.path(), &[alpha]));
        prop_assert!(relative(&found.means(), &expected.means()) < 1e-8);
    }

    #[test]
    fn leave_one_out_is_leaving_one_out(
        count in 2usize..25, inputs in 1usize..30, targets in 1usize..3, seed: u64, zero: bool,
    ) {
        let mut rows = rows(count, inputs, targets, seed);
        if zero {
            rows.weights[count / 2] = 0.0;
        }
        prop_assume!(rows.weights.iter().filter(|weight| **weight > 0.0).count() > 1);
        let alphas = [1e-2, 1.0, 1e2];
        let mut expected = [0.0; 3];
        for row in (0..count).filter(|&row| rows.weights[row] > 0.0) {
            for (sum, &alpha) in expected.iter_mut().zip(&alphas) {
                let others = by_normal_equations(&rows.without(row), alpha);
                let predicted = rows.x.row(row).dot(&others.weights) + &others.intercept;
                *sum += rows.weights[row] * (&rows.y.row(row) - &predicted).mapv(|e| e * e).sum();
            }
        }
        expected.iter_mut().for_each(|sum| *sum /= (count * targets) as f64);
        for path in [rows.path(), RidgePath::new(&rows.moments(), false).unwrap()] {
            let found = rows.leave_one_out(&path, &alphas).means();
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found / expected - 1.0).abs() < 1e-8, "{found} for {expected}");
            }
        }
    }

    #[test]
    fn pieces_do_not_change_a_bit(count in 1usize..1200, seed: u64, size in 1usize..700) {
        let rows = rows(count, 5, 2, seed);
        let alphas = [0.1, 10.0];
        let whole = rows.moments();
        let path = RidgePath::new(&whole, false).unwrap();
        let mut moments = Moments::new(5, 2).unwrap();
        let mut errors = LeaveOneOut::new(&path, &alphas).unwrap();
        for begin in (0..count).step_by(size) {
            let end = count.min(begin + size);
            let (x, y) = (rows.x.slice(s![begin..end, ..]), rows.y.slice(s![begin..end, ..]));
            moments.observe(x, y, Some(&rows.weights[begin..end])).unwrap();
            errors.observe(x, y, Some(&rows.weights[begin..end])).unwrap();
        }
        prop_assert_eq!(moments.scatter(), whole.scatter());
        prop_assert_eq!(errors.finish(), rows.leave_one_out(&path, &alphas));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let rows = rows(700, 150, 3, 5);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let targets = Encoded::new(&Targets::Numbers(rows.y.clone())).unwrap();
            let fitted = [(200, 0), (0, 600)].map(|(random_features, landmarks)| {
                let options =
                    ReadoutOptions { alpha: Alpha::Loo, random_features, landmarks, ..Default::default() };
                let sample = Sample { weights: Some(&rows.weights), keys: None };
                let readout = Readout::fit(rows.x.view(), &targets, sample, &options, 3).unwrap();
                let predictions = readout.predict(rows.x.view()).unwrap();
                (readout, predictions)
            });
            let path = RidgePath::new(&rows.moments(), false).unwrap();
            (path.clone(), rows.leave_one_out(&path, &Alpha::LOO), rows.moments(), fitted)
        })
    };
    let expected = run(1);
    assert_eq!(run(2), expected);
    assert_eq!(run(5), expected);
}

#[test]
fn a_row_is_predicted_alike_in_any_company() {
    let rows = rows(150, 37, 3, 8);
    for random_features in [0, 90] {
        let options = ReadoutOptions { random_features, ..Default::default() };
        let targets = Encoded::new(&Targets::Numbers(rows.y.clone())).unwrap();
        let readout = Readout::fit(rows.x.view(), &targets, Sample::default(), &options, 1).unwrap();
        let together = readout.predict(rows.x.view()).unwrap();
        for (begin, end) in [(0, 1), (3, 80), (64, 150), (149, 150)] {
            let apart = readout.predict(rows.x.slice(s![begin..end, ..])).unwrap();
            assert_eq!(apart, together.slice(s![begin..end, ..]), "rows {begin} to {end}");
        }
    }
}

#[test]
fn collinear_and_constant_columns_share_or_get_nothing() {
    let Rows { x, y, weights } = rows(60, 4, 2, 1);
    // The first column three times, the last of them doubled, and two constant columns.
    let first = x.slice(s![.., ..1]);
    let constant = Array2::from_elem((60, 2), 1e6 / 3.0);
    let many = Rows {
        x: concatenate![Axis(1), x, first, &first * 2.0, constant],
        y: y.clone(),
        weights: weights.clone(),
    };
    let few = Rows { x, y, weights };
    let alone = few.path().solve(0.0).unwrap();
    for (alpha, tolerance) in [(0.0, 1e-9), (1e-5, 1e-5)] {
        let shared = many.path().solve(alpha).unwrap();
        // With a + b + 2c fixed, the shortest weights a, b, c are in the ratio 1 : 1 : 2.
        let mut expected = Array2::zeros((8, 2));
        expected.slice_mut(s![..4, ..]).assign(&alone.weights);
        for (row, share) in [(0, 1.0 / 6.0), (4, 1.0 / 6.0), (5, 2.0 / 6.0)] {
            expected.row_mut(row).assign(&(&alone.weights.row(0) * share));
        }
        assert!(relative(&shared.weights, &expected) < tolerance, "alpha {alpha}: {}", shared.weights);
        assert!(relative(&shared.intercept, &alone.intercept) < 1e-5);
    }
    let standardized = RidgePath::new(&many.moments(), true).unwrap().solve(1.0).unwrap();
    assert!(standardized.weights.slice(s![6.., ..]).iter().all(|w| w.abs() < 1e-6));
}

#[test]
fn without_penalty_few_rows_are_met_by_the_shortest_coefficients() {
    let rows = rows(6, 20, 2, 2);
    for path in [rows.path(), RidgePath::new(&rows.moments(), false).unwrap()] {
        let found = path.solve(0.0).unwrap();
        let predicted = rows.x.dot(&found.weights) + &found.intercept;
        assert!(relative(&predicted, &rows.y) < 1e-9, "rows are met");
        // The shortest solutions are combinations of the centred rows, X̃ᵀ (X̃X̃ᵀ)⁺ ỹ. Without its
        // last row, X̃X̃ᵀ has a proper inverse.
        let centred = &rows.x - &rows.x.mean_axis(Axis(0)).unwrap();
        let basis = centred.slice(s![..5, ..]);
        let target = &rows.y.slice(s![..5, ..]) - &rows.y.mean_axis(Axis(0)).unwrap();
        let expected = basis.t().dot(&eliminate(basis.dot(&basis.t()), target));
        assert!(relative(&found.weights, &expected) < 1e-8);
    }
}

#[test]
fn one_row_is_met_by_the_intercept_and_says_nothing_about_alpha() {
    let (x, y) = (array![[1.0, 2.0, 3.0]], array![[4.0, 5.0]]);
    for alpha in [0.0, 1.0] {
        let mut moments = Moments::new(3, 2).unwrap();
        moments.observe(x.view(), y.view(), Some(&[0.5])).unwrap();
        for path in [
            RidgePath::new(&moments, true).unwrap(),
            RidgePath::from_rows(x.view(), y.view(), None, false).unwrap(),
        ] {
            let found = path.solve(alpha).unwrap();
            assert!(found.weights.iter().all(|w| *w == 0.0));
            assert_eq!(found.intercept, array![4.0, 5.0]);
        }
    }
    let path = RidgePath::from_rows(x.view(), y.view(), None, false).unwrap();
    let mut errors = LeaveOneOut::new(&path, &[0.1, 10.0, 1.0]).unwrap();
    errors.observe(x.view(), y.view(), None).unwrap();
    let errors = errors.finish();
    assert_eq!(errors.means(), [f64::INFINITY; 3]);
    assert_eq!(errors.best(), 10.0);
}

#[test]
fn errors_lost_in_rounding_are_not_mistaken_for_small_ones() {
    // More columns than rows and almost no penalty: every row is fitted exactly.
    let rows = rows(20, 60, 1, 4);
    let path = RidgePath::new(&rows.moments(), false).unwrap();
    let errors = rows.leave_one_out(&path, &[1e-16, 1e-2]);
    assert_eq!(errors.means()[0], f64::INFINITY);
    assert_eq!(errors.best(), 1e-2);
    // From the rows themselves no digits are lost: errors converge as the penalty goes to 0.
    let errors = rows.leave_one_out(&rows.path(), &[1e-9, 1e-16, 1e-200]).means();
    assert!(relative(&errors, &[errors[0]; 3]) < 1e-8, "{errors:?}");
    // Repeated rows: each is known from its twin, or the twins disagree.
    let twice = |y: &Array2<f64>| {
        let (x, weights) = (concatenate![Axis(0), rows.x, rows.x], vec![1.0; 40]);
        let rows = Rows { x, y: y.clone(), weights };
        rows.leave_one_out(&rows.path(), &[1e-6]).means()[0]
    };
    assert!(twice(&concatenate![Axis(0), rows.y, rows.y]) < 1e-8);
    // Each row is predicted by its twin: all are off by 2.
    let apart = twice(&concatenate![Axis(0), &rows.y - 1.0, &rows.y + 1.0]);
    assert!((apart - 4.0).abs() < 1e-6, "{apart}");
    // A row that is alone in a huge column is fitted almost exactly, which is not a rounding error.
    let mut x = Array2::from_shape_fn((8, 2), |(i, j)| ((3 * i + j) as f64).sin());
    x.column_mut(1).assign(&array![0.0, 0.0, 1e5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let lonely = Rows { y: x.slice(s![.., ..1]).to_owned(), x, weights: vec![1.0; 8] };
    assert!(lonely.leave_one_out(&lonely.path(), &[1e-2]).means()[0].is_finite());
}

#[test]
fn weights_count_rows() {
    let rows = rows(30, 4, 2, 9);
    let mut weights = vec![1.0; 30];
    (weights[3], weights[7], weights[8]) = (0.0, 2.0, 3.0);
    let repeated: Vec<usize> =
        (0..30).flat_map(|row| std::iter::repeat_n(row, weights[row] as usize)).collect();
    let weighted = RidgePath::from_rows(rows.x.view(), rows.y.view(), Some(&weights), false).unwrap();
    let (x, y) = (rows.x.select(Axis(0), &repeated), rows.y.select(Axis(0), &repeated));
    let repeated = RidgePath::from_rows(x.view(), y.view(), None, false).unwrap();
    assert_close(&weighted.solve(0.5).unwrap(), &repeated.solve(0.5).unwrap(), 1e-11);
}

#[test]
fn a_class_with_one_member_and_one_without_any_can_be_trained() {
    let mut rows = rows(20, 3, 1, 6);
    let mut classes: Vec<usize> = (0..20).map(|row| row % 2).collect();
    classes[5] = 2;
    rows.x.row_mut(5).fill(50.0);
    for class_weight in [ClassWeight::None, ClassWeight::Balanced] {
        let options = ReadoutOptions { class_weight, alpha: Alpha::Loo, ..Default::default() };
        let targets = encoded(&classes, 4);
        let readout = Readout::fit(rows.x.view(), &targets, Sample::default(), &options, 0).unwrap();
        assert_eq!(readout.predict(rows.x.view()).unwrap().dim(), (20, 4));
        assert_eq!(decode_classes(readout.predict(rows.x.view()).unwrap().view())[5], 2);
    }
}

#[test]
fn random_features_learn_what_is_not_linear() {
    let mut stream = Stream::new(3, "rings", [0, 0]);
    let x = Array2::from_shape_simple_fn((400, 2), || 1e3 + 100.0 * stream.normal());
    let inside = |row: ndarray::ArrayView1<'_, f64>| {
        row.iter().map(|value| ((value - 1e3) / 100.0).powi(2)).sum::<f64>() < 1.4
    };
    let classes: Vec<usize> = x.rows().into_iter().map(|row| usize::from(inside(row))).collect();
    let accuracy = |random_features: usize| {
        let options = ReadoutOptions { random_features, alpha: Alpha::Loo, ..Default::default() };
        let targets = encoded(&classes, 2);
        let readout = Readout::fit(x.view(), &targets, Sample::default(), &options, 0).unwrap();
        let found = decode_classes(readout.predict(x.view()).unwrap().view());
        found.iter().zip(&classes).filter(|(a, b)| a == b).count() as f64 / 400.0
    };
    assert!(accuracy(0) < 0.7, "a line does not cut out a disc");
    assert!(accuracy(100) > 0.95);
}

#[test]
fn moments_travel_and_arrive_checked() {
    let rows = rows(600, 3, 2, 7);
    let moments = rows.moments();
    let text = serde_json::to_string(&moments).unwrap();
    let arrived: Moments = serde_json::from_str(&text).unwrap();
    assert_eq!(arrived.scatter(), moments.scatter());
    assert_eq!((arrived.num_inputs(), arrived.num_targets(), arrived.num_rows()), (3, 2, 600));
    for (found, replaced) in
        [("\"inputs\":3", "\"inputs\":4"), ("\"inputs\":3", "\"inputs\":18446744073709551615")]
    {
        let refused = serde_json::from_str::<Moments>(&text.replace(found, replaced));
        assert!(refused.unwrap_err().to_string().contains("means of the moments"));
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let mut moments = Moments::new(2, 1).unwrap();
    let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0], [2.0]]);
    let refused = |moments: &mut Moments, x: &Array2<f64>, y: &Array2<f64>, weights: Option<&[f64]>| {
        moments.observe(x.view(), y.view(), weights).unwrap_err().to_string()
    };
    let wide = array![[1.0, 2.0, 3.0]];
    assert_eq!(refused(&mut moments, &wide, &y, None), "columns of the inputs: expected 2, found 3");
    assert_eq!(refused(&mut moments, &x, &array![[1.0]], None), "rows of the targets: expected 2, found 1");
    let bad = array![[1.0, 2.0], [3.0, f64::NAN]];
    assert_eq!(refused(&mut moments, &bad, &y, None), "input of row 1 is NaN; expected a finite number");
    assert_eq!(refused(&mut moments, &x, &y, Some(&[1.0])), "weights: expected 2, found 1");
    let found = refused(&mut moments, &x, &y, Some(&[1.0, -2.0]));
    assert_eq!(found, "row 1 has weight -2; expected a finite number of at least 0");
    assert!(RidgePath::new(&moments, false).is_err(), "nothing was taken");
    moments.observe(x.view(), y.view(), Some(&[0.0, 0.0])).unwrap();
    let found = RidgePath::new(&moments, false).unwrap_err();
    assert_eq!(found.to_string(), "rows with a positive weight: expected at least one, found none");
    assert!(moments.merge(&Moments::new(3, 1).unwrap()).is_err());
    assert!(Moments::new(usize::MAX, 1).is_err());
    moments.observe(array![[1e300, 0.0], [-1e300, 1.0]].view(), y.view(), None).unwrap();
    assert!(matches!(RidgePath::new(&moments, false), Err(Error::NoDecomposition { .. })));

    let path = RidgePath::from_rows(x.view(), y.view(), None, false).unwrap();
    for alpha in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(path.solve(alpha).unwrap_err().to_string().starts_with("alpha: expected"));
    }
    assert!(LeaveOneOut::new(&path, &[]).is_err() && LeaveOneOut::new(&path, &[0.0]).is_err());
    let mut errors = LeaveOneOut::new(&path, &[1.0]).unwrap().finish();
    assert!(errors.merge(&LeaveOneOut::new(&path, &[2.0]).unwrap().finish()).is_err());
}

#[test]
fn readouts_are_put_together_only_from_parts_that_fit() {
    let coefficients = Coefficients { weights: Array2::zeros((4, 3)), intercept: Array1::zeros(3) };
    let task = Task::Classification { num_classes: 3 };
    let whole = Readout::from_parts(task, vec![1.0], None, coefficients.clone()).unwrap();
    assert_eq!((whole.num_inputs(), whole.task(), whole.alphas()), (4, task, &[1.0][..]));
    assert_eq!(decode_classes(whole.predict(Array2::zeros((2, 4)).view()).unwrap().view()), [0, 0]);
    assert!(whole.predict(Array2::zeros((2, 5)).view()).is_err());
    let refused = |task, features, coefficients: &Coefficients| {
        Readout::from_parts(task, vec![1.0], features, coefficients.clone()).is_err()
    };
    assert!(refused(Task::Classification { num_classes: 2 }, None, &coefficients));
    assert!(refused(Task::Classification { num_classes: 1 }, None, &coefficients));
    let features = RandomFeatures::from_parts(Array2::zeros((7, 5)), Array1::zeros(5)).unwrap();
    assert!(refused(task, Some(Expansion::Random(features)), &coefficients));
    let features = RandomFeatures::from_parts(Array2::zeros((7, 4)), Array1::zeros(4)).unwrap();
    let whole = Readout::from_parts(task, vec![1.0], Some(Expansion::Random(features)), coefficients.clone())
        .unwrap();
    assert_eq!(whole.num_inputs(), 7);
    assert!(RandomFeatures::from_parts(Array2::zeros((7, 4)), Array1::zeros(3)).is_err());
    let mut nan = coefficients;
    nan.intercept[1] = f64::NAN;
    assert!(refused(task, None, &nan));
    let regression = Task::Regression { targets: 1 };
    let one = Coefficients { weights: Array2::zeros((2, 1)), intercept: Array1::zeros(1) };
    assert!(Readout::from_parts(regression, vec![0.0], None, one).is_ok());
}

#[test]
fn options_are_written_as_users_write_them() {
    let read = |text: &str| -> Option<ReadoutOptions> {
        let options: ReadoutOptions = serde_json::from_str(text).ok()?;
        options.validate().ok().map(|()| options)
    };
    let options = read(r#"{"alpha": "loo", "class_weight": "balanced"}"#).unwrap();
    assert_eq!((&options.alpha, &options.class_weight), (&Alpha::Loo, &ClassWeight::Balanced));
    assert_eq!(read(&serde_json::to_string(&options).unwrap()).unwrap(), options);
    let options = read(r#"{"alpha": [1, 0.5], "class_weight": [1, 2]}"#).unwrap();
    assert_eq!(options.alpha, Alpha::BestOf(vec![1.0, 0.5]));
    assert_eq!(options.class_weight, ClassWeight::Given(vec![1.0, 2.0]));
    assert_eq!(read(&serde_json::to_string(&options).unwrap()).unwrap(), options);
    assert_eq!(read(r#"{"alpha": 2}"#).unwrap().alpha, Alpha::Fixed(2.0));
    for bad in [r#"{"alpha": -1}"#, r#"{"alpha": []}"#, r#"{"alpha": "best"}"#, r#"{"alfa": 1}"#] {
        assert!(read(bad).is_none(), "{bad}");
    }
}

#[test]
fn rows_in_pieces_train_the_same_readout_bit_for_bit() {
    let mut stream = Stream::new(9, "pieces", [0, 0]);
    for (n, d) in [(700, 12), (9, 30)] {
        let x = Array2::from_shape_simple_fn((n, d), || stream.normal());
        let classes: Vec<usize> = (0..n).map(|row| row % 3).collect();
        let targets = encoded(&classes, 3);
        for (random_features, landmarks, size) in
            [(0, 0, 7), (40, 0, 1), (0, 20, 63), (0, 400, 1), (0, 400, 65)]
        {
            for alpha in [Alpha::Loo, Alpha::Fixed(0.3)] {
                let class_weight = ClassWeight::None;
                let options = ReadoutOptions {
                    alpha,
                    class_weight,
                    random_features,
                    landmarks,
                    standardize: true,
                    ..Default::default()
                };
                let whole = Readout::fit(x.view(), &targets, Sample::default(), &options, 4).unwrap();
                let found = Readout::fit_pieces(d, &targets, Sample::default(), &options, 4, |take| {
                    x.axis_chunks_iter(Axis(0), size).try_for_each(|x| take(x.into()))
                });
                assert_eq!(found.unwrap().readout, whole, "{n} {d} {random_features} {landmarks}");
                // The same with workers that each hold some of the rows and exchange their results
                // as JSON.
                let mut fit = ReadoutFit::new(d, targets.task(), &targets.census(), &options, 4).unwrap();
                let merged = loop {
                    let sent = serde_json::to_string(&fit).unwrap();
                    let worker = |rows: std::ops::Range<usize>| {
                        let fit: ReadoutFit = serde_json::from_str(&sent).unwrap();
                        let y = targets.columns(rows.clone());
                        let found = fit
                            .gather(|take| take(x.slice(s![rows, ..]).into(), y.view(), Sample::default()))
                            .unwrap();
                        serde_json::from_str::<Gathered>(&serde_json::to_string(&found).unwrap()).unwrap()
                    };
                    let mut all = worker(0..n / 3);
                    all.merge(worker(n / 3..n)).unwrap();
                    if let Some(readout) = fit.advance(all).unwrap() {
                        break readout;
                    }
                };
                assert_eq!(merged.alphas(), whole.alphas());
                let apart = merged.predict(x.view()).unwrap() - whole.predict(x.view()).unwrap();
                assert!(apart.iter().all(|off| off.abs() < 1e-7), "{n} {d} {random_features} {landmarks}");
            }
        }
    }
}

#[test]
fn lots_drawn_beforehand_give_the_same_landmarks() {
    let mut stream = Stream::new(10, "lots", [0, 0]);
    let x = Array2::from_shape_simple_fn((200, 5), || stream.normal());
    let targets = encoded(&(0..200).map(|row| row % 2).collect::<Vec<_>>(), 2);
    let keys: Vec<u64> = (0..200).map(|row| row * row + 3).collect();
    let options = ReadoutOptions { landmarks: 30, ..ReadoutOptions::default() };
    let trained = |lots: Option<&Lots>| {
        let mut fit = ReadoutFit::new(5, targets.task(), &targets.census(), &options, 4).unwrap();
        if let Some(lots) = lots {
            fit = fit.with_lots(lots);
        }
        for pass in 1.. {
            let sample = Sample::with_keys(&keys);
            let gathered = fit.gather(|take| take(x.view().into(), targets.matrix().view(), sample)).unwrap();
            if let Some(readout) = fit.advance(gathered).unwrap() {
                return (readout, pass);
            }
        }
        unreachable!("passes end")
    };
    let (expected, passes) = trained(None);
    assert_eq!(passes, 3);
    let (mut lots, mut others) = (Lots::new(30, 4), Lots::new(30, 4));
    lots.observe(&keys[150..]);
    others.observe(&keys[..150]);
    lots.merge(others);
    assert_eq!(trained(Some(&lots)), (expected.clone(), 3));
    // Graphs that turn out to have no vector cost one more pass.
    lots.observe(&(1000..1300).map(|key| key * key).collect::<Vec<u64>>());
    assert_eq!(trained(Some(&lots)), (expected, 4));
}

#[test]
fn a_readout_knows_when_all_its_rows_were_one() {
    let x = Array2::from_elem((30, 4), 0.7);
    let targets = encoded(&(0..30).map(|row| row % 2).collect::<Vec<_>>(), 2);
    for (random_features, landmarks) in [(0, 0), (5, 0), (0, 9)] {
        let options = ReadoutOptions { random_features, landmarks, ..Default::default() };
        assert!(Readout::fit(x.view(), &targets, Sample::default(), &options, 0).unwrap().is_blind());
        let mut other = x.clone();
        other[(29, 3)] = 0.8;
        assert!(!Readout::fit(other.view(), &targets, Sample::default(), &options, 0).unwrap().is_blind());
    }
}

#[test]
fn rows_of_no_weight_are_no_landmarks() {
    let options = ReadoutOptions { landmarks: 3, ..ReadoutOptions::default() };
    let census = Census::of_classes(vec![3]);
    let mut fit = ReadoutFit::new(2, Task::Regression { targets: 1 }, &census, &options, 0).unwrap();
    let (x, y) = (array![[0.0, 1.0], [1.0, 0.0]], array![[1.0], [2.0]]);
    let sample = Sample { weights: Some(&[0.0, 0.0]), keys: None };
    let inputs = fit.gather(|take| take(x.view().into(), y.view(), sample)).unwrap();
    let message = fit.advance(inputs).unwrap_err().to_string();
    assert!(message.contains("rows with a positive weight"), "{message}");
}

#[test]
fn wide_rows_without_targets_have_no_errors() {
    let mut stream = Stream::new(1, "no targets", [0, 0]);
    let x = Array2::from_shape_simple_fn((600, 520), || stream.normal());
    let y = Array2::zeros((600, 0));
    let mut moments = Moments::new(520, 0).unwrap();
    moments.observe(x.view(), y.view(), None).unwrap();
    let mut errors = LeaveOneOut::of_moments(&moments, &Alpha::LOO, false).unwrap();
    errors.observe(x.view(), y.view(), None).unwrap();
    assert!(errors.finish().means().iter().all(|error| *error == 0.0));
}

#[test]
fn rows_without_targets_are_refused_in_front_of_landmarks_too() {
    let options = ReadoutOptions { landmarks: 3, ..ReadoutOptions::default() };
    let mut fit =
        ReadoutFit::new(2, Task::Regression { targets: 1 }, &Census::of_classes(vec![3]), &options, 0)
            .unwrap();
    let (x, y) = (array![[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], array![[1.0], [2.0], [3.0]]);
    let inputs = fit.gather(|take| take(x.view().into(), y.view(), Sample::default())).unwrap();
    assert!(fit.advance(inputs).unwrap().is_none());
    let short = fit.gather(|take| take(x.view().into(), y.slice(s![..2, ..]), Sample::default()));
    assert!(matches!(short, Err(Error::Length { what: "rows of the targets", expected: 3, found: 2 })));
    let sample = Sample { weights: Some(&[1.0]), keys: None };
    assert!(fit.gather(|take| take(x.view().into(), y.view(), sample)).is_err());
}

#[test]
#[ignore = "times only"]
fn time_stages() {
    use crate::linalg::{self, Band};
    use crate::readout::landmarks::Picked;
    let (n, d, m, targets) = (4110usize, 2700usize, 2000usize, 1usize);
    let mut stream = Stream::new(1, "rows", [0, 0]);
    let x = Array2::from_shape_simple_fn((n, d), || stream.normal());
    let y = Array2::from_shape_simple_fn((n, targets), || stream.normal());
    let mut start = std::time::Instant::now();
    let mut lap = |what: &str| {
        println!("{what} {:.3}", start.elapsed().as_secs_f64());
        start = std::time::Instant::now();
    };
    let mut columns = Columns::new(d);
    columns.observe(x.view(), None).unwrap();
    lap("columns");
    let mut picked = Picked::new(m, 0, None);
    picked.observe(x.view().into(), Sample::default());
    lap("picked");
    let landmarks = picked.landmarks(&columns, &ReadoutOptions::default()).unwrap();
    lap("landmarks");
    let mut alike = linalg::products(landmarks.rows().mapv(f64::from).view());
    alike.diag_mut().map_inplace(|x| *x += 1.0);
    lap("  products of them");
    linalg::root(alike).unwrap();
    lap("  cholesky");
    let root = landmarks.root().unwrap();
    lap("root");
    let mut blocks: Vec<Array2<f64>> =
        x.axis_chunks_iter(Axis(0), 512).map(|x| landmarks.apply(x).unwrap()).collect();
    lap("similarities");
    blocks.iter_mut().for_each(|block| linalg::solve_rows(block.as_slice_mut().unwrap(), m, root.view()));
    lap("whitening");
    let mut moments = Moments::new(m, targets).unwrap();
    blocks
        .iter()
        .zip(y.axis_chunks_iter(Axis(0), 512))
        .for_each(|(x, y)| moments.observe(x.view(), y, None).unwrap());
    moments.settle();
    lap("moments");
    let scatter = moments.scatter();
    lap("scatter");
    let band = Band::of(scatter.xx.clone());
    lap("band");
    let mut errors = LeaveOneOut::of_moments(&moments, &Alpha::LOO, false).unwrap();
    lap("leave one out begun");
    let mut rotated = blocks.clone();
    lap("clone");
    rotated.iter_mut().for_each(|block| band.rotate(block));
    lap("rotate");
    blocks
        .iter()
        .zip(y.axis_chunks_iter(Axis(0), 512))
        .for_each(|(x, y)| errors.observe(x.view(), y, None).unwrap());
    let best = errors.finish().best();
    lap("leave one out");
    Coefficients::of_moments(&moments, best, false).unwrap();
    lap("solved");
}
