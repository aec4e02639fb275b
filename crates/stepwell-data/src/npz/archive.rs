//! The archive around the arrays: a zip file of `.npy` members.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::limits::Allowance;
use crate::error::{Error, Place, Result, quote};

/// An open archive and how much may still be unpacked of it.
pub(super) struct Archive<R> {
    name: String,
    size: u64,
    zip: ZipArchive<R>,
    allowance: Allowance,
}

impl<R: Read + Seek> Archive<R> {
    pub(super) fn open(mut reader: R, name: &str) -> Result<Self> {
        let io = |source| Error::io(Path::new(name), source);
        let size = reader.seek(SeekFrom::End(0)).map_err(io)?;
        reader.rewind().map_err(io)?;
        let zip = ZipArchive::new(reader).map_err(|error| refused(name, Place::file(name), error))?;
        Ok(Self { name: name.to_owned(), size, zip, allowance: Allowance::unpacking(size) })
    }

    /// Bytes of the archive as it lies on disk.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The place to name in messages about a member.
    pub(super) fn place(&self, member: &str) -> Place {
        Place::file(format!("{}/{member}", self.name))
    }

    /// Unpacks one member.
    pub(super) fn unpack(&mut self, member: &str) -> Result<Vec<u8>> {
        let place = self.place(member);
        let Some(index) = self.zip.index_for_name(member) else {
            let (expected, found) = (format!("a member '{member}'"), self.members());
            return Err(Error::malformed(Place::file(&self.name), expected, found));
        };
        let entry = self.zip.by_index(index).map_err(|error| refused(&self.name, place.clone(), error))?;
        if entry.size() > self.allowance.left() {
            self.allowance.spend(entry.size(), &place)?;
        }
        // The size declared is only good for refusing: what comes is counted as it comes.
        let mut bytes = Vec::new();
        entry
            .take(self.allowance.left() + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| refused(&self.name, place.clone(), ZipError::Io(source)))?;
        self.allowance.spend(bytes.len() as u64, &place)?;
        Ok(bytes)
    }

    fn members(&self) -> String {
        let names: Vec<String> = self.zip.file_names_raw().take(9).map(quote).collect();
        match self.zip.len() {
            0 => "an empty archive".into(),
            n if n > names.len() => format!("{} and {} more", names.join(", "), n - names.len()),
            _ => names.join(", "),
        }
    }
}

/// Tells a refusal of the operating system from a broken archive.
fn refused(archive: &str, place: Place, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) if source.raw_os_error().is_some() => Error::io(Path::new(archive), source),
        ZipError::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
            Error::malformed(place, "a whole zip archive", "one that is cut short")
        }
        ZipError::Io(source) => Error::malformed(place, "sound compressed data", lower(&source)),
        error => Error::malformed(place, "a zip archive of stored or deflated members", lower(&error)),
    }
}

/// Another library's message as the end of a sentence.
fn lower(error: &impl ToString) -> String {
    let message = error.to_string();
    let mut characters = message.chars();
    match characters.next() {
        Some(first) => format!("a fault: {}{}", first.to_lowercase(), characters.as_str()),
        None => "a fault".into(),
    }
}
