//! Colours that colour-blind readers can distinguish, on light and dark backgrounds.
//!
//! Elements have classes, not colours: `c0` to `c7` for categories, `s0` to `s8` for amounts, `d0`
//! to `d8` for amounts below and above 0. A style sheet inside each picture defines their colours
//! for light and dark mode.

/// The number of categories with a colour of their own. A search found colours that stay distinct
/// under all three kinds of colour blindness and contrast with the background.
pub const NUM_CATEGORIES: usize = 8;

/// The steps of a scale of amounts or differences.
pub const STEPS: usize = 9;

/// The style sheet of all pictures.
pub const STYLE: &str = concat!(
    include_str!("picture.css"),
    "@media screen and (prefers-color-scheme:dark){\n",
    include_str!("picture_dark.css"),
    "}\n"
);

/// The class of a category; colours repeat.
pub fn category(index: usize) -> String {
    format!("c{}", index % NUM_CATEGORIES)
}

/// The class of an amount between 0 and 1.
pub fn amount(share: f64) -> String {
    format!("s{}", step(share))
}

/// The class of an amount between -1 and 1.
pub fn difference(share: f64) -> String {
    format!("d{}", step((share + 1.0) / 2.0))
}

fn step(share: f64) -> usize {
    // NaN is cast to 0.
    ((share * (STEPS - 1) as f64).round().clamp(0.0, (STEPS - 1) as f64)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear red, green and blue.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|row| (0..3).map(|k| matrix[row][k] * vector[k]).sum())
    }

    /// The contrast ratio by WCAG.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    /// The colour in CIELAB, seen through one of the matrices below.
    fn lab(colour: &str, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
        let seen = times(eyes, linear(colour)).map(|x| x.clamp(0.0, 1.0));
        let to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = times(&to_xyz, seen);
        let [x, y, z] = [x / 0.95047, y, z / 1.08883]
            .map(|t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Normal vision, then protanopia, deuteranopia and tritanopia (Machado et al., 2009).
    const EYES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ];

    /// The colours of a kind of class, in light or dark mode.
    fn colours(kind: char, dark: bool) -> Vec<&'static str> {
        let (light_sheet, dark_sheet) = STYLE.split_once("@media").unwrap();
        let sheet = if dark { dark_sheet } else { light_sheet };
        let count = if kind == 'c' { NUM_CATEGORIES } else { STEPS };
        let rule = |index| format!(".stepwell .{kind}{index}{{color:");
        (0..count).map(|index| &sheet.split_once(&rule(index)).unwrap().1[..7]).collect()
    }

    const PAPERS: [(bool, &str); 2] = [(false, "#ffffff"), (true, "#15171b")];

    #[test]
    fn everybody_can_tell_categories_apart_on_either_paper() {
        for (dark, paper) in PAPERS {
            assert!(STYLE.contains(&format!(".stepwell .paper{{fill:{paper}}}")));
            let categories = colours('c', dark);
            for (index, colour) in categories.iter().enumerate() {
                assert!(contrast(colour, paper) > 2.5, "category {index} on {paper}");
                for other in &categories[..index] {
                    for eyes in &EYES {
                        let (a, b) = (lab(colour, eyes), lab(other, eyes));
                        let distance = (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
                        assert!(distance > 20.0, "{colour} and {other} on {paper}");
                    }
                }
            }
        }
    }

    #[test]
    fn amounts_grow_lighter_and_stay_visible() {
        for (dark, paper) in PAPERS {
            let amounts = colours('s', dark);
            let black = |colour: &str| contrast(colour, "#000000");
            assert!(amounts.is_sorted_by(|a, b| black(a) < black(b)), "on {paper}");
            assert!(amounts.iter().all(|colour| contrast(colour, paper) > 2.0), "on {paper}");
            assert_eq!(colours('d', dark).len(), STEPS);
        }
    }

    #[test]
    fn scales_end_where_they_end() {
        assert_eq!([amount(-1.0), amount(0.0), amount(0.5), amount(9.0)], ["s0", "s0", "s4", "s8"]);
        assert_eq!([difference(-1.0), difference(0.0), difference(1.0)], ["d0", "d4", "d8"]);
        assert_eq!(amount(f64::NAN), "s0");
        assert_eq!(category(9), "c1");
    }
}
