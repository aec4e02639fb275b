//! Downloads a file over HTTPS: retries, verifies, and moves it into place only once it is
//! complete.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{Error, Result};

/// The address of the TU Dortmund collection.
pub const BASE_URL: &str = "https://www.chrsmrrs.com/graphkerneldatasets";

/// Bytes downloaded so far and, if the server reports it, in total.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Bytes so far.
    pub bytes: u64,
    /// Bytes in total.
    pub total: Option<u64>,
}

/// Receives the progress of a download from time to time; can stop it.
pub type Progress<'a> = &'a mut dyn FnMut(Fetched) -> ControlFlow<()>;

/// Downloads `url` to `path`. The content must have the announced length, match `sha256` if given,
/// and be a zip archive.
#[cfg(feature = "download")]
pub fn fetch(url: &str, path: &Path, sha256: Option<&str>, progress: Progress<'_>) -> Result<()> {
    http::fetch(url, path, sha256, progress)
}

/// This build cannot download.
#[cfg(not(feature = "download"))]
pub fn fetch(url: &str, _: &Path, _: Option<&str>, _: Progress<'_>) -> Result<()> {
    Err(Error::Download {
        url: url.into(),
        reason: "this build cannot download (feature 'download' of stepwell-data)".into(),
    })
}

#[cfg(feature = "download")]
mod http {
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::thread;
    use std::time::Duration;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::archive::Archive;
    use crate::files;

    const TRIES: u32 = 4;
    const FIRST_PAUSE: Duration = Duration::from_millis(500);
    /// No graph dataset is larger, so a server that sends more is sending something else.
    const MAX_BYTES: u64 = 64 << 30;

    /// The outcome of a failed attempt.
    enum Failure {
        /// A retry may succeed.
        Passing(String),
        /// A retry will not help.
        Final(String),
    }

