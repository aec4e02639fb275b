//! Rows of integers or floats, depending on the file, and targets.

use std::io::Read;

use ndarray::Array2;
use stepwell::targets::Targets;

use crate::error::{Error, Place, Result, quote};
use crate::text::{Rows, for_each_line, integer, same_count};

/// The rows of a table: labels if all values are 32-bit integers.
pub(super) enum Values {
    Labels(Vec<i32>, usize),
    Attributes(Vec<f64>, usize),
}

impl Values {
    pub(super) fn split(self) -> (Rows<i32>, Rows<f64>) {
        match self {
            // A table without lines belongs to a dataset without edges.
            Self::Labels(values, width) => (Some((values, width.max(1))), None),
            Self::Attributes(values, width) => (None, Some((values, width))),
        }
    }
}

/// Features of vertices or edges: `rows` lines, one for each.
pub(super) fn features(reader: impl Read, place: &Place, rows: usize, of: &str) -> Result<Values> {
    let (mut labels, mut reals): (Vec<i32>, Option<Vec<f64>>) = (Vec::new(), None);
    let (mut width, mut lines) = (0, 0);
    for_each_line(reader, place, |line, number| {
        let mut found = 0;
        for token in line.split(|&byte| byte == b',') {
            let token = token.trim_ascii();
            found += 1;
            let label = integer(token).and_then(|value| i32::try_from(value).ok());
            if let (Some(label), None) = (label, &reals) {
                labels.push(label);
                continue;
            }
            let value = real(token)
                .ok_or_else(|| Error::malformed(place.line(number), "a finite number", quote(token)))?;
            let before = || std::mem::take(&mut labels).into_iter().map(f64::from).collect();
            reals.get_or_insert_with(before).push(value);
        }
        if number == 1 {
            width = found;
        }
        lines = number as usize;
        same_width(place, number, width, found)
    })?;
    same_count(place, rows, of, lines)?;
    Ok(match reals {
        None => Values::Labels(labels, width),
        Some(reals) => Values::Attributes(reals, width),
    })
}

/// The targets of all graphs, one line each: one column of integers is classes, several columns of
/// 0 and 1 are binary targets, and anything else is numbers.
pub(super) fn targets(reader: impl Read, place: &Place, graphs: usize) -> Result<Targets> {
    let (mut integers, mut values) = (Some(Vec::new()), Vec::new());
    let (mut width, mut lines) = (0, 0);
    for_each_line(reader, place, |line, number| {
        let before = values.len();
        for token in line.split(|&byte| byte == b',') {
            let token = token.trim_ascii();
            let unknown = token.is_empty() || token.eq_ignore_ascii_case(b"nan");
            match (integer(token), &mut integers) {
                (Some(class), Some(classes)) => classes.push(class),
                _ => integers = None,
            }
            let value = if unknown { Some(f64::NAN) } else { real(token) };
            values.push(value.ok_or_else(|| {
                Error::malformed(place.line(number), "a finite number, or nan", quote(token))
            })?);
        }
        let found = values.len() - before;
        if number == 1 {
            width = found;
        }
        lines = number as usize;
        same_width(place, number, width, found)
    })?;
    same_count(place, graphs, "graphs", lines)?;
    if let (Some(classes), 0 | 1) = (integers, width) {
        return Ok(Targets::integers(classes));
    }
    let binary = width > 1 && values.iter().all(|value| value.is_nan() || [0.0, 1.0].contains(value));
    let rows = Array2::from_shape_vec((lines, width), values).expect("lines of one width");
    Ok(if binary { Targets::Binary(rows) } else { Targets::Numbers(rows) })
}

fn real(token: &[u8]) -> Option<f64> {
    fast_float2::parse(token).ok().filter(|value: &f64| value.is_finite())
}

fn same_width(place: &Place, line: u64, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let expected = format!("{expected} numbers as on line 1");
    Err(Error::malformed(place.line(line), expected, found.to_string()))
}
