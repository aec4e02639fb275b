//! Tests projections by formulas and by brute force over directions. The Python tests
//! compare them with scikit-learn.

use ndarray::{Array1, Array2, array, concatenate, s};
use proptest::prelude::*;

use super::*;
use crate::rng::Stream;

fn random(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut stream = Stream::new(seed, "projection tests", [0, 0]);
    Array2::from_shape_simple_fn((rows, columns), || stream.normal())
}

fn two() -> ProjectionOptions {
    ProjectionOptions::default()
}

/// The ratio of variance between classes to variance within them, along a direction.
fn ratio(rows: &Array2<f64>, classes: &[usize], direction: &Array1<f64>) -> f64 {
    let along = rows.dot(direction);
    let all = along.mean().unwrap();
    let (mut between, mut within) = (0.0, 0.0);
    for class in 0..=*classes.iter().max().unwrap() {
        let values: Vec<f64> =
            along.iter().zip(classes).filter(|(_, c)| **c == class).map(|(x, _)| *x).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        between += values.len() as f64 * (mean - all) * (mean - all);
        within += values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    }
    between / within
}

proptest! {
    #[test]
    fn no_direction_shows_more_than_the_first_axis(seed: u64, columns in 2usize..6, count in 12usize..40) {
        let rows = random(count, columns, seed);
        let classes: Vec<usize> = (0..count).map(|row| row % 3).collect();
        let (widest, apart) = (pca(rows.view(), &two()).unwrap(), lda(rows.view(), &classes, &two()).unwrap());
        let centred = &rows - &rows.mean_axis(Axis(0)).unwrap();
        let spread = |direction: &Array1<f64>| {
            let along = centred.dot(direction);
            along.dot(&along) / direction.dot(direction)
        };
        let best = spread(&widest.axes.column(0).to_owned());
        prop_assert!((best / energy(centred.view()) - widest.explained[0]).abs() < 1e-12);
        let farthest = ratio(&rows, &classes, &apart.axes.column(0).to_owned());
        for other in random(50, columns, seed ^ 1).rows() {
            prop_assert!(spread(&other.to_owned()) <= best * (1.0 + 1e-9));
            prop_assert!(ratio(&rows, &classes, &other.to_owned()) <= farthest * (1.0 + 1e-9));
        }
        let products = widest.axes.t().dot(&widest.axes) - Array2::<f64>::eye(2);
        prop_assert!(products.iter().all(|x| x.abs() < 1e-12), "orthonormal");
    }
}

#[test]
fn two_classes_get_a_second_axis_orthogonal_to_the_first() {
    let mut rows = random(60, 4, 3);
    rows.column_mut(2).mapv_inplace(|x| 5.0 * x);
    let classes: Vec<usize> = (0..60).map(|row| usize::from(row >= 30)).collect();
    rows.slice_mut(s![30.., 0]).mapv_inplace(|x| x + 6.0);
    let found = lda(rows.view(), &classes, &two()).unwrap();
    assert_eq!(found.kinds, [AxisKind::Discriminant, AxisKind::Principal]);
    assert!((found.explained[0] - 1.0).abs() < 1e-12);
    let (first, second) = (found.axes.column(0), found.axes.column(1));
    assert!(first.dot(&second).abs() < 1e-10 * first.dot(&first).sqrt());
    assert!((second.dot(&second) - 1.0).abs() < 1e-12 && second[2] > 0.9);
    // By hand: the whitened difference of the classes is the direction of the
    // discriminant.
    let points = found.apply(rows.view()).unwrap();
    let spread = |range: std::ops::Range<usize>| points.slice(s![range, 0]).var(0.0) * 30.0;
    assert!(((spread(0..30) + spread(30..60)) / 60.0 - 1.0).abs() < 1e-10, "unit variance inside classes");
}

#[test]
fn signs_are_those_of_the_largest_entries() {
    let rows = random(20, 3, 5);
    let classes: Vec<usize> = (0..20).map(|row| row % 4).collect();
    for found in [pca(rows.view(), &two()).unwrap(), lda(rows.view(), &classes, &two()).unwrap()] {
        for axis in found.axes.columns() {
            let largest = axis.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
            assert!(largest > 0.0);
        }
    }
}

