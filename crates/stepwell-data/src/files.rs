//! Files that appear whole or not at all.
//!
//! A file is first written next to its target, under a temporary name (`.stepwell-…`), and held by
//! a lock. A temporary file of a killed process has no lock; the next process that writes the same
//! target removes it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, TempDir};

use crate::error::{Error, Place, Result};
use crate::identity::checksum;
use crate::memory;

/// The temporary files being written right now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files being written, for a program about to exit early, for example on
/// Ctrl-C.
pub fn discard_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// Keeps a path on the list while it is being written.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// The most bytes read from a pipe or a device, whose length is unknown.
const LONGEST_PIPE: u64 = 1 << 30;

/// Bytes read between two checks of the remaining memory.
const AT_ONCE: u64 = 16 << 20;

/// Reads a whole file if the memory budget allows `times` its size: more than 1 if the result of
/// parsing needs more memory than the bytes.
pub fn read(path: &Path, times: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    read_open(&file, path, times)
}

/// Like [`read`], for an open file.
pub fn read_open(file: &File, path: &Path, times: u64) -> Result<Vec<u8>> {
    let known = file.metadata().map_err(|source| Error::io(path, source))?;
    if known.is_file() {
        let place = Place::file(path.display().to_string());
        memory::ask(&place, "the file", known.len().saturating_mul(times))?;
        read_all(file, path, times, u64::MAX)
    } else {
        read_all(file, path, times, LONGEST_PIPE)
    }
}

/// Reads to the end, which may come late or never, as with devices and compressed data. Refuses
/// more than `limit` bytes, whatever the budget.
pub fn read_all(mut from: impl Read, path: &Path, times: u64, limit: u64) -> Result<Vec<u8>> {
    let place = Place::file(path.display().to_string());
    let mut bytes = Vec::new();
    loop {
        let found = bytes.len() as u64;
        if found > limit {
            return Err(Error::TooLarge { place, what: "its size in bytes", limit, found });
        }
        // Vectors grow to twice their size, but only pages that are written to take memory.
        memory::ask(&place, "the file", AT_ONCE.max(found.saturating_mul(times.saturating_sub(1))))?;
        let count = from.by_ref().take(AT_ONCE).read_to_end(&mut bytes);
        if count.map_err(|source| Error::io(path, source))? == 0 {
            return Ok(bytes);
        }
    }
}

/// Writes a temporary file and renames it into place once `fill` has succeeded. Follows links;
/// writes directly to a target that is not a file (a pipe, a device).
pub fn write_whole<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), E> {
    let io = |source| E::from(Error::io(path, source));
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if is_device(&target) {
        let file = File::options().write(true).open(&target).map_err(io)?;
        let mut writer = BufWriter::with_capacity(1 << 18, &file);
        fill(&mut writer)?;
        return writer.flush().map_err(io);
    }
    refuse_folder(&target).map_err(io)?;
    let folder = parent(&target);
    fs::create_dir_all(folder).map_err(|source| E::from(Error::io(folder, source)))?;
    let aside = file_aside(folder, &target).map_err(io)?;
    let _listed = Unfinished::new(aside.path());
    let mut writer = BufWriter::with_capacity(1 << 18, aside.as_file());
    fill(&mut writer)?;
    writer.flush().map_err(io)?;
    drop(writer);
    finish(aside.as_file()).map_err(io)?;
    aside.persist(&target).map_err(|error| io(error.error))?;
    Ok(())
}

/// Writes a small file that only its owner can read, unless it exists. Returns whether it was
/// created.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> Result<bool> {
    let io = |source| Error::io(path, source);
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
    // Temporary files are private, and this one stays private.
    let mut aside = file_aside(folder, path).map_err(io)?;
    let _listed = Unfinished::new(aside.path());
    aside.write_all(bytes).map_err(io)?;
    match aside.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(io(error.error)),
    }
}

/// Fails early where [`write_whole`] would fail after much work: if the target is a folder, or
/// nothing can be written next to it.
pub fn check_writable(path: &Path) -> Result<()> {
    let io = |source| Error::io(path, source);
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if is_device(&target) {
        return Ok(());
    }
    refuse_folder(&target).map_err(io)?;
    // Missing folders are created when the output is written.
    let folder = target
        .ancestors()
        .skip(1)
        .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .find(|folder| folder.exists());
    file_aside(folder.unwrap_or(Path::new(".")), &target).map_err(io).map(drop)
}

