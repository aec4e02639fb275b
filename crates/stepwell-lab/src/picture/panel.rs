//! Draws one graph in a rectangle of the picture, with a few lines of text above it.

use std::collections::BTreeMap;
use std::fmt::Write;

use stepwell::graph::GraphRef;

use super::layout::bounds;
use super::molecule::{Molecule, Order};
use super::svg::{Attributes, Number, Svg, Value, shortened};

/// The most edges drawn; of more, the strongest.
const MOST_EDGES: usize = 12_000;

/// Width of a panel.
const WIDTH: f64 = 320.0;

/// The margin around the graph in it.
const MARGIN: f64 = 16.0;

/// The gap between panels.
const GAP: f64 = 24.0;

/// The height of the text above the graph.
const HEAD: f64 = 62.0;

/// The most panels in a row.
const MOST_IN_ROW: usize = 3;

/// A graph to draw.
pub(super) struct Panel<'a> {
    pub graph: GraphRef<'a>,
    pub places: &'a [[f64; 2]],
    /// The heading, then lines of details.
    pub heading: String,
    pub lines: [String; 2],
    pub vertices: Vec<Vertex>,
    /// Groups of vertices, with the class of their colour.
    pub clusters: Vec<(String, Vec<u32>)>,
    /// The atoms, if the graph is a molecule.
    pub molecule: Option<&'a Molecule>,
}

/// The appearance of a vertex.
pub(super) struct Vertex {
    /// Vertices of one series can be hidden together.
    pub series: Option<usize>,
    /// The class of its colour.
    pub class: String,
    pub hollow: bool,
    /// Its size relative to the others.
    pub scale: f64,
    pub text: String,
}

/// Panels side by side, which all show the same part of the plane.
pub(super) struct Panels {
    /// The smallest and the largest coordinates.
    low: [f64; 2],
    high: [f64; 2],
    /// Height of each graph.
    height: f64,
    columns: usize,
    rows: usize,
    top: f64,
}

impl Panels {
    /// One panel per list of positions, starting at `top`.
    pub fn new<'a>(all: impl IntoIterator<Item = &'a [[f64; 2]]>, top: f64) -> Self {
        let all: Vec<_> = all.into_iter().collect();
        let corners: Vec<[f64; 2]> = all
            .iter()
            .filter(|places| !places.is_empty())
            .flat_map(|places| <[[f64; 2]; 2]>::from(bounds(places)))
            .collect();
        let (low, high) = bounds(&corners);
        let (wide, tall) = (high[0] - low[0], high[1] - low[1]);
        let inside = WIDTH - 2.0 * MARGIN;
        let height = if wide > tall { inside * tall / wide } else { inside };
        let columns = all.len().clamp(1, MOST_IN_ROW);
        Self {
            low,
            high,
            height: height.max(0.3 * inside).ceil() + 2.0 * MARGIN,
            columns,
            rows: all.len().div_ceil(columns).max(1),
            top,
        }
    }

    /// The width and height of all panels together.
    pub fn size(&self) -> (f64, f64) {
        let bottom = self.top + self.rows as f64 * (HEAD + self.height + GAP);
        (GAP + self.columns as f64 * (WIDTH + GAP), bottom)
    }

    fn corner(&self, index: usize) -> (f64, f64) {
        let (row, column) = (index / self.columns, index % self.columns);
        (GAP + column as f64 * (WIDTH + GAP), self.top + row as f64 * (HEAD + self.height + GAP))
    }

    /// Draws one panel.
    pub fn draw(&self, svg: &mut Svg, index: usize, panel: &Panel<'_>) {
        panel.draw(svg, self.corner(index), self);
    }
}

