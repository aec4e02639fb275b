//! Graphs as points: their vectors, projected onto a plane.

use ndarray::{Array2, ArrayView2};
use stepwell::projection::{AxisKind, Projection, ProjectionOptions, lda, pca};
use stepwell::rng::Stream;
use stepwell::targets::Targets;
use stepwell_data::counted;

use super::Picture;
use super::colour;
use super::page::{Cell, Table};
use super::scatter::{Point, Scatter, Series};
use super::svg::shortened;
use crate::error::{Error, Result};

/// The most points drawn; of more graphs, a random sample. The projection is that of all graphs.
const MOST_POINTS: usize = 20_000;

/// The most characters of a name in a tooltip.
const NAME: usize = 80;

/// The choice of the plane.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// The plane that separates the classes best.
    Lda,
    /// The plane of largest variance.
    Pca,
}

/// Vectors, and the metadata of their graphs.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    /// The name of the dataset.
    pub name: &'a str,
    /// A row per graph.
    pub rows: ArrayView2<'a, f64>,
    /// The targets that determine the colours.
    pub targets: &'a Targets,
    /// The name of each graph.
    pub ids: &'a [String],
    /// The number of vertices of each graph, if known.
    pub sizes: Option<&'a [usize]>,
}

/// Returns the picture, the projection and the position of every graph.
pub fn plot(vectors: &Vectors<'_>, method: Method) -> Result<(Picture, Projection, Array2<f64>)> {
    let Vectors { name, rows, targets, ids, sizes } = *vectors;
    for (what, found) in
        [("targets", targets.len()), ("ids", ids.len()), ("sizes", sizes.map_or(0, <[_]>::len))]
    {
        let absent = found == 0 && (what != "ids");
        if found != rows.nrows() && !absent {
            return Err(stepwell::Error::Length { what, expected: rows.nrows(), found }.into());
        }
    }
    let projection = match (method, targets.classes()) {
        (Method::Pca, _) => pca(rows, &ProjectionOptions::default())?,
        (Method::Lda, Some((classes, _))) => lda(rows, &classes, &ProjectionOptions::default())?,
        (Method::Lda, None) => {
            let expected = "pca (lda needs classes)".to_owned();
            let found = match targets {
                Targets::Numbers(_) => "lda with targets that are floats",
                _ => "lda without targets",
            };
            return Err(Error::BadOption { name: "method", expected, found: found.to_owned() });
        }
    };
    let points = projection.apply(rows)?;
    let groups = Groups::new(targets, rows.nrows());
    let mut series: Vec<Series> = groups
        .names
        .iter()
        .enumerate()
        .map(|(index, name)| Series { name: name.clone(), class: groups.class(index), points: Vec::new() })
        .collect();
    for graph in drawn(rows.nrows()) {
        let group = groups.of[graph];
        let mut text = format!("graph {}", shortened(&ids[graph], NAME));
        match targets {
            Targets::None => {}
            Targets::Numbers(values) => text += &format!("\ntarget {}", values[(graph, 0)]),
            _ => text += &format!("\nclass {}", shortened(&groups.names[group], NAME)),
        }
        if let Some(sizes) = sizes {
            text += &format!("\n{}", counted(sizes[graph], "vertex"));
        }
        series[group].points.push(Point { x: points[(graph, 0)], y: points[(graph, 1)], text });
    }
    let how = match method {
        Method::Lda => "linear discriminants",
        Method::Pca => "principal components",
    };
    let title = format!("{}: {how}", shortened(name, NAME));
    let mut notes = vec![format!("{} graphs as points; the colours are {}.", rows.nrows(), groups.meaning)];
    let count: usize = series.iter().map(|series| series.points.len()).sum();
    if count < rows.nrows() {
        notes.push(format!("{count} of them are drawn, sampled at random."));
    }
    let scatter = Scatter {
        description: format!(
            "{count} points, one per graph, in {} series: {}",
            series.len(),
            groups.names.iter().take(12).map(|name| shortened(name, 24)).collect::<Vec<_>>().join(", ")
        ),
        x_label: label(&projection, 0, method),
        y_label: label(&projection, 1, method),
        title: title.clone(),
        legend: if groups.ordered { "target (graphs)" } else { "class (graphs)" }.to_owned(),
        series,
    };
    let table = Some(centres(&groups, &points));
    Ok((Picture { title, svg: scatter.svg(), notes, table }, projection, points))
}

