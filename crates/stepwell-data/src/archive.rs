//! Untrusted zip archives and gzip files: nothing is extracted to disk, and nothing grows without
//! bound.
//!
//! A few bytes can expand to a great many. The unpacked bytes are therefore counted while an
//! archive is unpacked, and a declared size is never trusted before the bytes have arrived.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{Error, Place, Result, quote};
use crate::memory;

/// The unpacked size allowed for any archive, however small.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// The largest ratio of unpacked to packed size for larger archives. Graphs as text compress five-
/// to thirtyfold, pickled matrices about twentyfold.
const MAX_RATIO: u64 = 200;

/// Members may unpack to this fraction (one part in `WHOLE_SHARE`) of the remaining memory, because
/// the objects built from them take several times their size.
const WHOLE_SHARE: u64 = 8;

/// An open archive and its remaining unpacking allowance.
pub(crate) struct Archive<R> {
    name: String,
    zip: ZipArchive<R>,
    limit: u64,
    spent: u64,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the archive's table of contents; error messages call the archive `name`.
    pub(crate) fn open(mut reader: R, name: &str) -> Result<Self> {
        let io = |source| Error::io(Path::new(name), source);
        let size = reader.seek(SeekFrom::End(0)).map_err(io)?;
        reader.rewind().map_err(io)?;
        let zip = ZipArchive::new(reader).map_err(|error| refused(name, Place::file(name), error))?;
        let limit = size.saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED);
        Ok(Self { name: name.to_owned(), zip, limit, spent: 0 })
    }

    /// Lowers the limit so that a member unpacked as a whole, and the objects built from it, fit
    /// into memory. Returns the new limit in bytes.
    pub(crate) fn limit_whole(&mut self) -> u64 {
        self.limit = self.limit.min(memory::left().bytes / WHOLE_SHARE);
        self.limit
    }

    /// The paths of all parts; bytes that are not UTF-8 become replacement characters.
    pub(crate) fn parts(&self) -> Vec<String> {
        let names = self.zip.file_names().zip(self.zip.file_names_raw());
        names.map(|(name, raw)| name.unwrap_or_else(|_| String::from_utf8_lossy(raw)).into_owned()).collect()
    }

    /// The archive as a whole, for messages.
    pub(crate) fn whole(&self) -> Place {
        Place::file(&self.name)
    }

    /// The location of a part, for messages.
    pub(crate) fn place(&self, part: &str) -> Place {
        Place::file(format!("{}/{part}", self.name))
    }

    /// Opens a part for reading.
    pub(crate) fn part(&mut self, part: &str) -> Result<impl Read + '_> {
        let place = self.place(part);
        let Some(index) = self.zip.index_for_name(part) else {
            return Err(Error::malformed(self.whole(), format!("a member '{part}'"), self.contents()));
        };
        let inner = self.zip.by_index(index).map_err(|error| refused(&self.name, place.clone(), error))?;
        let found = self.spent.saturating_add(inner.size());
        if found > self.limit {
            return Err(Error::TooLarge { place, what: "its unpacked size", limit: self.limit, found });
        }
        Ok(Counted { inner, limit: self.limit, spent: &mut self.spent })
    }

    /// The whole content of a part.
    pub(crate) fn unpack(&mut self, part: &str) -> Result<Vec<u8>> {
        let (name, place) = (self.name.clone(), self.place(part));
        let mut bytes = Vec::new();
        let read = self.part(part)?.read_to_end(&mut bytes);
        read.map_err(|source| refused(&name, place, ZipError::Io(source)))?;
        Ok(bytes)
    }

    fn contents(&self) -> String {
        let names: Vec<String> = self.zip.file_names_raw().take(9).map(quote).collect();
        match self.zip.len() {
            0 => "an empty archive".into(),
            n if n > names.len() => format!("{} and {} more", names.join(", "), n - names.len()),
            _ => names.join(", "),
        }
    }
}

/// An open file and its location.
pub(crate) type Opened<'a> = (Box<dyn Read + Send + 'a>, Place);

/// The files of one dataset, in a folder or in an archive that is read like a folder.
pub(crate) enum Files<R> {
    Folder(PathBuf),
    Zip(Archive<R>),
}

impl Files<File> {
    /// The files of a folder or of a zip archive.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Self::zip(file, &path.display().to_string())
    }
}

