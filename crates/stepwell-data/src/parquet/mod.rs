//! Parquet, and Arrow record batches: one graph per row.
//!
//! The columns are `num_nodes` (an integer), `src` and `dst` (lists of
//! integers) and, where the data have them, `id`, `weight`, `edge_label`,
//! `edge_attr` with `edge_attr_dim`, `node_label`, `x` with `x_dim`, `pos`, `y`,
//! `split` and `directed`. Where edges or vertices have several labels,
//! `edge_label` and `node_label` are lists of lists. Numbers may be of any width, signed or not, lists
//! large or of fixed size, strings large, viewed or in a dictionary. A null means
//! that the row has no such value; inside a list it is an error, but in a list `y`,
//! where it is a target that is unknown, as NaN is. Other columns belong to other
//! tools, unless [`ReadOptions`](crate::ReadOptions) name them: they are not read, and noted.
//!
//! The dataset's name and the meaning of its features are JSON in the schema's
//! metadata, under `stepwell`.
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

/// The key of the schema's metadata that [`Facts`] are under.
const FACTS: &str = "stepwell";

/// What a file says about its graphs beside the rows.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Facts {
    name: String,
    /// What the columns of `x` are called, where they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<String>,
    /// What the targets in `y` are called, where they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    y: Vec<String>,
    /// The feature set of molecules, where graphs were made of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    molecules: Option<String>,
}

/// What the `parquet` crate reports, in our words.
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
