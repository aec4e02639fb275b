//! Linear discriminants: directions in which classes are far apart, relative to their
//! own spread.

use ndarray::{Array1, Array2, ArrayView2};

use super::pca::{principal, reach};
use super::{AxisKind, Projection, ProjectionOptions, check, energy, fix_sign};
use crate::error::{Error, Result};
use crate::linalg::{self, spectrum};
use crate::memory;

/// Directions whose singular value is below this, or below this share of the largest,
/// carry no information; as scikit-learn's `tol`.
const TOLERANCE: f64 = 1e-4;

/// The directions in which classes differ most, as scikit-learn's
/// `LinearDiscriminantAnalysis` computes them (`solver="svd"`): rows are scaled to
/// variance 1 in every direction within a class, then the principal axes of the class
/// means are computed. `classes` are counted from 0. A class without rows has no
/// effect, and a class with a single row has no spread of its own.
///
/// `c` classes have at most `c - 1` discriminants. Further axes are the principal
/// components of the part orthogonal to all earlier axes.
pub fn lda(rows: ArrayView2<'_, f64>, classes: &[usize], options: &ProjectionOptions) -> Result<Projection> {
    options.validate()?;
    check(rows)?;
    if classes.len() != rows.nrows() {
        return Err(Error::Length {
            what: "classes of the rows",
            expected: rows.nrows(),
            found: classes.len(),
        });
    }
    let groups = Groups::new(rows, classes);
    let (count, width) = rows.dim();
    let present = groups.sizes.len();
    if present < 2 || count <= present {
        let expected = "rows of at least two classes, and more rows than classes".to_string();
        let found = format!("{count} rows of {present} classes");
        return Err(Error::BadOption { name: "classes", expected, found });
    }
    let mean = groups.means.t().dot(&groups.sizes) / count as f64;

    memory::ask_array("discriminant axes", &[4, rows.nrows(), rows.ncols()], size_of::<f64>())?;
    // Within classes: scale by column, then whiten.
    let (within, deviations) = groups.within(rows);
    let inside = spectrum::of_few_rows((&within / (count as f64).sqrt()).view())?;
    let varying: Vec<usize> = (0..inside.values.len()).filter(|&k| inside.values[k] > TOLERANCE).collect();
    if varying.is_empty() {
        let expected = "at least one class whose vectors differ".to_string();
        let found = "only classes of equal vectors".to_string();
        return Err(Error::BadOption { name: "classes", expected, found });
    }
    let whitening = Array2::from_shape_fn((width, varying.len()), |(column, k)| {
        inside.right[(varying[k], column)] / deviations[column] / inside.values[varying[k]]
    });

    // Between classes: the principal axes of their means.
    let share = 1.0 / (present - 1) as f64;
    let apart = Array2::from_shape_fn((present, width), |(class, column)| {
        (groups.sizes[class] * share).sqrt() * (groups.means[(class, column)] - mean[column])
    });
    let between = spectrum::of_few_rows(linalg::multiply(apart.view(), whitening.view()).view())?;
    let most = (present - 1).min(width);
    let total: f64 = between.values.iter().map(|value| value * value).sum();
    let largest = between.values.iter().fold(0.0, |largest: f64, x| largest.max(*x));
    // Means that differ only by rounding do not differ in any direction.
    let least = (TOLERANCE * largest).max(1e-10);
    let mut projection = Projection {
        mean,
        axes: Array2::zeros((width, options.components)),
        kinds: vec![AxisKind::Nothing; options.components],
        explained: vec![0.0; options.components],
    };
    let mut found = 0;
    for (k, value) in between.values.iter().enumerate().take(most.min(options.components)) {
        if *value <= least {
            break;
        }
        let mut axis = whitening.dot(&between.right.row(k)).to_vec();
        fix_sign(&mut axis);
        projection.axes.column_mut(found).assign(&Array1::from(axis));
        projection.kinds[found] = AxisKind::Discriminant;
        projection.explained[found] = value * value / total;
        found += 1;
    }
    fill_up(rows, found, &mut projection)?;
    Ok(projection)
}