#[test]
fn constant_columns_change_nothing() {
    let rows = random(30, 3, 7);
    let classes: Vec<usize> = (0..30).map(|row| row % 3).collect();
    let constant = Array2::from_elem((30, 2), 0.1);
    let wider = concatenate(Axis(1), &[constant.view(), rows.view()]).unwrap();
    for (narrow, wide) in [
        (pca(rows.view(), &two()).unwrap(), pca(wider.view(), &two()).unwrap()),
        (lda(rows.view(), &classes, &two()).unwrap(), lda(wider.view(), &classes, &two()).unwrap()),
    ] {
        assert_eq!(narrow.kinds, wide.kinds);
        let (a, b) = (narrow.apply(rows.view()).unwrap(), wide.apply(wider.view()).unwrap());
        assert!((&a - &b).iter().all(|x| x.abs() < 1e-9));
    }
}

#[test]
fn what_is_not_there_is_not_shown() {
    // Rows on a line, equal rows, a single row, a single column, no rows.
    let line = array![[0.1, 0.2], [0.2, 0.4], [0.3, 0.6]];
    assert_eq!(pca(line.view(), &two()).unwrap().kinds, [AxisKind::Principal, AxisKind::Nothing]);
    for rows in [Array2::from_elem((4, 3), 0.1), array![[7.0, 8.0]], Array2::zeros((0, 3))] {
        let found = pca(rows.view(), &two()).unwrap();
        assert_eq!(found.kinds, [AxisKind::Nothing; 2]);
        assert!(found.apply(rows.view()).unwrap().iter().all(|x| *x == 0.0));
    }
    let column = array![[1.0], [2.0], [4.0]];
    assert_eq!(pca(column.view(), &two()).unwrap().kinds, [AxisKind::Principal, AxisKind::Nothing]);
    // Fewer rows than columns: all variance is in the first axes.
    let few = random(3, 50, 8);
    let found = pca(few.view(), &two()).unwrap();
    assert!((found.explained.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    // Classes whose means agree have no discriminant.
    let same = array![[0.0, 1.0], [0.0, -1.0], [2.0, 1.0], [2.0, -1.0], [1.0, 3.0], [1.0, -3.0]];
    let rows = concatenate(Axis(0), &[same.view(), same.view()]).unwrap();
    let classes: Vec<usize> = (0..12).map(|row| row / 6).collect();
    assert_eq!(lda(rows.view(), &classes, &two()).unwrap().kinds, [AxisKind::Principal; 2]);
}

#[test]
fn what_cannot_be_told_apart_is_refused_by_name() {
    let rows = random(6, 3, 9);
    let refused =
        |rows: &Array2<f64>, classes: &[usize]| lda(rows.view(), classes, &two()).unwrap_err().to_string();
    assert!(refused(&rows, &[4; 6]).ends_with("found 6 rows of 1 classes"));
    assert!(refused(&rows, &[0, 1, 2, 3, 4, 5]).ends_with("found 6 rows of 6 classes"));
    assert_eq!(refused(&rows, &[0, 1]), "classes of the rows: expected 6, found 2");
    let equal = array![[1.0], [1.0], [2.0], [2.0]];
    assert!(refused(&equal, &[0, 0, 1, 1]).contains("at least one class whose vectors differ"));
    let broken = array![[1.0, 2.0], [f64::NAN, 0.0]];
    assert!(pca(broken.view(), &two()).unwrap_err().to_string().contains("row 1 is NaN"));
    assert!(pca(array![[1e200, 0.0], [-1e200, 1.0]].view(), &two()).is_err());
    let none = ProjectionOptions { components: 0 };
    assert!(pca(rows.view(), &none).unwrap_err().to_string().starts_with("components"));
    // A class of one row and classes without rows work.
    lda(rows.view(), &[0, 0, 9, 9, 9, 4], &two()).unwrap();
    let found = pca(rows.view(), &two()).unwrap();
    assert!(found.apply(random(2, 4, 1).view()).unwrap_err().to_string().contains("expected 3, found 4"));
}
