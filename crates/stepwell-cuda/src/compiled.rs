//! Caches compiled kernels on disk, so that they are compiled only once.
//!
//! A file is named by a SHA-256 of the program, the architecture and the compiler version, and
//! begins with a SHA-256 of the rest. The code of a broken file is compiled again; if a file cannot
//! be written, the code is not cached.

use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use stepwell_data::files;

use crate::machine::Trouble;

const CHECKSUM: usize = 32;

/// Loads the code from the folder, or compiles and stores it.
pub fn find(
    folder: Option<&Path>,
    source: &str,
    target: &str,
    (major, minor): (i32, i32),
    compile: impl FnOnce() -> Result<Vec<u8>, Trouble>,
) -> Result<Vec<u8>, Trouble> {
    let Some(folder) = folder else { return compile() };
    let named = Sha256::digest(format!("{target} {major}.{minor}\n{source}"));
    let name: String = named.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = folder.join(format!("{name}.cubin"));
    if let Ok(bytes) = std::fs::read(&path)
        && let Some((sum, code)) = bytes.split_at_checked(CHECKSUM)
        && Sha256::digest(code)[..] == *sum
    {
        return Ok(code.to_vec());
    }
    let code = compile()?;
    let _ = files::write_whole::<stepwell_data::Error>(&path, |out| {
        let written = out.write_all(&Sha256::digest(&code)).and_then(|()| out.write_all(&code));
        written.map_err(|error| stepwell_data::Error::io(&path, error))
    });
    Ok(code)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    #[test]
    fn code_is_compiled_once_for_each_program_architecture_and_compiler_and_again_when_broken() {
        let folder = tempfile::tempdir().unwrap();
        let compiled = Cell::new(0);
        let find = |source: &str, target: &str, version| {
            find(Some(folder.path()), source, target, version, || {
                compiled.set(compiled.get() + 1);
                Ok(format!("{target} {source}").into_bytes())
            })
            .unwrap()
        };
        for _ in 0..2 {
            assert_eq!(find("a", "sm_90", (12, 9)), b"sm_90 a");
        }
        assert_eq!(compiled.get(), 1);
        find("b", "sm_90", (12, 9));
        find("a", "sm_80", (12, 9));
        find("a", "sm_90", (13, 0));
        assert_eq!(compiled.get(), 4);
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(find("a", "sm_90", (12, 9)), b"sm_90 a");
        assert_eq!(compiled.get(), 5);
    }
}
