//! Caches pyramids on disk, so that the same graphs are pooled only once.
//!
//! A [`key`] identifies each file: one file per graph structure, pooling options, number of levels
//! and [`FORMAT`]. A file ends with a keyed hash; the cache holds the secret, which only its owner
//! can read. A file that is broken, forged or written by someone else is never used: the pyramid is
//! built again, and a warning gives the reason.
//!
//! ```
//! use std::ops::ControlFlow;
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Pool, Pooling};
//! use stepwell_data::cache::{PyramidCache, coarsen};
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let cache = PyramidCache::new(folder);
//! let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
//! let pooling = Pooling::from(Pool::Graclus);
//! let again = || coarsen(Some(&cache), path.as_batch(), &pooling, 2, |_| ControlFlow::Continue(()));
//! let (built, warnings) = again()?;
//! assert!(warnings.is_empty());
//! assert_eq!(again()?.0, built);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod layout;
mod seal;

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;

use stepwell::graph::GraphBatch;
use stepwell::pool::Pooling;
use stepwell::pyramid::Pyramid;

use crate::error::{Error, Place, Result};
use crate::files;
use bytes::Sink;
use seal::Seal;

/// The version of the file layout, which is part of the file names.
pub const FORMAT: u32 = 2;

/// The version of the poolings' results, which is part of a pyramid's [`key`]. Increment it when a
/// pooling's results change; this changes the fingerprints of all runs.
const RESULTS: u32 = 1;

/// The cache key of a pyramid, in hexadecimal: a SHA-256 of the structure and weights of the
/// graphs, the pooling, the number of levels and the version of the results. Labels and attributes
/// are excluded because poolings ignore them.
pub fn key(graphs: &GraphBatch, pooling: &Pooling, levels: usize) -> String {
    let mut sink = Sink::new(io::sink());
    let settings = serde_json::to_vec(pooling).expect("settings are plain numbers and names");
    sink.words(&[RESULTS])
        .and_then(|()| sink.array(&settings))
        .and_then(|()| sink.words(&[levels]))
        .and_then(|()| layout::write_graphs(&mut sink, graphs))
        .expect("nothing is written anywhere");
    sink.finish().0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder of cached pyramids.
#[derive(Clone, Debug)]
pub struct PyramidCache {
    folder: PathBuf,
}

impl PyramidCache {
    /// Uses `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.{FORMAT}.pyramid"))
    }

    /// Loads the pyramid with that [`key`], if there is one. Returns an error if its file cannot be
    /// read, is truncated or changed, or does not hold `levels` levels on top of `graphs`.
    pub fn load(&self, key: &str, graphs: &GraphBatch, levels: usize) -> Result<Option<Pyramid>> {
        let path = self.path(key);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| Error::io(&path, error))?,
        };
        let length = file.metadata().map_err(|error| Error::io(&path, error))?.len();
        let place = Place::file(path.display().to_string());
        let input = BufReader::with_capacity(1 << 18, file);
        let Some(seal) = Seal::open(&self.folder)? else {
            return Err(Error::malformed(place, "a file 'seal' next to it", "none"));
        };
        layout::read(input, length, place, key, levels, graphs, &seal).map(Some)
    }

    /// Stores a pyramid under its [`key`]. The file appears whole or not at all, even if other
    /// processes write the same one.
    pub fn store(&self, key: &str, pyramid: &Pyramid) -> Result<()> {
        let (path, seal) = (self.path(key), Seal::make(&self.folder)?);
        files::write_whole(&path, |out| {
            layout::write(out, key, pyramid, &seal).map_err(|error| Error::io(&path, error))
        })
    }
}

/// Loads a pyramid from the cache, or builds and stores it; without a cache, only builds it. Also
/// returns warnings to print: why a file was not used or could not be written.
pub fn coarsen(
    cache: Option<&PyramidCache>,
    graphs: &GraphBatch,
    pooling: &Pooling,
    levels: usize,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> stepwell::Result<(Pyramid, Vec<String>)> {
    let mut warnings = Vec::new();
    let Some(cache) = cache.filter(|_| levels > 0) else {
        return Ok((pooling.coarsen(graphs, levels, progress)?, warnings));
    };
    let key = key(graphs, pooling, levels);
    match cache.load(&key, graphs, levels) {
        Ok(None) => {}
        Ok(Some(pyramid)) => {
            return match progress(graphs.len()) {
                ControlFlow::Continue(()) => Ok((pyramid, warnings)),
                ControlFlow::Break(()) => Err(stepwell::Error::Cancelled),
            };
        }
        Err(problem) => warnings.push(format!("rebuilding a cached pyramid: {problem}")),
    }
    let pyramid = pooling.coarsen(graphs, levels, progress)?;
    if let Err(problem) = cache.store(&key, &pyramid) {
        warnings.push(format!("the pyramid could not be cached: {problem}"));
    }
    Ok((pyramid, warnings))
}

#[cfg(test)]
mod tests;