    pub(super) fn fetch(url: &str, path: &Path, sha256: Option<&str>, progress: Progress<'_>) -> Result<()> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_resolve(Some(Duration::from_secs(20)))
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .user_agent(concat!("stepwell/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let failed = |reason: String| Error::Download { url: url.into(), reason };
        let mut pause = FIRST_PAUSE;
        for left in (0..TRIES).rev() {
            let mut outcome = Ok(());
            files::write_whole(path, |out| {
                outcome = try_once(&agent, url, sha256, out.get_ref(), progress);
                match &outcome {
                    Ok(()) => Ok(()),
                    Err(Failure::Passing(reason) | Failure::Final(reason)) => Err(failed(reason.clone())),
                }
            })
            .or_else(|error| match outcome {
                Err(Failure::Passing(_)) if left > 0 => Ok(()),
                _ => Err(error),
            })?;
            if outcome.is_ok() {
                return Ok(());
            }
            thread::sleep(pause);
            pause *= 2;
        }
        Err(failed("no attempt succeeded".into()))
    }

    fn try_once(
        agent: &ureq::Agent,
        url: &str,
        sha256: Option<&str>,
        mut out: &File,
        progress: Progress<'_>,
    ) -> std::result::Result<(), Failure> {
        let disk = |error: std::io::Error| Failure::Final(format!("writing failed: {error}"));
        let mut response = agent.get(url).call().map_err(explain)?;
        let total = response.body().content_length();
        let mut body = response.body_mut().with_config().limit(MAX_BYTES).reader();
        let (mut bytes, mut digest, mut buffer) = (0u64, Sha256::new(), vec![0; 1 << 16]);
        loop {
            let count = body.read(&mut buffer).map_err(|error| {
                Failure::Passing(format!("the connection broke after {bytes} bytes: {error}"))
            })?;
            if count == 0 {
                break;
            }
            digest.update(&buffer[..count]);
            out.write_all(&buffer[..count]).map_err(disk)?;
            bytes += count as u64;
            if progress(Fetched { bytes, total }).is_break() {
                return Err(Failure::Final("stopped".into()));
            }
        }
        if let Some(total) = total.filter(|&total| total != bytes) {
            return Err(Failure::Passing(format!("expected {total} bytes, found {bytes}")));
        }
        let found: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(expected) = sha256.filter(|expected| !expected.eq_ignore_ascii_case(&found)) {
            return Err(Failure::Final(format!("expected sha256 {expected}, found {found}")));
        }
        out.seek(SeekFrom::Start(0)).map_err(disk)?;
        match Archive::open(out, "the download") {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Final(error.to_string())),
        }
    }

    fn explain(error: ureq::Error) -> Failure {
        match error {
            ureq::Error::StatusCode(404) => {
                Failure::Final("no such dataset on the server (404); 'stepwell datasets' lists names".into())
            }
            ureq::Error::StatusCode(code) if code < 500 && code != 408 && code != 429 => {
                Failure::Final(format!("the server returned status {code}"))
            }
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => Failure::Passing(format!(
                "{error}; check the network, or pass the path of a folder or zip of the dataset"
            )),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                Failure::Final(format!("not a valid address: {error}"))
            }
            other => Failure::Passing(other.to_string()),
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::{BufRead, BufReader, Cursor};
        use std::net::TcpListener;

        use zip::ZipWriter;
        use zip::write::SimpleFileOptions;

        use super::*;

        fn archive() -> Vec<u8> {
            let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
            zip.start_file("X_A.txt", SimpleFileOptions::default()).unwrap();
            zip.write_all(b"1, 2\n").unwrap();
            zip.finish().unwrap().into_inner()
        }

        /// A server on loopback that sends these responses, one per connection. Returns its
        /// address.
        fn serve(answers: Vec<Vec<u8>>) -> String {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/X.zip", listener.local_addr().unwrap());
            thread::spawn(move || {
                for answer in answers {
                    let Ok((mut stream, _)) = listener.accept() else { return };
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                    let _ = stream.write_all(&answer);
                }
            });
            url
        }

        fn answer(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            [head.as_bytes(), body].concat()
        }

        fn fetched(answers: Vec<Vec<u8>>, sha256: Option<&str>) -> (Result<()>, Vec<String>) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("X.zip");
            let url = serve(answers);
            let result = fetch(&url, &path, sha256, &mut |_| ControlFlow::Continue(()));
            let left = std::fs::read_dir(folder.path()).unwrap();
            (result, left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        }

        #[test]
        fn a_broken_connection_is_tried_again() {
            let zip = archive();
            let answers = vec![
                answer("503 Busy", 0, b""),
                answer("200 OK", zip.len(), &zip[..20]),
                answer("200 OK", zip.len(), &zip),
            ];
            let (result, left) = fetched(answers, None);
            result.unwrap();
            assert_eq!(left, ["X.zip"]);
        }

        #[test]
        fn what_is_wrong_leaves_nothing_behind() {
            let zip = archive();
            let page = b"<html>Please log in</html>";
            for (answers, sha256, reason) in [
                (vec![answer("404 Not Found", 0, b"")], None, "no such dataset on the server (404)"),
                (vec![answer("200 OK", page.len(), page)], None, "expected a zip archive"),
                (vec![answer("200 OK", zip.len(), &zip)], Some("00ff"), "expected sha256 00ff, found"),
                (vec![answer("403 Forbidden", 0, b"")], None, "the server returned status 403"),
            ] {
                let (result, left) = fetched(answers, sha256);
                let text = result.unwrap_err().to_string();
                assert!(text.contains(reason), "{text}");
                assert!(left.is_empty(), "{left:?}");
            }
        }

        #[test]
        fn the_caller_may_stop_it() {
            let folder = tempfile::tempdir().unwrap();
            let zip = archive();
            let url = serve(vec![answer("200 OK", zip.len(), &zip)]);
            let result = fetch(&url, &folder.path().join("X.zip"), None, &mut |_| ControlFlow::Break(()));
            assert!(result.unwrap_err().to_string().ends_with("stopped"));
        }
    }
}
