//! Colours vertices by labels, attributes or degree.

use std::collections::BTreeMap;

use ndarray::ArrayView2;
use stepwell::graph::GraphRef;
use stepwell::projection::{ProjectionOptions, pca};

use super::colour::{self, NUM_CATEGORIES};
use super::molecule::Molecule;
use super::scene::Level;
use super::svg::Number;

/// The colours of all vertices of all levels.
pub(super) struct Shades {
    pub kind: Kind,
    /// For every level, the series of each vertex.
    pub levels: Vec<Vec<usize>>,
    /// For every level, the tooltip of each vertex.
    pub texts: Vec<Vec<String>>,
}

/// The meaning of the series.
pub(super) enum Kind {
    /// Categories, by name.
    Categories(&'static str, Vec<String>),
    /// Steps from the smallest to the largest amount.
    Amounts(&'static str, f64, f64),
}

impl Kind {
    /// The class of a series' colour.
    pub fn class(&self, series: usize) -> String {
        match self {
            Self::Categories(..) => colour::category(series),
            Self::Amounts(..) => colour::amount(series as f64 / (colour::STEPS - 1) as f64),
        }
    }

    /// The number of series.
    pub fn count(&self) -> usize {
        match self {
            Self::Categories(_, names) => names.len(),
            Self::Amounts(..) => colour::STEPS,
        }
    }
}

impl Shades {
    /// The colours of a graph, and of its levels, which inherit them.
    pub fn of(levels: &[Level<'_>], molecule: Option<&Molecule>) -> Self {
        let (kind, width, mut rows) = features(levels[0].graph, molecule);
        let mut shades = Self { kind, levels: Vec::new(), texts: Vec::new() };
        for level in levels {
            let (series, texts) = rows.chunks_exact(width).map(|row| shades.kind.read(row)).unzip();
            shades.levels.push(series);
            shades.texts.push(texts);
            rows = level.carried(&rows, width);
        }
        shades
    }
}

impl Kind {
    /// The series and the tooltip of a row of features.
    fn read(&self, row: &[f64]) -> (usize, String) {
        match self {
            Self::Categories(what, names) => {
                let most = (0..row.len()).fold(0, |most, k| if row[k] > row[most] { k } else { most });
                (most, format!("{what} {}", names[most]))
            }
            Self::Amounts(what, low, high) => {
                let share = if high > low { (row[0] - low) / (high - low) } else { 0.5 };
                let steps = (colour::STEPS - 1) as f64;
                ((share * steps).round().clamp(0.0, steps) as usize, format!("{what} {}", Number(row[0])))
            }
        }
    }
}

/// The features of vertices: one-hot rows for categories, one number per row for amounts.
fn features(graph: GraphRef<'_>, molecule: Option<&Molecule>) -> (Kind, usize, Vec<f64>) {
    // Of several labels the first, which is the element of an atom.
    if let Some((labels, width)) = graph.vertex_labels() {
        let labels = labels.iter().step_by(width).map(|&label| i64::from(label));
        let (mut kind, width, rows) = categories("label", labels.clone());
        if let (Some(molecule), Kind::Categories(what, names)) = (molecule, &mut kind) {
            *what = "element";
            for (atom, label) in labels.enumerate() {
                if let Some(name) = names.iter_mut().find(|name| **name == label.to_string()) {
                    *name = molecule.element(atom).to_owned();
                }
            }
        }
        return (kind, width, rows);
    }
    let values = match graph.vertex_attributes() {
        Some((values, width)) if width > 0 => {
            if let Some(columns) = one_hot(&values, width) {
                return categories("attribute", columns.into_iter());
            }
            let what = if width == 1 { "attribute" } else { "first principal component" };
            (what, first_component(&values, width))
        }
        _ => ("degree", (0..graph.num_vertices()).map(|v| graph.neighbours(v).len() as f64).collect()),
    };
    let (what, values) = values;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
    (Kind::Amounts(what, low, high), 1, values)
}

/// The most frequent categories by name; the others together.
fn categories(what: &'static str, found: impl Iterator<Item = i64> + Clone) -> (Kind, usize, Vec<f64>) {
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    found.clone().for_each(|name| *counts.entry(name).or_default() += 1);
    let mut named: Vec<i64> = counts.keys().copied().collect();
    let all = named.len();
    if all > NUM_CATEGORIES {
        named.sort_by_key(|name| (std::cmp::Reverse(counts[name]), *name));
        named.truncate(NUM_CATEGORIES - 1);
        named.sort_unstable();
    }
    let mut names: Vec<String> = named.iter().map(i64::to_string).collect();
    if all > named.len() {
        names.push("other".to_owned());
    }
    let width = names.len().max(1);
    let mut rows = Vec::new();
    for name in found {
        let column = named.binary_search(&name).unwrap_or(named.len());
        rows.extend((0..width).map(|k| if k == column { 1.0 } else { 0.0 }));
    }
    (Kind::Categories(what, names), width, rows)
}

/// The column of the 1 in every row, if all rows are one-hot.
fn one_hot(values: &[f64], width: usize) -> Option<Vec<i64>> {
    if width < 2 {
        return None;
    }
    let column = |row: &[f64]| {
        let ones = row.iter().filter(|x| **x == 1.0).count();
        let zeros = row.iter().filter(|x| **x == 0.0).count();
        (ones == 1 && ones + zeros == width).then(|| row.iter().position(|x| *x == 1.0).unwrap_or(0) as i64)
    };
    values.chunks_exact(width).map(column).collect()
}

/// One number for each row: its first principal component.
fn first_component(values: &[f64], width: usize) -> Vec<f64> {
    if width == 1 {
        return values.to_vec();
    }
    let Ok(rows) = ArrayView2::from_shape((values.len() / width, width), values) else { return Vec::new() };
    let projected = pca(rows, &ProjectionOptions { components: 1 }).and_then(|plane| plane.apply(rows));
    match projected {
        Ok(points) => points.column(0).to_vec(),
        // The numbers are too large to be squared: use the first column.
        Err(_) => rows.column(0).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_labels_are_put_together() {
        let labels = (0..40i64).map(|k| k % 10).chain([3, 3, 7]);
        let (kind, width, rows) = categories("label", labels);
        let Kind::Categories(_, names) = kind else { panic!("categories") };
        assert_eq!(names, ["0", "1", "2", "3", "4", "5", "7", "other"]);
        assert_eq!((width, rows.len()), (8, 43 * 8));
        assert_eq!(&rows[6 * 8..7 * 8], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn one_hot_rows_are_categories() {
        assert_eq!(one_hot(&[0.0, 1.0, 1.0, 0.0], 2), Some(vec![1, 0]));
        assert_eq!(one_hot(&[0.0, 1.0, 1.0, 1.0], 2), None);
        assert_eq!(one_hot(&[0.5, 0.0], 2), None);
        assert_eq!(one_hot(&[1.0, 1.0], 1), None);
    }

    #[test]
    fn several_attributes_are_one_number() {
        let along = first_component(&[0.0, 0.0, 1.0, 2.0, 2.0, 4.0], 2);
        assert!(along[0] < along[1] && along[1] < along[2]);
        assert_eq!(first_component(&[1e300, 0.0, -1e300, 0.0], 2), [1e300, -1e300]);
    }
}
