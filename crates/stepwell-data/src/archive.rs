//! Zip archives from strangers: nothing is extracted, nothing grows without bound.

use std::io::{self, Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{Error, Place, Result};

/// Text of graphs deflates by a factor of 5 to 30, a split file by 300. A part
/// that claims more than this factor and is large is a bomb.
const MAX_RATIO: u64 = 200;
const LARGE: u64 = 64 << 20;

/// A zip archive with the name it has in messages.
pub(crate) struct Archive<R> {
    zip: ZipArchive<R>,
    name: String,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the archive's table of contents.
    pub(crate) fn open(reader: R, name: &str) -> Result<Self> {
        let zip = ZipArchive::new(reader).map_err(|error| broken(Place::file(name), error))?;
        Ok(Self { zip, name: name.to_owned() })
    }

    /// The paths of all parts.
    pub(crate) fn parts(&self) -> Vec<String> {
        self.zip.file_names().filter_map(|name| name.ok().map(|n| n.into_owned())).collect()
    }

    /// The archive as a whole, for messages.
    pub(crate) fn whole(&self) -> Place {
        Place::file(&self.name)
    }

    /// Where a part is, for messages.
    pub(crate) fn place(&self, part: &str) -> Place {
        Place::file(format!("{}/{part}", self.name))
    }

    /// Opens a part for reading; what it yields is bounded by what it declares.
    pub(crate) fn part(&mut self, part: &str) -> Result<impl Read + '_> {
        let place = self.place(part);
        let file = self.zip.by_name(part).map_err(|error| broken(place.clone(), error))?;
        let (declared, packed) = (file.size(), file.compressed_size());
        if declared > LARGE && declared / MAX_RATIO > packed {
            return Err(Error::TooLarge {
                place,
                what: "the unpacked size in bytes, for a part that small (a zip bomb?),",
                limit: packed.saturating_mul(MAX_RATIO).max(LARGE),
                found: declared,
            });
        }
        Ok(Bounded { inner: file, left: declared })
    }
}

fn broken(place: Place, error: ZipError) -> Error {
    Error::malformed(place, "an intact zip archive", error.to_string())
}

struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "more bytes than the archive declares")
        })?;
        Ok(count)
    }
}
