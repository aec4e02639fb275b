//! The paper's benchmark for graph classification, B-easy and B-hard.
//!
//! A graph is a cloud of coloured points in the plane, each joined to its `k` nearest neighbours.
//! The cloud consists of three shapes; their arrangement is the graph's class. The colours alone
//! have the same distribution in every class, and the structure alone tells little (paper, section
//! 6.1; the values of `k` and the spread are garbled there, and those used here reproduce its Table
//! 1).

use std::ops::Range;

use rayon::prelude::*;
use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::rng::Stream;
use stepwell::targets::Targets;

use super::clusters::{self, COLOURS, Point};
use super::nearest::k_nearest;
use crate::dataset::{Dataset, Part};
use crate::error::{Error, Place, Result};

/// The centres of the moons, the split Gaussian and the blob of each class.
const CENTRES: [[[f64; 2]; 3]; 3] = [
    [[4.0, 0.0], [0.0, 0.0], [2.0, -2.0]],
    [[2.0, -2.0], [4.0, 0.0], [0.0, 0.0]],
    [[0.0, 0.0], [2.0, -2.0], [4.0, 0.0]],
];

/// The split Gaussian needs two points, so a graph needs six vertices.
const FEWEST_VERTICES: usize = 6;
/// The neighbour search compares all pairs.
const MOST_VERTICES: usize = 10_000;
/// Vertices of a small version's graphs, before rounding down to a multiple of 3.
const SMALL: Range<usize> = 40..80;
/// The number of graphs drawn before they are added to the dataset.
const AT_ONCE: usize = 4096;

/// How much the shapes overlap, and how densely their points are linked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Difficulty {
    /// Spread .4, five neighbours.
    Easy,
    /// Spread .2, three neighbours.
    Hard,
}

impl Difficulty {
    fn spread(self) -> f64 {
        match self {
            Self::Easy => 0.4,
            Self::Hard => 0.2,
        }
    }

    fn neighbours(self) -> usize {
        match self {
            Self::Easy => 5,
            Self::Hard => 3,
        }
    }
}

/// The options of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkOptions {
    /// Easy or hard.
    pub difficulty: Difficulty,
    /// The number of graphs in each of the three classes.
    pub graphs_per_class: usize,
    /// The range of a graph's number of vertices, which is drawn and then rounded down to a
    /// multiple of 3.
    pub vertices: Range<usize>,
    /// Another seed draws other graphs.
    pub seed: u64,
}

impl BenchmarkOptions {
    /// The names that [`named`](Self::named) accepts.
    pub const NAMES: [&'static str; 4] = ["b-easy", "b-hard", "b-easy-small", "b-hard-small"];

    /// The published versions: 600 graphs per class with 100 to 199 vertices; in the small
    /// versions, 100 graphs per class with 40 to 79. The seed is 0.
    pub fn named(name: &str) -> Option<Self> {
        let (difficulty, small) = match name {
            "b-easy" => (Difficulty::Easy, false),
            "b-hard" => (Difficulty::Hard, false),
            "b-easy-small" => (Difficulty::Easy, true),
            "b-hard-small" => (Difficulty::Hard, true),
            _ => return None,
        };
        let (graphs_per_class, vertices) = if small { (100, SMALL) } else { (600, 100..200) };
        Some(Self { difficulty, graphs_per_class, vertices, seed: 0 })
    }

    /// The name of the dataset.
    pub fn name(&self) -> &'static str {
        match (self.difficulty, self.vertices == SMALL) {
            (Difficulty::Easy, false) => "b-easy",
            (Difficulty::Hard, false) => "b-hard",
            (Difficulty::Easy, true) => "b-easy-small",
            (Difficulty::Hard, true) => "b-hard-small",
        }
    }

    /// Checks the options.
    pub fn validate(&self) -> Result<()> {
        let place = Place::file(self.name());
        let Range { start, end } = self.vertices;
        if start >= end || start < FEWEST_VERTICES || end - 1 > MOST_VERTICES {
            let expected = format!("a range of vertices within {FEWEST_VERTICES}..{}", MOST_VERTICES + 1);
            return Err(Error::malformed(place, expected, format!("{start}..{end}")));
        }
        if self.graphs_per_class == 0 {
            return Err(Error::malformed(place, "at least 1 graph per class", "0"));
        }
        let (limit, graphs) = (u64::from(u32::MAX), self.graphs_per_class as u64);
        let found = graphs.saturating_mul(3).saturating_mul(end as u64 - 1);
        if found > limit {
            Err(Error::TooLarge { place, what: "the number of vertices", limit, found })
        } else {
            Ok(())
        }
    }
}

