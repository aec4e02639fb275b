//! The confusion matrix.

use super::key::{self, Entry, Glyph};
use crate::picture::Picture;
use crate::picture::colour;
use crate::picture::svg::{Attributes, Number, Svg, shortened, text_width};

/// Predicted and true classes, as indices of names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confusion<'a> {
    /// The names of the classes.
    pub names: &'a [String],
    /// The true class of each graph.
    pub expected: &'a [usize],
    /// The predicted class of each graph.
    pub found: &'a [usize],
}

/// The most classes with a row of their own: the largest classes.
const MOST: usize = 12;

/// Characters of a name.
const NAME: usize = 18;

/// The strongest shade of a cell, so that its number stays readable.
const DENSEST: f64 = 0.6;

const TOP: f64 = 54.0;

/// Counts whose rows and columns have the same names.
#[derive(Clone, Debug, Default, PartialEq)]
struct Grid {
    names: Vec<String>,
    counts: Vec<Vec<usize>>,
}

impl Grid {
    fn of(confusion: &Confusion<'_>) -> Self {
        let pairs = || confusion.expected.iter().copied().zip(confusion.found.iter().copied());
        let classes = pairs().map(|(a, b)| a.max(b) + 1).fold(confusion.names.len(), usize::max);
        let mut actual = vec![0; classes];
        pairs().for_each(|(expected, _)| actual[expected] += 1);
        let mut shown: Vec<usize> = (0..classes).collect();
        if classes > MOST {
            shown.sort_by_key(|&class| std::cmp::Reverse(actual[class]));
            shown.truncate(MOST);
            shown.sort_unstable();
        }
        let name = |&class: &usize| confusion.names.get(class).cloned().unwrap_or_else(|| class.to_string());
        let mut names: Vec<String> = shown.iter().map(name).collect();
        if classes > shown.len() {
            names.push("others".to_owned());
        }
        let place = |class: usize| shown.binary_search(&class).unwrap_or(shown.len());
        let mut counts = vec![vec![0; names.len()]; names.len()];
        pairs().for_each(|(expected, found)| counts[place(expected)][place(found)] += 1);
        Self { names, counts }
    }
}

