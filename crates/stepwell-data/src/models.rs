//! Models as files. Whatever a file is called, its content says what it is.

use std::io::Write;
use std::path::Path;

use stepwell::model::Saved;

use crate::error::{Error, Result};
use crate::files;

/// Reads a model.
pub fn read(path: &Path) -> Result<Saved> {
    let bytes = files::read(path)?;
    Saved::from_bytes(&bytes).map_err(|source| Error::Model { path: path.to_owned(), source })
}

/// Writes a model's bytes ([`Saved::to_bytes`]), whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    files::write_whole(path, |out| out.write_all(bytes).map_err(|source| Error::io(path, source)))
}