impl Panel<'_> {
    /// Draws the panel with its upper left corner at `(left, top)`.
    fn draw(&self, svg: &mut Svg, (left, top): (f64, f64), all: &Panels) {
        svg.label((left, top + 14.0), "heading", &shortened(&self.heading, 40));
        for (line, y) in self.lines.iter().zip([32.0, 48.0]).filter(|(line, _)| !line.is_empty()) {
            svg.label((left, top + y), "faint", &shortened(line, 54));
        }
        let top = top + HEAD;
        svg.rect("frame", (left, top), (WIDTH, all.height));
        svg.window((left, top), (WIDTH, all.height));
        // Symbols need space.
        let larger = if self.molecule.is_some() { 1.3 } else { 1.0 };
        let radius = larger * radius(self.graph.num_vertices());
        let places = self.on_paper((left, top), all);
        svg.open("g", &[("class", &"lines")]);
        self.draw_clusters(svg, &places, radius);
        match self.molecule {
            Some(molecule) => self.draw_bonds(svg, &places, molecule),
            None => self.draw_edges(svg, &places),
        }
        svg.close();
        self.draw_vertices(svg, &places, radius);
        if let Some(molecule) = self.molecule {
            for (atom, [x, y]) in places.iter().enumerate() {
                if let Some(symbol) = molecule.written(atom) {
                    svg.label((*x, y + 4.0), "atom halo middle", symbol);
                    svg.label((*x, y + 4.0), "atom middle", symbol);
                }
            }
        }
        svg.close();
    }

    /// The positions of the vertices in the picture.
    fn on_paper(&self, (left, top): (f64, f64), all: &Panels) -> Vec<[f64; 2]> {
        let Panels { low, high, height, .. } = *all;
        let extent =
            (high[0] - low[0]).max((high[1] - low[1]) * (WIDTH - 2.0 * MARGIN) / (height - 2.0 * MARGIN));
        let scale = if extent > 0.0 { (WIDTH - 2.0 * MARGIN) / extent } else { 1.0 };
        let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
        let to = |place: &[f64; 2]| {
            let x = left + WIDTH / 2.0 + scale * (place[0] - middle[0]);
            // Coordinates grow upwards, pictures downwards.
            [x, top + height / 2.0 - scale * (place[1] - middle[1])]
        };
        self.places.iter().map(to).collect()
    }

    /// Draws a patch for each cluster: along its edges, and thinner links where no edge joins its
    /// parts.
    fn draw_clusters(&self, svg: &mut Svg, places: &[[f64; 2]], radius: f64) {
        let mut of = vec![usize::MAX; places.len()];
        for (index, (_, members)) in self.clusters.iter().enumerate() {
            members.iter().for_each(|&member| of[member as usize] = index);
        }
        let (wide, narrow) = (2.0 * radius + (2.0 * radius).min(9.0), 0.6 * radius + 1.0);
        for (index, (class, members)) in self.clusters.iter().enumerate() {
            let (mut along, mut across) = (String::new(), String::new());
            let mut seen: Vec<u32> = Vec::new();
            for &first in members {
                if seen.contains(&first) {
                    continue;
                }
                if let Some(near) = nearest(places, first, &seen) {
                    line(&mut across, places[first as usize], places[near as usize]);
                }
                // All vertices that edges inside the cluster reach.
                let mut next = seen.len();
                seen.push(first);
                let [x, y] = places[first as usize];
                let _ = write!(along, "M{} {}h0", Number(x), Number(y));
                while let Some(&member) = seen.get(next) {
                    next += 1;
                    for &other in self.graph.neighbours(member as usize) {
                        if of[other as usize] != index || other == member {
                            continue;
                        }
                        if other > member {
                            line(&mut along, places[member as usize], places[other as usize]);
                        }
                        if !seen.contains(&other) {
                            seen.push(other);
                        }
                    }
                }
            }
            let class = format!("blob {class}");
            svg.leaf("path", &[("class", &class), ("d", &along), ("stroke-width", &wide)]);
            if !across.is_empty() {
                svg.leaf("path", &[("class", &class), ("d", &across), ("stroke-width", &narrow)]);
            }
        }
    }

    fn draw_edges(&self, svg: &mut Svg, places: &[[f64; 2]]) {
        let directed = self.graph.is_directed();
        let mut edges: Vec<(usize, usize, f64)> = self
            .graph
            .entries()
            .filter(|(row, column, _)| row < column || (directed && row > column))
            .collect();
        if edges.len() > MOST_EDGES {
            edges.sort_by(|a, b| b.2.total_cmp(&a.2));
            edges.truncate(MOST_EDGES);
        }
        let most = edges.iter().fold(0.0, |most: f64, edge| most.max(edge.2));
        // Strong edges come last, so that they lie on top.
        let strengths = [(0.0, 0.25, 0.7), (0.1, 0.5, 1.0), (0.5, 0.85, 1.4)];
        // The more edges there are, the fainter each is.
        let faint = (1200.0 / edges.len().max(1) as f64).clamp(0.3, 1.0);
        for (step, &(least, opacity, width)) in strengths.iter().enumerate() {
            let below = strengths.get(step + 1).map_or(f64::INFINITY, |next| next.0);
            let mut path = String::new();
            for &(row, column, weight) in &edges {
                let share = if most > 0.0 { weight / most } else { 1.0 };
                if share >= least && share < below {
                    line(&mut path, places[row], places[column]);
                }
            }
            if !path.is_empty() {
                let strength: Attributes<'_> =
                    &[("stroke-opacity", &(faint * opacity)), ("stroke-width", &(width * faint.sqrt()))];
                svg.leaf("path", &[&[("class", &"edge" as &dyn Value), ("d", &path)], strength].concat());
            }
        }
    }

    /// Draws a line for each pair of electrons; the second line lies inside rings.
    fn draw_bonds(&self, svg: &mut Svg, places: &[[f64; 2]], molecule: &Molecule) {
        let (mut solid, mut dashed) = (String::new(), String::new());
        for bond in molecule.bonds() {
            let (a, b) = bond.ends;
            let (from, to) = (places[a], places[b]);
            let along = [to[0] - from[0], to[1] - from[1]];
            let length = (along[0] * along[0] + along[1] * along[1]).sqrt();
            let step = if length > 0.0 { (0.14 * length).min(4.5) / length } else { 0.0 };
            let across = [-along[1] * step, along[0] * step];
            let beside = |times: f64, shorter: f64| {
                let at = |place: [f64; 2], way: f64| {
                    [0, 1].map(|axis| place[axis] + times * across[axis] + way * shorter * along[axis])
                };
                (at(from, 1.0), at(to, -1.0))
            };
            // The positions of the other neighbours of both ends.
            let others = [(a, b), (b, a)].into_iter().flat_map(|(end, other)| {
                let near = self.graph.neighbours(end).iter().map(|&vertex| vertex as usize);
                near.filter(move |&vertex| vertex != other && vertex != end).map(move |vertex| (end, vertex))
            });
            let side: f64 = others
                .map(|(end, vertex)| {
                    let [x, y] = [0, 1].map(|axis| places[vertex][axis] - places[end][axis]);
                    x * across[0] + y * across[1]
                })
                .sum();
            let inside = if side < 0.0 { -1.0 } else { 1.0 };
            let draw = |path: &mut String, times: f64, shorter: f64| {
                let (from, to) = beside(times, shorter);
                line(path, from, to);
            };
            match bond.order {
                Order::Single => draw(&mut solid, 0.0, 0.0),
                Order::Double if [a, b].iter().any(|&end| self.graph.neighbours(end).len() == 1) => {
                    [-0.5, 0.5].into_iter().for_each(|times| draw(&mut solid, times, 0.0));
                }
                Order::Double => {
                    draw(&mut solid, 0.0, 0.0);
                    draw(&mut solid, inside, 0.12);
                }
                Order::Triple => [-1.0, 0.0, 1.0].into_iter().for_each(|times| draw(&mut solid, times, 0.0)),
                Order::Aromatic => {
                    draw(&mut solid, 0.0, 0.0);
                    draw(&mut dashed, inside, 0.12);
                }
            }
        }
        for (path, class) in [(solid, "edge bond"), (dashed, "edge bond dashed")] {
            if !path.is_empty() {
                svg.leaf("path", &[("class", &class), ("d", &path)]);
            }
        }
    }

    fn draw_vertices(&self, svg: &mut Svg, places: &[[f64; 2]], radius: f64) {
        let mut groups: BTreeMap<(&str, bool), Vec<usize>> = BTreeMap::new();
        for (index, vertex) in self.vertices.iter().enumerate() {
            groups.entry((&vertex.class, !vertex.hollow)).or_default().push(index);
        }
        for ((colour, filled), members) in groups {
            let hollow = if filled { "" } else { " hollow" };
            let fine = if radius < 2.5 { " fine" } else { "" };
            let class = format!("vertex{hollow}{fine} {colour}");
            match self.vertices[members[0]].series {
                Some(series) => svg.marks(&class, series),
                None => svg.open("g", &[("class", &format_args!("marks {class}"))]),
            }
            for member in members {
                let ([x, y], vertex) = (places[member], &self.vertices[member]);
                svg.titled(
                    "circle",
                    &[("cx", &x), ("cy", &y), ("r", &(radius * vertex.scale))],
                    &vertex.text,
                );
            }
            svg.close();
        }
    }

    /// The number of drawn edges and of all edges, if not all are drawn.
    pub fn strongest_only(&self) -> Option<(usize, usize)> {
        let edges = self.graph.num_edges();
        (edges > MOST_EDGES).then_some((MOST_EDGES, edges))
    }
}

fn radius(vertices: usize) -> f64 {
    match vertices {
        0..=60 => 5.5,
        61..=200 => 4.0,
        201..=800 => 2.8,
        801..=2500 => 2.0,
        _ => 1.5,
    }
}

/// The vertex among `some` that lies nearest to `from`.
fn nearest(places: &[[f64; 2]], from: u32, some: &[u32]) -> Option<u32> {
    let [x, y] = places[from as usize];
    let distance = |&vertex: &u32| {
        let [dx, dy] = [places[vertex as usize][0] - x, places[vertex as usize][1] - y];
        dx * dx + dy * dy
    };
    some.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn line(path: &mut String, from: [f64; 2], to: [f64; 2]) {
    let tenth = |x: f64| Number((x * 10.0).round() / 10.0);
    let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(tenth);
    // Writing to a string cannot fail.
    let _ = write!(path, "M{x1} {y1}L{x2} {y2}");
}