/// Draws a row for each true class and a column for each predicted class, shaded by the share of
/// the row.
pub fn confusion(title: &str, confusion: &Confusion<'_>) -> Picture {
    let grid = Grid::of(confusion);
    let all = confusion.expected.len().min(confusion.found.len());
    let right = confusion.expected.iter().zip(confusion.found).filter(|(a, b)| a == b).count();
    let count = grid.names.len().max(1);
    let names: Vec<String> = grid.names.iter().map(|name| shortened(name, NAME)).collect();
    let widest = names.iter().map(|name| text_width(name, 12.0)).fold(0.0, f64::max);
    let left = 34.0 + widest;
    let side = ((340.0 - left) / count as f64).clamp(34.0, 110.0);
    let width = (left + count as f64 * side + 16.0).max(340.0);
    let floor = TOP + count as f64 * side;
    // Names wider than a column are vertical: slanted names would cross each other's rows.
    let is_turned = widest > side - 4.0;
    let room = if is_turned { 14.0 + widest } else { 18.0 };
    let bottom = floor + room + 28.0;
    let mut entries = vec![Entry::note(Glyph::Nothing, "shade: share of the row")];
    if grid.names.iter().any(|name| name == "others") && count > MOST {
        entries.push(Entry::note(Glyph::Nothing, &format!("the {MOST} largest classes, others together")));
    }
    let heading = if all > 0 {
        format!("{right} of {all} right ({:.1} %)", percent(right, all))
    } else {
        String::new()
    };
    let description = format!("True and predicted classes of {all} predictions, {right} of them right");
    let mut svg = Svg::new((width, bottom + key::height(&entries, width)), title, &description);
    svg.label((16.0, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    // Aligned with the grid, or further left if the heading is longer.
    let start = left.min(width - 16.0 - text_width(&heading, 14.0)).max(16.0);
    svg.label((start, TOP - 8.0), "heading", &heading);
    // The page gives more space to pictures wider than a phone.
    svg.open("g", &[("class", &if width > 400.0 { "marks wide" } else { "marks" })]);
    for (row, counts) in grid.counts.iter().enumerate() {
        let sum = counts.iter().sum::<usize>();
        for (column, &count) in counts.iter().enumerate() {
            let corner = (left + side * column as f64, TOP + side * row as f64);
            let text = format!(
                "true {}\npredicted {}\n{count} of {sum}",
                shortened(&grid.names[row], 40),
                shortened(&grid.names[column], 40)
            );
            draw_cell(&mut svg, corner, side, (count, sum), &text);
        }
    }
    svg.close();
    for (index, name) in names.iter().enumerate() {
        let middle = side * (index as f64 + 0.5);
        svg.label((left - 7.0, TOP + middle + 4.0), "end", name);
        if is_turned {
            let (x, y) = (left + middle + 4.0, floor + 8.0);
            let turned = format!("rotate(-90 {} {})", Number(x), Number(y));
            svg.text_with(&[("x", &x), ("y", &y), ("class", &"end"), ("transform", &turned)], name);
        } else {
            svg.label((left + middle, floor + 16.0), "middle", name);
        }
    }
    let extent = count as f64 * side;
    svg.rect("frame", (left, TOP), (extent, extent));
    svg.upright((left - widest - 16.0, TOP + extent / 2.0), "faint middle", "true");
    svg.label((left + extent / 2.0, bottom - 9.0), "faint middle", "predicted");
    if all == 0 {
        svg.label((left + extent / 2.0, TOP + extent / 2.0 + 4.0), "faint middle", "no predictions");
    }
    key::draw(&mut svg, &entries, width, bottom);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn percent(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all.max(1) as f64
}

/// A square with its count, and its share of the row if there is room.
fn draw_cell(svg: &mut Svg, (x, y): (f64, f64), side: f64, (count, sum): (usize, usize), text: &str) {
    let (class, dense) = (colour::category(0), DENSEST * percent(count, sum) / 100.0);
    let square: Attributes<'_> = &[
        ("class", &class),
        ("x", &x),
        ("y", &y),
        ("width", &side),
        ("height", &side),
        ("fill-opacity", &dense),
    ];
    svg.titled("rect", square, text);
    if sum == 0 {
        return;
    }
    let mut line = |down: f64, class: &str, words: &str| {
        let size = (12.0 * (side - 4.0) / text_width(words, 12.0)).min(12.0);
        let (x, y) = (x + side / 2.0, y + side / 2.0 + down);
        let place: Attributes<'_> =
            &[("x", &x), ("y", &y), ("class", &class), ("font-size", &size), ("pointer-events", &"none")];
        svg.text_with(place, words);
    };
    let faint = if count == 0 { "faint middle" } else { "middle" };
    if side >= 44.0 && count > 0 {
        line(-2.0, faint, &count.to_string());
        line(13.0, faint, &format!("{:.0} %", percent(count, sum)));
    } else {
        line(4.0, faint, &count.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_true_classes() {
        let names = ["a", "b"].map(str::to_owned);
        let grid = Grid::of(&Confusion { names: &names, expected: &[0, 0, 0, 1], found: &[0, 1, 1, 1] });
        assert_eq!((grid.names, grid.counts), (names.to_vec(), vec![vec![1, 2], vec![0, 1]]));
    }

    #[test]
    fn rare_classes_are_put_together() {
        let names: Vec<String> = (0..20).map(|class| format!("class {class}")).collect();
        // Class c has c + 1 graphs, and one graph of each class is predicted as the next class.
        let expected: Vec<usize> = (0..20).flat_map(|class| vec![class; class + 1]).collect();
        let found: Vec<usize> = (0..20)
            .flat_map(|class| (0..=class).map(move |k| if k == 0 { (class + 1) % 20 } else { class }))
            .collect();
        let grid = Grid::of(&Confusion { names: &names, expected: &expected, found: &found });
        assert_eq!(grid.names.len(), 13);
        assert_eq!((grid.names[0].as_str(), grid.names[12].as_str()), ("class 8", "others"));
        // Of classes 0 to 7, 36 graphs, only one is predicted as a shown class.
        assert_eq!(grid.counts[12], [vec![1], vec![0; 11], vec![35]].concat());
        assert_eq!(grid.counts[11], [vec![0; 11], vec![19, 1]].concat());
        assert_eq!(grid.counts.iter().flatten().sum::<usize>(), expected.len());
    }

    #[test]
    fn classes_without_a_name_are_numbers() {
        let grid = Grid::of(&Confusion { names: &[], expected: &[0, 2], found: &[1, 2] });
        assert_eq!(grid.names, ["0", "1", "2"]);
        assert_eq!(Grid::of(&Confusion::default()), Grid::default());
    }
}
