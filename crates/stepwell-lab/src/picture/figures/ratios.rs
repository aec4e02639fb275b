//! The speed-up of pooled models over the unpooled model.

use super::key::{self, Entry, Glyph};
use super::marks::mark;
use super::{GREY, architecture};
use crate::picture::Picture;
use crate::picture::axes::{Plot, Scale};
use crate::picture::colour;
use crate::picture::svg::{Number, Svg, shortened};
use crate::results::POOLS;

/// A pooled model on a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatioRow {
    /// The dataset.
    pub dataset: String,
    /// The pooling.
    pub pool: String,
    /// Blocks.
    pub blocks: usize,
    /// Seconds without pooling divided by seconds with it.
    pub ours: Option<f64>,
    /// The same in the paper.
    pub paper: Option<f64>,
}

const ROW: f64 = 24.0;

/// Draws a row of marks for each dataset, and a plot for each number of blocks.
pub fn ratios(title: &str, rows: &[RatioRow]) -> Picture {
    let mut datasets: Vec<&str> = Vec::new();
    let mut blocks: Vec<usize> = Vec::new();
    for row in rows {
        if !datasets.contains(&row.dataset.as_str()) {
            datasets.push(&row.dataset);
        }
        if !blocks.contains(&row.blocks) {
            blocks.push(row.blocks);
        }
    }
    blocks.sort_unstable();
    let (left, head, wide) = (132.0, 74.0, 440.0);
    let height = ROW * datasets.len().max(1) as f64;
    let width = left + blocks.len().max(1) as f64 * (wide + 24.0);
    let mut entries: Vec<Entry> = POOLS
        .iter()
        .enumerate()
        .skip(1)
        .map(|(index, pool)| Entry::series(index, Glyph::Mark(index), pool))
        .collect();
    entries.push(Entry::note(Glyph::Mark(0), "filled: ours"));
    entries.push(Entry::note(Glyph::Hollow(0), "hollow: the paper's"));
    entries.push(Entry::note(Glyph::Line(""), "1: as fast as no pooling"));
    let bottom = head + height + 44.0;
    let description = format!("Seconds without pooling over seconds with it, on {} datasets", datasets.len());
    let mut svg = Svg::new((width, bottom + key::height(&entries, width)), title, &description);
    svg.label((16.0, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (line, dataset) in datasets.iter().enumerate() {
        let y = head + ROW * (line as f64 + 0.5) + 4.0;
        svg.label((left - 10.0, y), "end", &shortened(dataset, 18));
    }
    let values = rows.iter().flat_map(|row| [row.ours, row.paper]).flatten();
    let scale = Scale::log(values.chain([1.0]));
    for (index, &blocks) in blocks.iter().enumerate() {
        let plot = Plot {
            left: left + index as f64 * (wide + 24.0),
            top: head,
            width: wide,
            height,
            x: scale,
            // Rows are identified by names, not by numbers.
            y: Scale::Linear(0.0, 0.0),
        };
        plot.draw(&mut svg, &format!("{blocks} blocks"));
        svg.open("g", &[("color", &GREY)]);
        let one = Number(plot.to_x(1.0));
        let (top, end) = (Number(head), Number(head + height));
        svg.stroke(&format!("M{one} {top}V{end}"), 1.6, "", "as fast as no pooling");
        svg.close();
        for row in rows.iter().filter(|row| row.blocks == blocks) {
            let line = datasets.iter().position(|name| *name == row.dataset).expect("listed above");
            draw_row(&mut svg, row, &plot, head + ROW * (line as f64 + 0.5));
        }
    }
    svg.label((left, bottom - 4.0), "faint", "times as fast as no pooling");
    key::draw(&mut svg, &entries, width, bottom);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn draw_row(svg: &mut Svg, row: &RatioRow, plot: &Plot, y: f64) {
    let series = architecture(&row.pool);
    svg.marks(&colour::category(series), series);
    for (value, who, fill) in [(row.paper, "in the paper", "none"), (row.ours, "here", "currentColor")] {
        let Some(value) = value else { continue };
        let path = mark(series, (plot.to_x(value), y), 5.0);
        let text = format!("{}, {}: {value:.2} times as fast {who}", row.dataset, row.pool);
        svg.outlined(&path, fill, "currentColor", 1.6, &text);
    }
    svg.close();
}
