//! One graph with vertex targets: `.npz` files of plain arrays, such as the heterophilous graph
//! datasets.
//!
//! | member | holds |
//! |---|---|
//! | `edges` | two columns: the ends of each undirected edge |
//! | `node_features` | a row per vertex |
//! | `node_labels` | a class per vertex; -1 if unknown |
//! | `train_masks`, `val_masks`, `test_masks` | a row per split, a boolean per vertex |

use std::io::{Read, Seek};

use stepwell::features::SPARSE_WIDTH;
use stepwell::graph::{BatchBuilder, EdgeList, SparseRows};
use stepwell::targets::Targets;

use super::limits::Allowance;
use super::npy::Content;
use super::{Member, shown};
use crate::archive::Archive;
use crate::dataset::{Dataset, Known, Part, Vertices};
use crate::error::{Error, Result};

/// The member that distinguishes such a file from the benchmark's.
pub(super) const MARK: &str = "node_labels.npy";

/// The mask members.
const MASKS: [(Part, &str); 3] =
    [(Part::Train, "train_masks.npy"), (Part::Validation, "val_masks.npy"), (Part::Test, "test_masks.npy")];

/// Reads the graph.
pub(super) fn read<R: Read + Seek>(archive: &mut Archive<R>) -> Result<Dataset> {
    let limit = archive.limit_whole();
    let mut allowance = Allowance::new("the size of its graph", limit);
    let there = archive.parts();
    let mut unpack = |member: &str| archive.unpack(member).map(|bytes| (bytes, archive.place(member)));
    let (labels, edges, features) = (unpack(MARK)?, unpack("edges.npy")?, unpack("node_features.npy")?);

    let labels = Member::new(&labels, limit)?;
    let (shape, classes) = integers(&labels, &mut allowance)?;
    let &[vertices] = &shape[..] else { return wrong(&labels, "a class per vertex", &shape) };

    let features = Member::new(&features, limit)?;
    let Content::Numbers(array) = &features.content else {
        return features.malformed("an array of numbers", "one of objects");
    };
    let width = match *array.shape {
        [rows, width] if rows == vertices => width,
        _ => return wrong(&features, &format!("a row for each of {vertices} vertices"), &array.shape),
    };
    let x = array.reals(features.place, &mut allowance)?;

    let edges = Member::new(&edges, limit)?;
    let (shape, ends) = integers(&edges, &mut allowance)?;
    if !matches!(shape[..], [_, 2]) {
        return wrong(&edges, "two columns, the ends of each edge", &shape);
    }
    let end = |at: usize| {
        u32::try_from(ends[at]).map_err(|_| {
            let expected = format!("vertices from 0 to {}", vertices.saturating_sub(1));
            Error::malformed(edges.place.row(at as u64 / 2), expected, ends[at].to_string())
        })
    };
    let sources = (0..ends.len()).step_by(2).map(end).collect::<Result<Vec<u32>>>()?;
    let targets = (1..ends.len()).step_by(2).map(end).collect::<Result<Vec<u32>>>()?;
    let mut graphs = BatchBuilder::default();
    // Bag-of-words features and the like: wide rows that are mostly 0 are stored as sparse rows.
    let non_zeros = x.iter().filter(|value| **value != 0.0).count();
    let sparse = (width >= SPARSE_WIDTH && non_zeros <= x.len() / 4 && x.iter().all(|x| x.is_finite()))
        .then(|| SparseRows::of_dense(width, &x));
    let dense = (width > 0 && sparse.is_none()).then_some((&x[..], width));
    let list = EdgeList {
        vertex_attributes: dense,
        sparse_attributes: sparse.as_ref(),
        ..EdgeList::new(vertices, &sources, &targets)
    };
    graphs.push(&list).map_err(|source| Error::Graph { place: edges.place.clone(), source })?;

    let mut splits: Option<Vec<Vec<Option<Part>>>> = None;
    for (part, name) in MASKS {
        if !there.iter().any(|member| member == name) {
            continue;
        }
        let mask = unpack(name)?;
        let mask = Member::new(&mask, limit)?;
        let (shape, values) = integers(&mask, &mut allowance)?;
        let count = match shape[..] {
            [found] if found == vertices => 1,
            [count, found] if found == vertices => count,
            _ => return wrong(&mask, &format!("a boolean for each of {vertices} vertices"), &shape),
        };
        if splits.is_none() {
            // Masks of no vertices declare any number of rows with no bytes.
            let bytes = (vertices + size_of::<Vec<Option<Part>>>()) as u64;
            allowance.spend(bytes.saturating_mul(count as u64), || mask.place.clone())?;
        }
        let splits = splits.get_or_insert_with(|| vec![vec![None; vertices]; count]);
        if splits.len() != count {
            let expected = format!("{} rows, like the masks before", splits.len());
            return mask.malformed(expected, count.to_string());
        }
        for (at, _) in values.iter().enumerate().filter(|(_, value)| **value != 0) {
            let slot = &mut splits[at / vertices.max(1)][at % vertices.max(1)];
            if let Some(before) = slot.replace(part) {
                let expected = "every vertex in one part of a split";
                let found = format!("vertex {} in {} and {}", at % vertices, before.name(), part.name());
                return mask.malformed(expected, found);
            }
        }
    }
    let splits = splits.unwrap_or_default();
    let rows: Vec<usize> = (0..vertices).filter(|&vertex| classes[vertex] != -1).collect();
    let known = Known { targets: Targets::integers(rows.iter().map(|&v| classes[v]).collect()), rows };
    Ok(Dataset { graphs: graphs.finish(), vertices: Some(Vertices { known, splits }), ..Dataset::default() })
}

fn integers(member: &Member<'_>, allowance: &mut Allowance) -> Result<(Vec<usize>, Vec<i64>)> {
    match &member.content {
        Content::Numbers(array) => Ok((array.shape.to_vec(), array.integers(member.place, allowance)?)),
        Content::Objects(_) => member.malformed("an array of numbers", "one of objects"),
    }
}

fn wrong<T>(member: &Member<'_>, expected: &str, shape: &[usize]) -> Result<T> {
    member.malformed(expected, format!("the shape {}", shown(shape)))
}
