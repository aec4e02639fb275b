//! Families of graphs of any size, for experiments and benchmarks.

use std::fmt;

use stepwell::graph::{EdgeList, Graph};
use stepwell::rng::Stream;

use super::random;
use crate::error::{Error, Place, Result, quote};

/// The textual forms, for error messages.
const FORMS: &str = "grid:WIDTHxHEIGHT, geometric:VERTICES:RADIUS, barabasi-albert:VERTICES:LINKS, \
    erdos-renyi:VERTICES:PROBABILITY, star:LEAVES, ring:VERTICES, complete:VERTICES or path:VERTICES";

/// The two directions of every edge must be countable in 32 bits.
const MOST_EDGES: u128 = u32::MAX as u128 / 2 - 1;
const MOST_VERTICES: u128 = u32::MAX as u128;

/// A family and its parameters: one undirected, unweighted graph per seed.
///
/// Its textual form is one of `grid:100x100`, `geometric:1000:0.05`,
/// `barabasi-albert:1000:3`, `erdos-renyi:1000:0.01`, `star:100`, `ring:100`,
/// `complete:50`, `path:10`; [`parse`](Self::parse) reads it and `Display`
/// writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// A rectangle of vertices, each joined to those above, below, left and
    /// right of it. Numbered row by row.
    Grid {
        /// Vertices in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Points drawn uniformly from the unit square, joined if their distance is at most the radius.
    /// Vertices near each other in the square get near numbers.
    Geometric {
        /// The number of points.
        vertices: usize,
        /// The largest distance between two joined points.
        radius: f64,
    },
    /// Preferential attachment: a star of `links` edges grows by vertices that each join `links`
    /// distinct vertices, chosen with probability proportional to their degrees. Has `links *
    /// (vertices - links)` edges.
    BarabasiAlbert {
        /// The final number of vertices.
        vertices: usize,
        /// The edges that a new vertex brings; at least 1, fewer than `vertices`.
        links: usize,
    },
    /// Every pair is joined with the same probability, independently.
    ErdosRenyi {
        /// The number of vertices.
        vertices: usize,
        /// The probability of an edge.
        probability: f64,
    },
    /// Vertex 0 joined to all others.
    Star {
        /// The number of other vertices.
        leaves: usize,
    },
    /// A cycle. With two vertices it is a single edge, with one it has no edge.
    Ring {
        /// The number of vertices.
        vertices: usize,
    },
    /// Every pair joined.
    Complete {
        /// The number of vertices.
        vertices: usize,
    },
    /// Each vertex joined to the next.
    Path {
        /// The number of vertices.
        vertices: usize,
    },
}

/// A generated graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The graph.
    pub graph: Graph,
    /// The position of each vertex, in planar families.
    pub coordinates: Option<Vec<[f64; 2]>>,
}

/// A growing edge list.
#[derive(Debug, Default)]
pub(super) struct Edges {
    pub sources: Vec<u32>,
    pub targets: Vec<u32>,
}

impl Edges {
    pub fn push(&mut self, source: usize, target: usize) {
        // Vertex numbers are below `MOST_VERTICES`.
        self.sources.push(source as u32);
        self.targets.push(target as u32);
    }

    pub fn reserve(&mut self, edges: usize) {
        self.sources.reserve_exact(edges);
        self.targets.reserve_exact(edges);
    }
}

impl Family {
    /// Parses the textual form and checks the parameters.
    pub fn parse(text: &str) -> Result<Self> {
        let unknown = || Error::malformed(Place::file("synthetic graph"), FORMS, quote(text.as_bytes()));
        let family = Self::read(text).ok_or_else(unknown)?;
        family.validate()?;
        Ok(family)
    }

    fn read(text: &str) -> Option<Self> {
        fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        let (kind, parameters) = text.split_once(':')?;
        let separator = if kind == "grid" { 'x' } else { ':' };
        let parameters: Vec<&str> = parameters.split(separator).collect();
        Some(match (kind, parameters.as_slice()) {
            ("grid", [width, height]) => Self::Grid { width: number(width)?, height: number(height)? },
            ("geometric", [vertices, radius]) => {
                Self::Geometric { vertices: number(vertices)?, radius: number(radius)? }
            }
            ("barabasi-albert", [vertices, links]) => {
                Self::BarabasiAlbert { vertices: number(vertices)?, links: number(links)? }
            }
            ("erdos-renyi", [vertices, probability]) => {
                Self::ErdosRenyi { vertices: number(vertices)?, probability: number(probability)? }
            }
            ("star", [leaves]) => Self::Star { leaves: number(leaves)? },
            ("ring", [vertices]) => Self::Ring { vertices: number(vertices)? },
            ("complete", [vertices]) => Self::Complete { vertices: number(vertices)? },
            ("path", [vertices]) => Self::Path { vertices: number(vertices)? },
            _ => return None,
        })
    }