/// The indices of the drawn graphs, ascending.
fn drawn(count: usize) -> Vec<usize> {
    let mut graphs: Vec<usize> = (0..count).collect();
    if count > MOST_POINTS {
        let mut stream = Stream::new(0, "points of a plot", [0, 0]);
        for place in 0..MOST_POINTS {
            let other = place + stream.below(count - place);
            graphs.swap(place, other);
        }
        graphs.truncate(MOST_POINTS);
        graphs.sort_unstable();
    }
    graphs
}

/// The label of an axis.
fn label(projection: &Projection, axis: usize, method: Method) -> String {
    let percent = 100.0 * projection.explained[axis];
    let before = projection.kinds[..axis].iter().filter(|kind| **kind == projection.kinds[axis]).count();
    let which = ["first", "second"][before.min(1)];
    match (projection.kinds[axis], method) {
        (AxisKind::Discriminant, _) => {
            format!("{which} discriminant ({percent:.1} % of the variance between classes)")
        }
        (AxisKind::Principal, Method::Pca) => {
            format!("{which} principal component ({percent:.1} % of the variance)")
        }
        (AxisKind::Principal, Method::Lda) => {
            format!("{which} principal component of the rest ({percent:.1} % of the variance)")
        }
        (AxisKind::Nothing, _) => "nothing else varies".to_owned(),
    }
}

/// Graphs grouped by colour.
struct Groups {
    names: Vec<String>,
    /// The group of each graph.
    of: Vec<usize>,
    meaning: &'static str,
    /// Whether groups are ordered amounts.
    ordered: bool,
}

impl Groups {
    fn new(targets: &Targets, count: usize) -> Self {
        if let Some((of, names)) = targets.classes() {
            return Self { names, of, meaning: "their classes", ordered: false };
        }
        let Some(values) = targets.column() else {
            let names = vec!["graphs".to_owned()];
            return Self { names, of: vec![0; count], meaning: "all the same", ordered: false };
        };
        // Fifths of the graphs by target; equal targets stay together.
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let mut bounds: Vec<f64> = (0..5).filter_map(|k| sorted.get(k * count / 5).copied()).collect();
        bounds.dedup();
        let of: Vec<usize> = values
            .iter()
            .map(|value| bounds.partition_point(|bound| bound.total_cmp(value).is_le()).saturating_sub(1))
            .collect();
        let name = |group: usize| match bounds.get(group + 1) {
            Some(next) => format!("{:.3} to {next:.3}", bounds[group]),
            None => format!("from {:.3}", bounds[group]),
        };
        let names = (0..bounds.len()).map(name).collect();
        Self { names, of, meaning: "their targets, by quintiles", ordered: true }
    }

    fn class(&self, index: usize) -> String {
        let last = self.names.len().saturating_sub(1).max(1);
        if self.ordered { colour::amount(index as f64 / last as f64) } else { colour::category(index) }
    }
}

/// A table of the group centres.
fn centres(groups: &Groups, points: &Array2<f64>) -> Table {
    let mut sums = vec![(0usize, [0.0; 2]); groups.names.len()];
    for (point, &group) in points.rows().into_iter().zip(&groups.of) {
        let (count, sum) = &mut sums[group];
        *count += 1;
        *sum = [sum[0] + point[0], sum[1] + point[1]];
    }
    let row = |(name, (count, sum)): (&String, &(usize, [f64; 2]))| {
        let mean = |axis: usize| Cell::number(sum[axis] / (*count).max(1) as f64, 3);
        vec![Cell::text(name.clone()), Cell::number(*count as f64, 0), mean(0), mean(1)]
    };
    Table {
        caption: "Centres of the groups".to_owned(),
        header: ["class", "graphs", "from left to right", "from bottom to top"].map(str::to_owned).to_vec(),
        rows: groups.names.iter().zip(&sums).map(row).collect(),
    }
}
