//! Bar charts of the architectures, a group for every dataset. Each group has its own scale,
//! because architectures are compared, not datasets.

use super::GREY;
use super::key::{self, Entry, Glyph};
use crate::picture::Picture;
use crate::picture::colour;
use crate::picture::legend::short;
use crate::picture::svg::{Attributes, Svg, shortened};
use crate::results::POOLS;

/// The bars of a dataset, in the order of [`POOLS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarGroup {
    /// The dataset.
    pub name: String,
    /// The length of each bar, if known.
    pub bars: [Option<f64>; 4],
    /// Grey bars behind them.
    pub behind: Option<[Option<f64>; 4]>,
}

/// The width and height of a group, and the margin above it.
const SIZE: (f64, f64) = (232.0, 128.0);
const HEAD: f64 = 26.0;
const GAP: f64 = 22.0;
const IN_ROW: usize = 4;

/// Draws groups of bars. `what` is the quantity shown; `in_front` and `behind` describe the
/// coloured and the grey bars.
pub fn bars(title: &str, what: &str, in_front: &str, behind: &str, groups: &[BarGroup]) -> Picture {
    let columns = groups.len().clamp(1, IN_ROW);
    let rows = groups.len().div_ceil(columns).max(1);
    let width = (GAP + columns as f64 * (SIZE.0 + GAP)).max(420.0);
    let top = 40.0;
    let bottom = top + rows as f64 * (HEAD + SIZE.1 + GAP);
    let mut entries = vec![Entry::note(Glyph::Nothing, &format!("{what}, {in_front}:"))];
    entries.extend(POOLS.iter().enumerate().map(|(index, pool)| Entry::series(index, Glyph::Bar, pool)));
    if groups.iter().any(|group| group.behind.is_some()) {
        entries.push(Entry::note(Glyph::Bar, behind));
    }
    let description = format!("{what} of four architectures on {} datasets", groups.len());
    let mut svg = Svg::new((width, bottom + key::height(&entries, width)), title, &description);
    svg.label((GAP, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (index, group) in groups.iter().enumerate() {
        let left = GAP + (index % columns) as f64 * (SIZE.0 + GAP);
        draw_group(&mut svg, group, (left, top + (index / columns) as f64 * (HEAD + SIZE.1 + GAP) + HEAD));
    }
    key::draw(&mut svg, &entries, width, bottom);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn draw_group(svg: &mut Svg, group: &BarGroup, (left, top): (f64, f64)) {
    let known = |values: &[Option<f64>; 4]| values.iter().flatten().copied().fold(0.0, f64::max);
    let most = known(&group.bars).max(group.behind.as_ref().map_or(0.0, known));
    let (room, floor) = (SIZE.0 / 4.0, top + SIZE.1);
    // The number stands above its bar.
    let high = |value: f64| if most > 0.0 { (SIZE.1 - 22.0) * (value / most).clamp(0.0, 1.0) } else { 0.0 };
    svg.label((left, top - 8.0), "heading", &shortened(&group.name, 30));
    let bar = |svg: &mut Svg, column: usize, share: f64, value: f64, fill: &str, text: &str| {
        let (wide, tall) = (share * room, high(value));
        let (x, y) = (left + room * (column as f64 + 0.5) - wide / 2.0, floor - tall);
        let size: Attributes<'_> =
            &[("x", &x), ("y", &y), ("width", &wide), ("height", &tall), ("fill", &fill)];
        svg.titled("rect", size, text);
    };
    let behind = group.behind.unwrap_or_default();
    svg.open("g", &[("class", &"marks")]);
    for (column, (pool, value)) in POOLS.iter().zip(behind).enumerate() {
        if let Some(value) = value {
            bar(svg, column, 0.8, value, GREY, &format!("{}\n{pool}, with 2 blocks\n{value:.3}", group.name));
        }
    }
    svg.close();
    for (column, (pool, value)) in POOLS.iter().zip(group.bars).enumerate() {
        let Some(value) = value else { continue };
        svg.marks(&colour::category(column), column);
        let share = if group.behind.is_some() { 0.46 } else { 0.7 };
        bar(svg, column, share, value, "currentColor", &format!("{}\n{pool}\n{value:.3}", group.name));
        svg.close();
    }
    for (column, (value, grey)) in group.bars.into_iter().zip(behind).enumerate() {
        let tallest = [value, grey].into_iter().flatten().fold(0.0, f64::max);
        let place = (left + room * (column as f64 + 0.5), floor - high(tallest) - 5.0);
        match value {
            Some(value) => svg.label(place, "middle", &short(value)),
            None => svg.label(place, "faint middle", "missing"),
        }
    }
    svg.rect("frame", (left, top), SIZE);
}