    /// Checks that the parameters are valid and the graph is not too large.
    pub fn validate(&self) -> Result<()> {
        let place = || Place::file(self.to_string());
        let wrong = |expected: &str, found: String| Err(Error::malformed(place(), expected, found));
        match *self {
            Self::Geometric { radius, .. } if !(radius.is_finite() && radius >= 0.0) => {
                return wrong("a finite radius of at least 0", radius.to_string());
            }
            Self::ErdosRenyi { probability, .. } if !(0.0..=1.0).contains(&probability) => {
                return wrong("a probability from 0 to 1", probability.to_string());
            }
            Self::BarabasiAlbert { vertices, links } if links == 0 || links >= vertices => {
                return wrong("at least 1 link and more vertices than links", links.to_string());
            }
            _ => {}
        }
        let at_most = |limit: u128, what, found: u128| {
            if found > limit {
                let [limit, found] = [limit, found].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
                Err(Error::TooLarge { place: place(), what, limit, found })
            } else {
                Ok(())
            }
        };
        at_most(MOST_VERTICES, "the number of vertices", self.num_vertices())?;
        at_most(MOST_EDGES, "the number of edges", self.num_edges())
    }

    fn num_vertices(&self) -> u128 {
        match *self {
            Self::Grid { width, height } => width as u128 * height as u128,
            Self::Star { leaves } => leaves as u128 + 1,
            Self::Geometric { vertices, .. }
            | Self::BarabasiAlbert { vertices, .. }
            | Self::ErdosRenyi { vertices, .. }
            | Self::Ring { vertices }
            | Self::Complete { vertices }
            | Self::Path { vertices } => vertices as u128,
        }
    }

    /// The number of edges; for random families, the expected number. The parameters must have
    /// passed the other checks of [`validate`](Self::validate).
    fn num_edges(&self) -> u128 {
        let vertices = self.num_vertices();
        let pairs = vertices * vertices.saturating_sub(1) / 2;
        match *self {
            Self::Grid { width, height } => {
                let [width, height] = [width as u128, height as u128];
                width * height.saturating_sub(1) + height * width.saturating_sub(1)
            }
            Self::Geometric { radius, .. } => {
                // The probability that two points of the unit square lie within the radius; exact
                // up to 1.
                let r = radius.min(1.0);
                let near = r * r * (std::f64::consts::PI - r * 8.0 / 3.0 + r * r / 2.0);
                (pairs as f64 * near) as u128
            }
            Self::BarabasiAlbert { links, .. } => links as u128 * (vertices - links as u128),
            Self::ErdosRenyi { probability, .. } => (pairs as f64 * probability) as u128,
            Self::Star { leaves } => leaves as u128,
            Self::Ring { .. } if vertices > 2 => vertices,
            Self::Ring { .. } | Self::Path { .. } => vertices.saturating_sub(1),
            Self::Complete { .. } => pairs,
        }
    }

    /// Generates the graph of a seed, which only random families use.
    pub fn generate(&self, seed: u64) -> Result<Generated> {
        self.validate()?;
        let num_vertices = self.num_vertices() as usize;
        let mut edges = Edges::default();
        edges.reserve(self.num_edges() as usize);
        let stream = |purpose| Stream::new(seed, purpose, [0, 0]);
        let mut coordinates = None;
        match *self {
            Self::Grid { width, height } => {
                // There may be many rows without vertices.
                let height = if width == 0 { 0 } else { height };
                grid(width, height, &mut edges);
                let places = (0..height).flat_map(|y| (0..width).map(move |x| [x as f64, y as f64]));
                coordinates = Some(places.collect());
            }
            Self::Geometric { vertices, radius } => {
                let points = random::points(vertices, radius, &mut stream("random geometric"));
                random::join_near(&points, radius, &mut edges);
                coordinates = Some(points.into_places());
            }
            Self::BarabasiAlbert { vertices, links } => {
                random::barabasi_albert(vertices, links, &mut stream("barabasi-albert"), &mut edges);
            }
            Self::ErdosRenyi { vertices, probability } => {
                random::erdos_renyi(vertices, probability, &mut stream("erdos-renyi"), &mut edges);
            }
            Self::Star { leaves } => (1..=leaves).for_each(|leaf| edges.push(0, leaf)),
            Self::Ring { vertices } => {
                path(vertices, &mut edges);
                if vertices > 2 {
                    edges.push(vertices - 1, 0);
                }
            }
            Self::Complete { vertices } => {
                (0..vertices).for_each(|v| (0..v).for_each(|u| edges.push(u, v)));
            }
            Self::Path { vertices } => path(vertices, &mut edges),
        }
        let graph = Graph::new(&EdgeList::new(num_vertices, &edges.sources, &edges.targets))
            .map_err(|source| Error::Graph { place: Place::file(self.to_string()), source })?;
        Ok(Generated { graph, coordinates })
    }
}

fn path(vertices: usize, edges: &mut Edges) {
    (1..vertices).for_each(|v| edges.push(v - 1, v));
}

fn grid(width: usize, height: usize, edges: &mut Edges) {
    for y in 0..height {
        for x in 0..width {
            let v = y * width + x;
            if x + 1 < width {
                edges.push(v, v + 1);
            }
            if y + 1 < height {
                edges.push(v, v + width);
            }
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grid { width, height } => write!(f, "grid:{width}x{height}"),
            Self::Geometric { vertices, radius } => write!(f, "geometric:{vertices}:{radius}"),
            Self::BarabasiAlbert { vertices, links } => write!(f, "barabasi-albert:{vertices}:{links}"),
            Self::ErdosRenyi { vertices, probability } => write!(f, "erdos-renyi:{vertices}:{probability}"),
            Self::Star { leaves } => write!(f, "star:{leaves}"),
            Self::Ring { vertices } => write!(f, "ring:{vertices}"),
            Self::Complete { vertices } => write!(f, "complete:{vertices}"),
            Self::Path { vertices } => write!(f, "path:{vertices}"),
        }
    }
}

#[cfg(test)]
mod tests;