fn is_device(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

fn refuse_folder(target: &Path) -> io::Result<()> {
    let is_folder = fs::metadata(target).is_ok_and(|known| known.is_dir());
    if is_folder { Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder")) } else { Ok(()) }
}

/// The prefix of all temporary names for a target.
fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    format!(".stepwell-{}-", &checksum(name)[..12])
}

/// Removes the temporary files of killed processes, then creates one locked by this process.
fn file_aside(folder: &Path, target: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix(target);
    remove_left_over(folder, &prefix);
    loop {
        let aside = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
        // Before it was locked, another writer could mistake it for a leftover: that writer holds
        // the lock and is about to remove the file, or has removed it.
        if is_locked(aside.as_file()) && is_at(aside.as_file(), aside.path()) {
            return Ok(aside);
        }
    }
}

/// Like [`file_aside`], for a folder. The returned file holds the lock.
fn folder_aside(folder: &Path, target: &Path) -> io::Result<(TempDir, Option<File>)> {
    let prefix = prefix(target);
    remove_left_over(folder, &prefix);
    loop {
        let aside = tempfile::Builder::new().prefix(&prefix).tempdir_in(folder)?;
        let Ok(opened) = File::open(aside.path()) else { return Ok((aside, None)) };
        if is_locked(&opened) && is_at(&opened, aside.path()) {
            return Ok((aside, Some(opened)));
        }
    }
}

/// Locks a file unless another writer holds it. On systems without locks, no file counts as a
/// leftover.
fn is_locked(file: &File) -> bool {
    !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
}

/// Removes temporary files that no living process holds.
fn remove_left_over(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
        let Some(kind) = entry.file_type().ok().filter(|kind| is_ours && (kind.is_file() || kind.is_dir()))
        else {
            continue;
        };
        let Some(opened) = File::open(entry.path()).ok().filter(|file| file.try_lock().is_ok()) else {
            continue;
        };
        let path = entry.path();
        let _ = if kind.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        drop(opened);
    }
}

/// Whether the file at a path is this very file, not another one and not a link.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (file.metadata(), fs::symlink_metadata(path)) {
            (Ok(here), Ok(there)) => (here.dev(), here.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        fs::symlink_metadata(path).is_ok_and(|there| !there.is_symlink())
    }
}

/// Fills a temporary folder and renames it into place once `fill` has succeeded. Leaves an existing
/// folder alone unless it is empty.
pub fn write_folder_whole<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let io = |source| E::from(Error::io(path, source));
    if path.is_dir() && fs::read_dir(path).map_err(io)?.next().is_some() {
        return Err(io(io::Error::new(io::ErrorKind::AlreadyExists, "the folder exists and is not empty")));
    }
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(|source| E::from(Error::io(folder, source)))?;
    let (aside, _lock) = folder_aside(folder, path).map_err(io)?;
    let _listed = Unfinished::new(aside.path());
    fill(aside.path())?;
    if path.is_dir() {
        fs::remove_dir(path).map_err(io)?;
    }
    let kept = aside.keep();
    permissions(&kept, 0o777).and_then(|()| fs::rename(&kept, path)).map_err(|error| {
        let _ = fs::remove_dir_all(&kept);
        io(error)
    })
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Temporary files are private; a finished file gets the permissions of any new file.
fn finish(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o666 & !umask()))?;
    }
    file.sync_all()
}

fn permissions(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode & !umask()))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// The file mode mask of the process, read without changing it where the system reports it.
#[cfg(unix)]
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/out.txt");
        let failed: Result<()> = write_whole(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(Error::NotFound("stop".into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0, "nothing is left behind");
        write_whole::<Error>(&path, |out| out.write_all(b"whole").map_err(|e| Error::io("x", e))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay_devices() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole::<Error>(&link, |out| out.write_all(b"new").map_err(|e| Error::io(&link, e))).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let nowhere = Path::new("/dev/null");
        write_whole::<Error>(nowhere, |out| out.write_all(b"x").map_err(|e| Error::io(nowhere, e))).unwrap();
        assert!(!fs::metadata(nowhere).unwrap().is_file());
    }

    #[test]
    fn a_folder_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set");
        let fill = |aside: &Path| fs::write(aside.join("a"), "1").map_err(|e| Error::io(aside, e));
        write_folder_whole(&path, fill).unwrap();
        assert!(path.join("a").is_file());
        assert!(write_folder_whole(&path, fill).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    /// The next writer removes the files of killed processes, and leaves those of living ones
    /// alone.
    #[test]
    fn what_was_left_over_is_removed_by_the_next_to_write_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("out"), folder.path().join("other"));
        for target in [&path, &other] {
            let prefix = prefix(target);
            fs::write(folder.path().join(format!("{prefix}dead")), "x").unwrap();
            fs::create_dir(folder.path().join(format!("{prefix}folder"))).unwrap();
            fs::write(folder.path().join(format!("{prefix}folder/a")), "x").unwrap();
        }
        let alive = file_aside(folder.path(), &path).unwrap();
        write_whole::<Error>(&path, |out| out.write_all(b"whole").map_err(|e| Error::io("x", e))).unwrap();
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let held = alive.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected =
            vec![held, format!("{}dead", prefix(&other)), format!("{}folder", prefix(&other)), "out".into()];
        expected.sort();
        assert_eq!(names, expected);
        let set = folder.path().join("other");
        write_folder_whole(&set, |aside| fs::write(aside.join("a"), "1").map_err(|e| Error::io(aside, e)))
            .unwrap();
        drop(alive);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "out and other");
    }

    #[test]
    fn a_target_that_cannot_be_written_is_noticed_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_writable(folder.path()).is_err(), "a folder");
        assert!(check_writable(&folder.path().join("new/deep/out")).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        assert!(check_writable(Path::new("/proc/none/out")).is_err());
        let begun: Result<()> = write_whole(folder.path(), |_| panic!("never begun"));
        assert!(begun.is_err());
    }
}
