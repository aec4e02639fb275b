//! The classes of the graphs: one-hot rows or integers.

use super::Member;
use super::array::shown;
use super::limits::Allowance;
use super::npy::Content;
use crate::error::{Error, Result};

/// The classes read so far, part after part.
#[derive(Default)]
pub(super) struct Classes {
    pub(super) values: Vec<i64>,
    /// The number of columns of the parts read so far.
    columns: Option<usize>,
}

impl Classes {
    /// Reads the classes of `graphs` graphs.
    pub(super) fn read(
        &mut self,
        member: &Member<'_>,
        graphs: usize,
        allowance: &mut Allowance,
    ) -> Result<()> {
        let Content::Numbers(array) = &member.content else {
            return member.malformed("an array of numbers", "one of objects");
        };
        let shape = &*array.shape;
        let &([found] | [found, _]) = shape else {
            return member.malformed("one-hot rows or class numbers", format!("the shape {}", shown(shape)));
        };
        if found != graphs {
            let expected = format!("the classes of {graphs} graphs, as many as adjacency matrices");
            return member.malformed(expected, found.to_string());
        }
        if found == 0 {
            return Ok(());
        }
        let columns = shape.get(1).copied().unwrap_or(1);
        let before = *self.columns.get_or_insert(columns);
        if columns != before {
            return member
                .malformed(format!("{before} columns, as in the parts before"), columns.to_string());
        }
        if columns == 1 {
            self.values.extend(array.integers(member.place, allowance)?);
            return Ok(());
        }
        let numbers = array.reals(member.place, allowance)?;
        for row in 0..graphs {
            let numbers = &numbers[row * columns..(row + 1) * columns];
            let class = hot(numbers).map_err(|found| {
                Error::malformed(member.place.row(row as u64), "one 1, and zeros otherwise", found)
            })?;
            self.values.push(class);
        }
        Ok(())
    }
}

/// The position of the 1 in a one-hot row, or an error message.
fn hot(row: &[f64]) -> Result<i64, String> {
    if let Some(column) = row.iter().position(|&x| x != 0.0 && x != 1.0) {
        return Err(format!("{} in column {column}", row[column]));
    }
    let mut ones = row.iter().enumerate().filter(|&(_, &x)| x == 1.0).map(|(column, _)| column);
    match (ones.next(), ones.count()) {
        (Some(class), 0) => Ok(class as i64),
        (None, _) => Err("only zeros".into()),
        (Some(_), more) => Err(format!("{} ones", more + 1)),
    }
}
