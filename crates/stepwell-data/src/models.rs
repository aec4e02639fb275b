//! Model files, recognised by content and not by name.

mod card;

pub use card::{Card, InputCard, TargetCard};

use std::io::Write;
use std::path::Path;

use stepwell::model::Saved;

use crate::error::{Error, Result};
use crate::files;

/// The number of copies of a model's bytes in memory while it is read.
const COPIES: u64 = 3;

/// Reads a model.
pub fn read(path: &Path) -> Result<Saved> {
    parse(path, &files::read(path, COPIES)?)
}

/// Reads a model and its card.
pub fn read_with_card(path: &Path) -> Result<(Saved, Card)> {
    let bytes = files::read(path, COPIES)?;
    let saved = parse(path, &bytes)?;
    let unreadable = |source| Error::Model { path: path.to_owned(), source };
    let card = Card::new(&saved, Saved::version(&bytes).map_err(unreadable)?, &bytes);
    Ok((saved, card))
}

/// Writes a model's bytes ([`Saved::to_bytes`]), whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    files::write_whole(path, |out| out.write_all(bytes).map_err(|source| Error::io(path, source)))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Saved> {
    Saved::from_bytes(bytes).map_err(|source| Error::Model { path: path.to_owned(), source })
}
