//! `.npz` files: zip archives of NumPy arrays. The benchmark's files have nine; files of one graph
//! with vertex targets are described in `nodes.rs`.
//!
//! Each part `tr`, `val` and `te` of a fixed split has the members `_adj` (an array of pickled
//! SciPy sparse matrices), `_feat` (an array of pickled matrices of vertex features) and `_class`
//! (one-hot rows, or class numbers). The pickle reader knows the few names such files need and
//! executes nothing; see `pickle.rs`.
//!
//! Any bytes yield a dataset or one error, without a panic. Time and memory are bounded by the size
//! to which an archive may unpack: 64 MiB or, if that is more, 200 times its size, but at most an
//! eighth of the memory left of the budget.
//!
//! ```no_run
//! let dataset = stepwell_data::npz::read("easy_small.npz".as_ref())?;
//! println!("{} graphs", dataset.len());
//! # Ok::<(), stepwell_data::Error>(())
//! ```

mod array;
mod classes;
mod features;
mod heap;
mod limits;
mod make;
mod matrix;
mod names;
mod nodes;
mod npy;
mod objects;
mod pickle;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::targets::Targets;

use self::array::shown;
use self::classes::Classes;
use self::features::Features;
use self::limits::Allowance;
use self::npy::Content;
use crate::archive::Archive;
use crate::dataset::{Dataset, Part};
use crate::error::{Error, Place, Result};

/// The parts in the order in which their graphs are numbered.
const PARTS: [(Part, &str); 3] = [(Part::Train, "tr"), (Part::Validation, "val"), (Part::Test, "te")];

/// Reads a benchmark file. The dataset is named after the file, without the extension.
pub fn read(path: &Path) -> Result<Dataset> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    read_from(BufReader::new(file), &path.display().to_string())
}

/// Reads a benchmark file from any reader; error messages call it `name`.
pub fn read_from<R: Read + Seek>(reader: R, name: &str) -> Result<Dataset> {
    let mut archive = Archive::open(reader, name)?;
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if archive.parts().iter().any(|member| member == nodes::MARK) {
        return Ok(Dataset { name: stem, ..nodes::read(&mut archive)? });
    }
    let limit = archive.limit_whole();
    let mut allowance = Allowance::new("the size of its graphs", limit);
    let mut graphs = BatchBuilder::default();
    let mut classes = Classes::default();
    let mut parts = Vec::new();
    for (part, prefix) in PARTS {
        let mut unpack = |kind: &str| {
            let member = format!("{prefix}_{kind}.npy");
            archive.unpack(&member).map(|bytes| (bytes, archive.place(&member)))
        };
        let (adjacency, features, numbers) = (unpack("adj")?, unpack("feat")?, unpack("class")?);
        let adjacency = Member::new(&adjacency, limit)?;
        let features = Member::new(&features, limit)?;
        let numbers = Member::new(&numbers, limit)?;
        let before = graphs.len();
        read_graphs(&adjacency, &features, &mut graphs, &mut allowance)?;
        classes.read(&numbers, graphs.len() - before, &mut allowance)?;
        parts.resize(graphs.len(), part);
    }
    Ok(Dataset {
        name: stem,
        graphs: graphs.finish(),
        targets: Targets::integers(classes.values),
        parts: Some(parts),
        ..Dataset::default()
    })
}

/// The content of a member, and its location.
struct Member<'a> {
    content: Content<'a>,
    place: &'a Place,
}

impl<'a> Member<'a> {
    fn new((bytes, place): &'a (Vec<u8>, Place), limit: u64) -> Result<Self> {
        Ok(Self { content: npy::read(bytes, place, limit)?, place })
    }

    fn malformed<T>(&self, expected: impl Into<String>, found: impl Into<String>) -> Result<T> {
        Err(Error::malformed(self.place.clone(), expected, found))
    }
}

/// Adds the graphs of one part.
fn read_graphs(
    adjacency: &Member<'_>,
    features: &Member<'_>,
    graphs: &mut BatchBuilder,
    allowance: &mut Allowance,
) -> Result<()> {
    let place = adjacency.place;
    let matrices = match &adjacency.content {
        Content::Objects(objects) => objects.values().iter().map(|&value| objects.matrix(value)).collect(),
        // NumPy turns an empty list into an array without numbers.
        Content::Numbers(array) if array.shape.first() == Some(&0) => Ok(Vec::new()),
        Content::Numbers(array) => adjacency
            .malformed("an array of sparse matrices", format!("numbers of shape {}", shown(&array.shape))),
    }?;
    let features = Features::new(features, matrices.len(), allowance)?;
    for (index, matrix) in matrices.iter().enumerate() {
        let edges = matrix.edges(allowance)?;
        let (values, width) = features.rows(index, edges.num_vertices, allowance)?;
        let list = EdgeList {
            weights: edges.weights.as_deref(),
            vertex_attributes: Some((&values, width)),
            ..EdgeList::new(edges.num_vertices, &edges.rows, &edges.columns)
        };
        graphs.push(&list).map_err(|source| {
            use stepwell::Error::{BadValue, Mixed};
            let place = match source {
                BadValue { .. } | Mixed { .. } => features.place(index),
                _ => place.byte(matrix.at),
            };
            Error::Graph { place, source }
        })?;
    }
    Ok(())
}
