//! The archive around the arrays: a zip file of `.npy` members.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::limits::{Allowance, Limits};
use crate::error::{Error, Place, Result, quote};

/// An open archive and how much may still be unpacked of it.
pub(super) struct Archive<R> {
    name: String,
    limits: Limits,
    zip: ZipArchive<R>,
    allowance: Allowance,
}

impl<R: Read + Seek> Archive<R> {
    pub(super) fn open(mut reader: R, name: &str) -> Result<Self> {
        let io = |source| Error::io(Path::new(name), source);
        let size = reader.seek(SeekFrom::End(0)).map_err(io)?;
        reader.rewind().map_err(io)?;
        let zip = ZipArchive::new(reader).map_err(|error| refused(name, Place::file(name), error))?;
        let limits = Limits::of(size);
        Ok(Self { name: name.to_owned(), limits, zip, allowance: limits.unpacking() })
    }

    /// What the archive may unfold to.
    pub(super) fn limits(&self) -> Limits {
        self.limits
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
            self.allowance.spend(entry.size(), || place.clone())?;
        }
        // The size declared is only good for refusing: what comes is counted as it comes.
        let mut bytes = Vec::new();
        entry
            .take(self.allowance.left() + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| refused(&self.name, place.clone(), ZipError::Io(source)))?;
        self.allowance.spend(bytes.len() as u64, || place)?;
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
        ZipError::Io(source) => Error::malformed(place, "sound data", format!("damaged data ({source})")),
        ZipError::InvalidArchive(reason) => {
            Error::malformed(place, "a zip archive", format!("none, or a damaged one ({reason})"))
        }
        error => Error::malformed(place, "members that are stored or deflated", error.to_string()),
    }
}