/// Sets the axes after the first `found` to the principal components of the part
/// orthogonal to those.
fn fill_up(rows: ArrayView2<'_, f64>, found: usize, projection: &mut Projection) -> Result<()> {
    let wanted = projection.kinds.len();
    if found == wanted {
        return Ok(());
    }
    let centred = &rows - &projection.mean;
    let total = energy(centred.view()).max(f64::MIN_POSITIVE);
    let mut rest = centred;
    for direction in orthonormal(&projection.axes, found) {
        let along = rest.dot(&direction);
        for (mut row, along) in rest.rows_mut().into_iter().zip(&along) {
            row.scaled_add(-along, &direction);
        }
    }
    let (vectors, squares) = principal(rest.view(), wanted - found, reach(rows))?;
    for (k, (vector, square)) in (found..).zip(vectors.into_iter().zip(squares)) {
        projection.axes.column_mut(k).assign(&Array1::from(vector));
        projection.kinds[k] = AxisKind::Principal;
        projection.explained[k] = square / total;
    }
    Ok(())
}

/// Unit vectors that span the first axes (Gram–Schmidt, twice for accuracy).
fn orthonormal(axes: &Array2<f64>, count: usize) -> Vec<Array1<f64>> {
    let mut basis: Vec<Array1<f64>> = Vec::with_capacity(count);
    for k in 0..count {
        let mut axis = axes.column(k).to_owned();
        let length = axis.dot(&axis).sqrt();
        axis /= length;
        for _ in 0..2 {
            for known in &basis {
                let along = axis.dot(known);
                axis.scaled_add(-along, known);
            }
        }
        let length = axis.dot(&axis).sqrt();
        if length > 1e-8 {
            basis.push(axis / length);
        }
    }
    basis
}

/// The classes that have rows.
struct Groups {
    /// Number of rows of each class.
    sizes: Array1<f64>,
    /// One row per class.
    means: Array2<f64>,
    /// The class of each row.
    of_row: Vec<usize>,
}

impl Groups {
    fn new(rows: ArrayView2<'_, f64>, classes: &[usize]) -> Self {
        let mut present = classes.to_vec();
        present.sort_unstable();
        present.dedup();
        let of_row: Vec<usize> =
            classes.iter().map(|class| present.partition_point(|known| known < class)).collect();
        let mut sizes = Array1::zeros(present.len());
        let mut means = Array2::zeros((present.len(), rows.ncols()));
        for (row, &group) in rows.rows().into_iter().zip(&of_row) {
            sizes[group] += 1.0;
            let mut sum = means.row_mut(group);
            sum += &row;
        }
        for (mut mean, size) in means.rows_mut().into_iter().zip(&sizes) {
            mean /= *size;
        }
        Self { sizes, means, of_row }
    }

    /// Rows minus the mean of their class, divided by the columns' standard deviations,
    /// and those deviations. A column that is constant in every class is zero and
    /// divided by 1.
    fn within(&self, rows: ArrayView2<'_, f64>) -> (Array2<f64>, Array1<f64>) {
        let mut within = rows.to_owned();
        for (mut row, &group) in within.rows_mut().into_iter().zip(&self.of_row) {
            row -= &self.means.row(group);
        }
        let mut deviations = Array1::ones(rows.ncols());
        for (column, mut values) in within.columns_mut().into_iter().enumerate() {
            let middle = values.sum() / values.len() as f64;
            let variance = values.iter().map(|x| (x - middle) * (x - middle)).sum::<f64>();
            let deviation = (variance / values.len() as f64).sqrt();
            let size = rows.column(column).iter().fold(0.0, |size: f64, x| size.max(x.abs()));
            if deviation > 1e-14 * size {
                deviations[column] = deviation
            } else {
                values.fill(0.0)
            }
            values /= deviations[column];
        }
        (within, deviations)
    }
}
