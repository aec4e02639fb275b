//! How graphs of the benchmark are generated: points, then edges (paper §6.1).

use std::fmt::Write;

use stepwell_data::Dataset;

use super::key::{self, Entry, Glyph};
use super::marks::mark;
use crate::picture::Picture;
use crate::picture::colour;
use crate::picture::layout::bounds;
use crate::picture::svg::{Number, Svg, shortened};

/// Width and height of a panel.
const SIZE: (f64, f64) = (250.0, 150.0);
const GAP: f64 = 12.0;

/// Draws the first graph of each class of datasets with vertex coordinates: a row of points, and a
/// row of graphs.
pub fn benchmark(title: &str, datasets: &[Dataset]) -> Picture {
    let examples: Vec<Vec<usize>> = datasets.iter().map(first_of_each_class).collect();
    let columns = examples.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let (head, top, side) = (34.0, 40.0, 24.0);
    let width = 2.0 * side + columns as f64 * (SIZE.0 + GAP);
    let each = head + 2.0 * (SIZE.1 + GAP) + 14.0;
    let bottom = top + datasets.len().max(1) as f64 * each;
    let mut entries = vec![Entry::note(Glyph::Nothing, "colour of a vertex:")];
    entries.extend((0..5).map(|index| Entry::series(index, Glyph::Mark(index), &(index + 1).to_string())));
    let description = "Point clouds and graphs of the classes of the benchmark";
    let mut svg = Svg::new((width, bottom + key::height(&entries, width)), title, description);
    svg.label((side, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (index, (dataset, graphs)) in datasets.iter().zip(&examples).enumerate() {
        let up = top + index as f64 * each;
        for (column, &graph) in graphs.iter().enumerate() {
            let left = side + column as f64 * (SIZE.0 + GAP);
            let heading = format!("{}, class {}", shortened(&dataset.name, 20), class_name(dataset, graph));
            svg.label((left, up + 24.0), "heading", &heading);
            draw_graph(&mut svg, dataset, graph, (left, up + head), false);
            draw_graph(&mut svg, dataset, graph, (left, up + head + SIZE.1 + GAP), true);
        }
    }
    key::draw(&mut svg, &entries, width, bottom);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn first_of_each_class(dataset: &Dataset) -> Vec<usize> {
    let Some((of, names)) = dataset.targets.classes() else { return Vec::new() };
    (0..names.len().min(3)).filter_map(|class| of.iter().position(|found| *found == class)).collect()
}

fn class_name(dataset: &Dataset, graph: usize) -> String {
    let classes = dataset.targets.classes();
    let name = classes.and_then(|(of, names)| names.get(*of.get(graph)?).cloned());
    shortened(&name.unwrap_or_default(), 12)
}

fn draw_graph(svg: &mut Svg, dataset: &Dataset, index: usize, (left, top): (f64, f64), with_edges: bool) {
    let graph = dataset.graphs.graph(index);
    let offsets = dataset.graphs.vertex_offsets();
    let known = dataset.coordinates.as_ref().and_then(|all| all.get(offsets[index]..offsets[index + 1]));
    svg.rect("frame", (left, top), SIZE);
    let Some(known) = known else { return };
    let (low, high) = bounds(known);
    let room = (SIZE.0 - 24.0, SIZE.1 - 24.0);
    // The generator scaled each axis by its own largest value.
    let scale = [room.0 / (high[0] - low[0]).max(1e-9), room.1 / (high[1] - low[1]).max(1e-9)];
    let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
    let place = |vertex: usize| {
        let [x, y] = known[vertex];
        (left + SIZE.0 / 2.0 + scale[0] * (x - middle[0]), top + SIZE.1 / 2.0 - scale[1] * (y - middle[1]))
    };
    if with_edges {
        let mut path = String::new();
        for (from, to, _) in graph.entries().filter(|(from, to, _)| from < to) {
            let ((a, b), (c, d)) = (place(from), place(to));
            let _ = write!(path, "M{} {}L{} {}", Number(a), Number(b), Number(c), Number(d));
        }
        svg.leaf("path", &[("class", &"edge"), ("d", &path), ("stroke-width", &0.7)]);
    }
    // The colour is the attribute that equals 1.
    let (rows, width) = graph.vertex_attributes().unwrap_or_default();
    let colour_of = |vertex: usize| {
        let row = rows.get(vertex * width..(vertex + 1) * width).unwrap_or_default();
        row.iter().position(|x| *x > 0.5).unwrap_or_default()
    };
    for colour in 0..5 {
        svg.marks(&format!("mark {}", colour::category(colour)), colour);
        for vertex in (0..graph.num_vertices()).filter(|&vertex| colour_of(vertex) == colour) {
            let text = format!("vertex {vertex}\ncolour {}", colour + 1);
            svg.titled("path", &[("d", &mark(colour, place(vertex), 3.2))], &text);
        }
        svg.close();
    }
}