impl<R: Read + Seek + Send> Files<R> {
    /// The files of a zip archive; error messages call it `name`.
    pub(crate) fn zip(reader: R, name: &str) -> Result<Self> {
        Ok(Self::Zip(Archive::open(reader, name)?))
    }

    /// The paths of all files of an archive, or the names of the files directly in the folder.
    pub(crate) fn paths(&self) -> Result<Vec<String>> {
        match self {
            Self::Folder(_) => self.inside(""),
            Self::Zip(archive) => Ok(archive.parts()),
        }
    }

    /// The sorted names of the entries directly inside a subfolder; empty if the subfolder does not
    /// exist.
    pub(crate) fn inside(&self, folder: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        match self {
            Self::Folder(whole) => {
                let folder = whole.join(folder);
                if !folder.is_dir() {
                    return Ok(names);
                }
                for entry in fs::read_dir(&folder).map_err(|error| Error::io(&folder, error))? {
                    let entry = entry.map_err(|error| Error::io(&folder, error))?;
                    names.push(entry.file_name().to_string_lossy().into_owned());
                }
            }
            Self::Zip(archive) => {
                let below = |part: &str| Some(part.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
                let parts = archive.parts().into_iter().filter_map(|part| below(&part));
                names.extend(parts.filter_map(|part| part.split('/').next().map(str::to_owned)));
                names.retain(|name| !name.is_empty());
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Opens a file by its relative path, if it exists.
    pub(crate) fn open(&mut self, name: &str) -> Result<Option<Opened<'_>>> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                // A file that exists but cannot be read is an error, not an absent file.
                match fs::metadata(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                        return Ok(None);
                    }
                    Ok(known) if !known.is_file() => {
                        let found = if known.is_dir() { "a folder" } else { "a pipe or a device" };
                        let place = Place::file(path.display().to_string());
                        return Err(Error::malformed(place, "a file", found));
                    }
                    known => known.map_err(|error| Error::io(&path, error))?,
                };
                let file = File::open(&path).map_err(|error| Error::io(&path, error))?;
                Ok(Some((Box::new(file), Place::file(path.display().to_string()))))
            }
            Self::Zip(archive) => {
                if archive.zip.index_for_name(name).is_none() {
                    return Ok(None);
                }
                let place = archive.place(name);
                Ok(Some((Box::new(archive.part(name)?), place)))
            }
        }
    }

    /// The folder or archive as a whole.
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Folder(folder) => Place::file(folder.display().to_string()),
            Self::Zip(archive) => archive.whole(),
        }
    }
}

/// Unpacks a gzip stream while it is read, up to a limit.
pub(crate) fn gunzip<'a>(packed: impl Read + Send + 'a) -> impl Read + Send + 'a {
    let packed = Tally { inner: packed, bytes: 0 };
    Gunzip { inner: MultiGzDecoder::new(BufReader::with_capacity(1 << 16, packed)), unpacked: 0 }
}

struct Tally<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Tally<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

struct Gunzip<R> {
    inner: MultiGzDecoder<BufReader<Tally<R>>>,
    unpacked: u64,
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        let packed = self.inner.get_ref().get_ref().bytes;
        if self.unpacked > packed.saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it unpacks to more than {MAX_RATIO} bytes for every packed byte"),
            ));
        }
        Ok(count)
    }
}

/// Counts the unpacked bytes and stops at the limit.
struct Counted<'a, R> {
    inner: R,
    limit: u64,
    spent: &'a mut u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        *self.spent += count as u64;
        if *self.spent > self.limit {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("its unpacked size is more than the limit of {}", self.limit),
            ))
        } else {
            Ok(count)
        }
    }
}

/// Distinguishes an error of the operating system from a broken archive.
fn refused(archive: &str, place: Place, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) if source.raw_os_error().is_some() => Error::io(Path::new(archive), source),
        ZipError::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
            Error::malformed(place, "a complete zip archive", "a truncated one")
        }
        ZipError::Io(source) => {
            Error::malformed(place, "an intact archive", format!("damaged data ({source})"))
        }
        ZipError::InvalidArchive(reason) => Error::malformed(
            place,
            "a zip archive",
            format!("something else, or a damaged archive ({reason})"),
        ),
        error => Error::malformed(place, "members that are stored or deflated", error.to_string()),
    }
}
