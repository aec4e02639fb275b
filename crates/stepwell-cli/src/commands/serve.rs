use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use stepwell_data::files;
use stepwell_serve::{Limits, Options};

use crate::BadUsage;
use crate::terminal::Terminal;

/// The longest token, in bytes.
const LONGEST_TOKEN: u64 = 1 << 16;

/// Serve predictions, vectors and explanations over HTTP
///
/// POST /predict, /embed and /explain read graphs as JSON lines or as an Arrow stream, and
/// respond in the same format; GET / shows the models. By default only this machine can
/// connect; if --listen names another address, set a token (--token-file). SIGHUP reloads the models; SIGTERM
/// and Ctrl-C finish the accepted requests and exit. The log is JSON lines on standard
/// error; --quiet logs only warnings and errors.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell serve -m model.safetensors
  stepwell serve -m tox=tox.safetensors -m sol=sol.safetensors --listen 0.0.0.0:8080 --token-file token
  curl --data-binary @graphs.jsonl 'http://127.0.0.1:8080/predict?proba=1'")]
pub struct Serve {
    /// A saved model, named after its file or by NAME; may be repeated
    #[arg(short, long = "model", value_name = "[NAME=]FILE", required = true)]
    models: Vec<OsString>,

    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,

    /// Require clients to send the token stored in this file, as the header
    /// 'Authorization: Bearer TOKEN'. The environment variable STEPWELL_TOKEN may hold the token
    /// instead
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Largest body of a request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 14))]
    max_body: u32,

    /// Largest number of graphs in a request
    #[arg(long, value_name = "GRAPHS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_rows: u32,

    /// Largest number of vertices in a request, over all its graphs
    #[arg(long, value_name = "VERTICES", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_vertices: u32,

    /// Time limit of a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    timeout: u32,

    /// Largest number of open connections; others wait
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    max_connections: u32,
}

impl Serve {
    /// Serves until a signal stops the process.
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = Options {
            listen: self.listen.clone(),
            models: self.models().context(BadUsage)?,
            token: self.token()?,
            limits: Limits {
                body: (self.max_body as usize) << 20,
                rows: self.max_rows as usize,
                vertices: self.max_vertices as usize,
                time: Duration::from_secs(self.timeout.into()),
                connections: self.max_connections as usize,
                ..Limits::default()
            },
            threads: rayon::current_num_threads(),
            quiet: terminal.is_quiet(),
        };
        Ok(stepwell_serve::run(&options, |_| ())?)
    }

    fn models(&self) -> Result<Vec<(String, PathBuf)>> {
        let mut models: Vec<(String, PathBuf)> = Vec::new();
        for given in &self.models {
            let (name, path) = named(given)?;
            let twice = models.iter().any(|(known, _)| *known == name);
            ensure!(
                !twice,
                "--model: two models are called '{name}'; give one of them another name, as in other={}",
                path.display()
            );
            models.push((name, path));
        }
        Ok(models)
    }

    fn token(&self) -> Result<Option<String>> {
        let given = match &self.token_file {
            Some(path) => {
                let file = fs::File::open(path).with_context(|| path.display().to_string())?;
                let bytes = files::read_all(file, path, 1, LONGEST_TOKEN)?;
                Some(String::from_utf8(bytes).with_context(|| path.display().to_string())?)
            }
            None => std::env::var("STEPWELL_TOKEN").ok(),
        };
        let Some(token) = given else { return Ok(None) };
        let token = token.trim();
        if token.is_empty() {
            let place =
                self.token_file.as_deref().map_or("STEPWELL_TOKEN".into(), |path| path.display().to_string());
            return Err(anyhow!("{place}: the token is empty").context(BadUsage));
        }
        Ok(Some(token.to_owned()))
    }
}

/// The path that starts at byte `at` of an argument.
#[cfg(unix)]
fn cut(given: &OsStr, at: usize) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(given.as_bytes().get(at..)?).into())
}

#[cfg(not(unix))]
fn cut(given: &OsStr, at: usize) -> Option<PathBuf> {
    Some(given.to_str()?.get(at..)?.into())
}

/// The name and the file of a model.
fn named(given: &OsStr) -> Result<(String, PathBuf)> {
    let good = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !name.is_empty() && name.chars().all(plain)
    };
    // A name is UTF-8; its path need not be.
    let bytes = given.as_encoded_bytes();
    let before = bytes.iter().position(|&byte| byte == b'=').map_or(&[][..], |end| &bytes[..end]);
    if let Ok(name) = std::str::from_utf8(before)
        && good(name)
        && !Path::new(given).exists()
        && let Some(path) = cut(given, name.len() + 1)
    {
        return Ok((name.to_owned(), path));
    }
    let name = Path::new(given).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    ensure!(
        good(&name),
        "--model: '{name}' cannot be a name in a URL; choose a name of letters, digits, '-', '_' and '.', as in name={}",
        given.display()
    );
    Ok((name, given.into()))
}