/// Generates the benchmark: graphs of classes 0, 1 and 2 whose vertices have a one-hot colour and a
/// position in the plane.
///
/// As in the published files, each graph is assigned to the test part with probability .1,
/// otherwise to the validation part with probability .1. The graphs are ordered by part, and by
/// class inside a part. The easy and the hard version of a seed have the same sizes and parts.
pub fn generate(options: &BenchmarkOptions) -> Result<Dataset> {
    options.validate()?;
    let order = in_order(options);
    let (mut builder, mut coordinates) = (BatchBuilder::default(), Vec::new());
    for names in order.chunks(AT_ONCE) {
        let clouds: Vec<Cloud> =
            names.par_iter().map(|&(_, class, index)| Cloud::draw(options, class, index)).collect();
        for cloud in clouds {
            cloud
                .push(&mut builder)
                .map_err(|source| Error::Graph { place: Place::file(options.name()), source })?;
            coordinates.extend(cloud.points.iter().map(|point| point.at));
        }
    }
    Ok(Dataset {
        name: options.name().into(),
        graphs: builder.finish(),
        targets: Targets::integers(order.iter().map(|&(_, class, _)| class as i64).collect()),
        parts: Some(order.iter().map(|&(part, ..)| part).collect()),
        coordinates: Some(coordinates),
        ..Dataset::default()
    })
}

/// The part, the class and the index within the class of all graphs, in dataset order.
fn in_order(options: &BenchmarkOptions) -> Vec<(Part, usize, usize)> {
    let graphs = (0..CENTRES.len()).flat_map(|class| (0..options.graphs_per_class).map(move |i| (class, i)));
    let all: Vec<_> = graphs.map(|(class, index)| (part(options.seed, class, index), class, index)).collect();
    let of = |wanted: Part| all.iter().copied().filter(move |&(part, ..)| part == wanted);
    Part::NAMES.into_iter().flat_map(|(part, _)| of(part)).collect()
}

fn part(seed: u64, class: usize, index: usize) -> Part {
    let mut stream = Stream::new(seed, "benchmark part", [class as u64, index as u64]);
    if stream.uniform() >= 0.9 {
        Part::Test
    } else if stream.uniform() >= 0.9 {
        Part::Validation
    } else {
        Part::Train
    }
}

/// One graph before it is added to the batch.
struct Cloud {
    points: Vec<Point>,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

impl Cloud {
    fn draw(options: &BenchmarkOptions, class: usize, index: usize) -> Self {
        let mut stream = Stream::new(options.seed, "benchmark graph", [class as u64, index as u64]);
        let Range { start, end } = options.vertices;
        let count = (start + stream.below(end - start)) / 3;
        let ([moons, quantiles, blob], spread) = (CENTRES[class], options.difficulty.spread());
        let mut points = clusters::moons(count, moons, &mut stream);
        points.extend(clusters::gaussian_quantiles(count, quantiles, spread, &mut stream));
        points.extend(clusters::blob(count, blob, 2.0 * spread, &mut stream));
        scale_by_maximum(&mut points);
        let places: Vec<[f64; 2]> = points.iter().map(|point| point.at).collect();
        let (sources, targets) = k_nearest(&places, options.difficulty.neighbours());
        Self { points, sources, targets }
    }

    fn push(&self, builder: &mut BatchBuilder) -> stepwell::Result<()> {
        let mut colours = vec![0.0; self.points.len() * COLOURS];
        for (row, point) in colours.chunks_exact_mut(COLOURS).zip(&self.points) {
            row[usize::from(point.colour)] = 1.0;
        }
        builder.push(&EdgeList {
            vertex_attributes: Some((&colours, COLOURS)),
            ..EdgeList::new(self.points.len(), &self.sources, &self.targets)
        })
    }
}

/// Divides both coordinates by their largest value. That value depends on the class, so this
/// stretches the classes differently, as in the published files.
fn scale_by_maximum(points: &mut [Point]) {
    for axis in 0..2 {
        let maximum = points.iter().map(|point| point.at[axis]).fold(f64::NEG_INFINITY, f64::max);
        if maximum.is_normal() {
            points.iter_mut().for_each(|point| point.at[axis] /= maximum);
        }
    }
}

#[cfg(test)]
mod tests;
