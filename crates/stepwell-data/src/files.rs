//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// What is being written aside right now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is being written aside: for a program that is about to end
/// before its time, on Ctrl-C for instance.
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

/// Writes a file aside and renames it into place once `fill` has succeeded. A
/// link is followed; what is no file (a pipe, a device) is written to as it is.
pub fn write_whole<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), E> {
    let io = |source| E::from(Error::io(path, source));
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let file = File::options().write(true).open(&target).map_err(io)?;
        let mut writer = BufWriter::with_capacity(1 << 18, &file);
        fill(&mut writer)?;
        return writer.flush().map_err(io);
    }
    let folder = parent(&target);
    fs::create_dir_all(folder).map_err(|source| E::from(Error::io(folder, source)))?;
    let aside = tempfile::Builder::new().prefix(".stepwell-").tempfile_in(folder).map_err(io)?;
    let _listed = Unfinished::new(aside.path());
    let mut writer = BufWriter::with_capacity(1 << 18, aside.as_file());
    fill(&mut writer)?;
    writer.flush().map_err(io)?;
    drop(writer);
    finish(aside.as_file()).map_err(io)?;
    aside.persist(&target).map_err(|error| io(error.error))?;
    Ok(())
}

/// Fills a folder aside and renames it into place once `fill` has succeeded.
/// A folder that exists and holds anything is left alone.
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
    let aside = tempfile::Builder::new().prefix(".stepwell-").tempdir_in(folder).map_err(io)?;
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

/// Temporary files are private; what is kept gets the permissions any new file gets.
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

/// The process's file mode mask, read without changing it where the system tells.
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
}
