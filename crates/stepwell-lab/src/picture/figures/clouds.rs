//! Embeddings as points, the architectures side by side (paper §6.4).

use stepwell_data::counted;

use super::key::{self, Entry, Glyph};
use super::marks::add_mark;
use crate::picture::Picture;
use crate::picture::axes::{Plot, Scale};
use crate::picture::colour;
use crate::picture::svg::{Svg, shortened};

/// A dataset's graphs as points, once for each architecture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudRow {
    /// The dataset.
    pub name: String,
    /// The names of its classes.
    pub classes: Vec<String>,
    /// The class of each graph.
    pub of: Vec<usize>,
    /// The architectures; empty if there is nothing to draw.
    pub clouds: Vec<Cloud>,
}

/// One architecture's points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// The architecture.
    pub name: String,
    /// The position of each graph.
    pub points: Vec<[f64; 2]>,
}

/// Side of a panel.
const SIDE: f64 = 220.0;
const GAP: f64 = 12.0;
const HEAD: f64 = 30.0;
const NAMES: f64 = 34.0;

/// Draws a row of panels for each dataset.
pub fn clouds(title: &str, rows: &[CloudRow]) -> Picture {
    let columns = rows.iter().map(|row| row.clouds.len()).max().unwrap_or(0).max(1);
    let width = NAMES + columns as f64 * (SIDE + GAP) + GAP;
    let top = 40.0;
    let bottom = top + rows.len().max(1) as f64 * (HEAD + SIDE);
    let most = rows.iter().map(|row| row.classes.len()).max().unwrap_or(0);
    let mut entries = vec![Entry::note(Glyph::Nothing, "class:")];
    // If datasets name their classes differently, the classes are numbered.
    let agreed = rows.windows(2).all(|pair| pair[0].classes == pair[1].classes);
    entries.extend((0..most).map(|class| {
        let name = rows.first().and_then(|row| row.classes.get(class)).filter(|_| agreed);
        let name = name.map_or_else(|| format!("no. {}", class + 1), |name| shortened(name, 24));
        Entry::series(class, Glyph::Mark(class), &name)
    }));
    let description = format!("Graphs of {} datasets as points, coloured by class", rows.len());
    let mut svg = Svg::new((width, bottom + 12.0 + key::height(&entries, width)), title, &description);
    svg.label((16.0, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (index, row) in rows.iter().enumerate() {
        let up = top + HEAD + index as f64 * (HEAD + SIDE);
        svg.upright((24.0, up + SIDE / 2.0), "heading middle", &shortened(&row.name, 26));
        for (column, cloud) in row.clouds.iter().enumerate() {
            draw_cloud(&mut svg, row, cloud, (NAMES + column as f64 * (SIDE + GAP), up));
        }
    }
    key::draw(&mut svg, &entries, width, bottom + 12.0);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn draw_cloud(svg: &mut Svg, row: &CloudRow, cloud: &Cloud, (left, top): (f64, f64)) {
    let inside = |axis: usize| {
        let (low, high) = bulk(cloud.points.iter().map(|point| point[axis]));
        Scale::Linear(low, high)
    };
    let plot = Plot { left, top, width: SIDE, height: SIDE, x: inside(0), y: inside(1) };
    let mut outside = 0;
    for (class, name) in row.classes.iter().enumerate() {
        let mut path = String::new();
        let mut count = 0;
        for (point, _) in cloud.points.iter().zip(&row.of).filter(|(_, of)| **of == class) {
            count += 1;
            let (x, y) = (plot.to_x(point[0]), plot.to_y(point[1]));
            let fits =
                (left + 4.0..=left + SIDE - 4.0).contains(&x) && (top + 4.0..=top + SIDE - 4.0).contains(&y);
            if fits {
                add_mark(&mut path, class, (tenth(x), tenth(y)), 2.2);
            } else {
                outside += 1;
            }
        }
        svg.marks(&colour::category(class), class);
        let (dataset, name) = (shortened(&row.name, 60), shortened(name, 40));
        let text = format!("{dataset}, {}\nclass {name}: {}", cloud.name, counted(count, "graph"));
        svg.titled("path", &[("d", &path), ("fill-opacity", &0.6)], &text);
        svg.close();
    }
    svg.rect("frame", (left, top), (SIDE, SIDE));
    let few = if outside > 0 { format!(" ({outside} outside)") } else { String::new() };
    svg.label((left, top - 6.0), "faint", &format!("{}{few}", cloud.name));
}

fn tenth(x: f64) -> f64 {
    (10.0 * x).round() / 10.0
}

/// The range of almost all values, with a margin; a few outliers would compress the others into a
/// spot.
fn bulk(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 100;
    match (sorted.get(cut), sorted.get(sorted.len().saturating_sub(cut + 1))) {
        (Some(&low), Some(&high)) if low < high => (low - 0.15 * (high - low), high + 0.15 * (high - low)),
        (Some(&low), _) => (low - 1.0, low + 1.0),
        _ => (-1.0, 1.0),
    }
}
