//! Parquet files and Arrow record batches: one graph per row.
//!
//! The columns are `num_nodes` (an integer), `src` and `dst` (lists of integers) and, if the data
//! have them, `id`, `weight`, `edge_label`, `edge_attr` with `edge_attr_dim`, `node_label`, `x`
//! with `x_dim`, `pos`, `y`, `split` and `directed`. If edges or vertices have several labels,
//! `edge_label` and `node_label` are lists of lists. Numbers may have any width, signed or
//! unsigned; lists may be large or of fixed size; strings may be large, views or
//! dictionary-encoded. A null means that the row has no such value. A null inside a list is an
//! error, except in a list `y`, where null and NaN mean an unknown target. Other columns are not
//! read, and a note names them, unless [`ReadOptions`](crate::ReadOptions) name them.
//!
//! The dataset's name, the meaning of its features, and the names of its targets and of its column
//! of groups are stored as JSON in the schema's metadata, under `stepwell`.
//!
//! ```
//! use stepwell_data::{Dataset, Place, parquet};
//! # let place = Place::file("example.jsonl");
//! # let text = "{\"num_nodes\":3,\"src\":[0,1],\"dst\":[1,2],\"y\":\"path\"}\n";
//! # let dataset = Dataset::collect(stepwell_data::jsonl::Reader::new(text.as_bytes(), place.clone()), &place)?;
//! let place = Place::file("example.parquet");
//! let mut file = tempfile::tempfile().unwrap();
//! parquet::write(&mut file, &dataset, &place)?;
//! let again = Dataset::collect(parquet::Reader::new(file, place.clone())?, &place)?;
//! assert_eq!(again, dataset);
//! # Ok::<(), stepwell_data::Error>(())
//! ```

mod batches;
mod columns;
mod delta;
mod encode;
mod expanded;
mod ipc;
mod layout;
mod longest;
mod read;
mod sizes;
#[cfg(test)]
mod tests;
mod thrift;
mod write;

pub use batches::{BadRow, Batches};
pub use encode::to_record_batch;
pub use ipc::Stream;
pub use layout::Layout;
pub use read::{Reader, panics_are_errors, read, read_with};
pub use write::{Writer, write};

use parquet::errors::ParquetError;
use serde::{Deserialize, Serialize};

use crate::rows::Fault;

/// The key of the schema's metadata that holds the [`Facts`].
const FACTS: &str = "stepwell";

/// The metadata of a file besides its rows.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Facts {
    name: String,
    /// The names of the columns of `x`, if they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<String>,
    /// The names of the targets in `y`, if they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    y: Vec<String>,
    /// The feature set of the molecules, if the graphs were made from molecules.
    #[serde(skip_serializing_if = "Option::is_none")]
    molecules: Option<String>,
    /// The name of the column that holds groups, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<String>,
}

/// Converts an error of the `parquet` crate.
fn fault(error: ParquetError) -> Fault {
    let found = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => return Fault::Io(*source),
            Err(source) => source.to_string(),
        },
        ParquetError::General(message) | ParquetError::EOF(message) | ParquetError::ArrowError(message) => {
            message
        }
        other => other.to_string(),
    };
    let shown: String = found.chars().take(120).flat_map(char::escape_debug).collect();
    Fault::new("a Parquet file", format!("one that cannot be decoded ({shown})"))
}
