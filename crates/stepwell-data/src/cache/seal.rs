//! The seal of a cached pyramid, which only the same user can create.
//!
//! A checksum detects damage, but anyone who changes a file can also replace its checksum. So the
//! hash at the end of a file also covers a secret and the key of the pooled graphs. The secret lies
//! in the cache, where only its owner can read it. Someone who cannot read the secret can neither
//! use the cache nor add a file that is accepted.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::bytes::DIGEST;
use crate::error::{Error, Place, Result};
use crate::files;

/// The name of the secret's file in the folder of the cache.
const NAME: &str = "seal";

/// The secret of a cache.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seal([u8; DIGEST]);

impl Seal {
    /// Opens the secret of a folder; `None` if it has none yet.
    pub fn open(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let io = |source| Error::io(&path, source);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(io)?,
        };
        let place = || Place::file(path.display().to_string());
        if is_open_to_others(&file.metadata().map_err(io)?) {
            let found = "one that other users can read; delete it and the pyramids next to it";
            return Err(Error::malformed(place(), "a secret that only this user can read", found));
        }
        let mut secret = Vec::new();
        (&file).take(DIGEST as u64 + 1).read_to_end(&mut secret).map_err(io)?;
        let found = format!("{} bytes", secret.len());
        let secret = secret.try_into().map_err(|_| Error::malformed(place(), "32 bytes", found))?;
        Ok(Some(Self(secret)))
    }

    /// Opens the secret of a folder, creating it if there is none. Processes that create it at the
    /// same time all get the same secret.
    pub fn make(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let io = |source| Error::io(&path, source);
        if let Some(seal) = Self::open(folder)? {
            return Ok(seal);
        }
        let mut secret = [0; DIGEST];
        getrandom::fill(&mut secret).map_err(|error| io(io::Error::other(error)))?;
        if files::write_secret(&path, &secret)? {
            return Ok(Self(secret));
        }
        let gone = || io(io::Error::new(io::ErrorKind::NotFound, "it was removed meanwhile"));
        Self::open(folder)?.ok_or_else(gone)
    }

    /// The seal at the end of a file, for its key and the hash of everything before.
    pub fn on(&self, key: &str, hash: &[u8; DIGEST]) -> [u8; DIGEST] {
        let inner = Sha256::new().chain_update(key).chain_update(hash).finalize();
        Sha256::new().chain_update(self.0).chain_update(inner).finalize().into()
    }

    /// A fixed secret, for tests.
    #[cfg(test)]
    pub fn known() -> Self {
        Self([7; DIGEST])
    }
}

#[cfg(unix)]
fn is_open_to_others(known: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    known.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_secret() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Seal::open(folder.path()).unwrap(), None);
        let made = Seal::make(folder.path()).unwrap();
        assert_eq!(Seal::make(folder.path()).unwrap(), made);
        assert_eq!(Seal::open(folder.path()).unwrap(), Some(made.clone()));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Seal::make(other.path()).unwrap(), made);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Seal::make(folder.path()).unwrap();
        let path = folder.path().join(NAME);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refusal = Seal::open(folder.path()).unwrap_err().to_string();
        assert!(refusal.contains("expected a secret that only this user can read"), "{refusal}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"short").unwrap();
        assert!(Seal::open(folder.path()).unwrap_err().to_string().contains("found 5 bytes"));
    }
}
