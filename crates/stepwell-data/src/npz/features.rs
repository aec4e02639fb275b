//! The vertex features: a matrix for each graph.

use std::borrow::Cow;

use super::Member;
use super::array::shown;
use super::heap::Value;
use super::limits::Allowance;
use super::npy::Content;
use super::objects::Objects;
use crate::error::{Error, Place, Result};

/// The vertex features of the graphs of one part.
pub(super) struct Features<'a> {
    place: &'a Place,
    layout: Layout<'a>,
}

enum Layout<'a> {
    /// One array per graph.
    Each(&'a Objects<'a>),
    /// One array for all graphs: NumPy stacks arrays of equal shape.
    Stacked { values: Vec<f64>, rows: usize, columns: usize },
}

impl<'a> Features<'a> {
    /// Reads a member as the features of `graphs` graphs.
    pub(super) fn new(member: &'a Member<'a>, graphs: usize, allowance: &mut Allowance) -> Result<Self> {
        let (layout, found) = match &member.content {
            Content::Objects(objects) => (Layout::Each(objects), objects.values().len()),
            Content::Numbers(array) => match *array.shape {
                // NumPy turns an empty list into an array without numbers.
                [0, ..] => (Layout::Stacked { values: Vec::new(), rows: 0, columns: 0 }, 0),
                [found, rows, columns] => {
                    let values = array.reals(member.place, allowance)?;
                    (Layout::Stacked { values, rows, columns }, found)
                }
                _ => {
                    let found = format!("numbers of shape {}", shown(&array.shape));
                    return member.malformed("an array of feature matrices", found);
                }
            },
        };
        if found != graphs {
            let expected = format!("{graphs} feature matrices, as many as adjacency matrices");
            return member.malformed(expected, found.to_string());
        }
        Ok(Self { place: member.place, layout })
    }

    /// The rows of one graph, one per vertex, and the width of a row.
    pub(super) fn rows(
        &self,
        graph: usize,
        num_vertices: usize,
        allowance: &mut Allowance,
    ) -> Result<(Cow<'_, [f64]>, usize)> {
        let wrong = |place: Place, shape: &[usize]| {
            let expected = format!("features of {num_vertices} vertices for graph {graph} of this part");
            Err(Error::malformed(place, expected, format!("the shape {}", shown(shape))))
        };
        match &self.layout {
            Layout::Each(objects) => {
                let array = objects.array(value_of(objects, graph))?;
                match *array.shape {
                    [rows, columns] if rows == num_vertices => {
                        Ok((array.reals(self.place, allowance)?.into(), columns))
                    }
                    _ => wrong(self.place.byte(array.at), &array.shape),
                }
            }
            &Layout::Stacked { ref values, rows, columns } => {
                let size = rows * columns;
                match values.get(graph * size..(graph + 1) * size) {
                    Some(values) if rows == num_vertices => Ok((values.into(), columns)),
                    _ => wrong(self.place.clone(), &[rows, columns]),
                }
            }
        }
    }

    /// The location of one graph's features.
    pub(super) fn place(&self, graph: usize) -> Place {
        match &self.layout {
            Layout::Each(objects) => self.place.byte(objects.at(value_of(objects, graph))),
            Layout::Stacked { .. } => self.place.clone(),
        }
    }
}

fn value_of<'a>(objects: &Objects<'a>, graph: usize) -> Value<'a> {
    objects.values().get(graph).copied().unwrap_or(Value::None)
}
