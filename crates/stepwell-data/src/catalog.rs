//! Finds a dataset by its path or name.
//!
//! An argument with a separator, a leading dot or a known extension is a path; `-` is JSON lines on
//! standard input. Anything else is a name. The paper's benchmark and the families of [`synthetic`]
//! graphs are generated. Other names are searched in the data folders and the cache, as a folder or
//! a zip archive in the TU Dortmund or OGB layout or as an `.npz` file, and then downloaded.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::dataset::Dataset;
use crate::download::{self, Progress};
use crate::error::{Error, Place, Result, nearest_name};
use crate::rows::ReadOptions;
use crate::synthetic::{self, BenchmarkOptions, Family, Generated};
use crate::{files, jsonl, npz, ogb, tud};

/// Datasets of the collection used by the paper and by related work, with their number of graphs: a
/// list for display, not a limit.
pub const KNOWN: [(&str, usize); 14] = [
    ("MUTAG", 188),
    ("ENZYMES", 600),
    ("PROTEINS", 1113),
    ("PROTEINS_full", 1113),
    ("NCI1", 4110),
    ("NCI109", 4127),
    ("Mutagenicity", 4337),
    ("DD", 1178),
    ("IMDB-BINARY", 1000),
    ("IMDB-MULTI", 1500),
    ("COLLAB", 5000),
    ("REDDIT-BINARY", 2000),
    ("REDDIT-MULTI-5K", 4999),
    ("AIDS", 2000),
];

/// A file format for graphs, recognised by the extension.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// TU Dortmund text files in a folder.
    TudFolder,
    /// The same in a zip archive.
    TudZip,
    /// OGB's raw layout, in a folder or a zip archive.
    Ogb,
    /// The benchmark's arrays of pickled matrices.
    Npz,
    /// One JSON object per line.
    JsonLines,
    /// Parquet, one graph per row.
    Parquet,
}

impl Format {
    /// The format of the file or folder at that path.
    pub fn of(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(if ogb::is_one(path) { Self::Ogb } else { Self::TudFolder });
        }
        let name = path.to_string_lossy().to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        if plain.ends_with(".csv") || plain.ends_with(".tsv") {
            return Err(Error::Unsupported(format!(
                "{}: tables are read only if they hold molecules: name the SMILES column with --smiles (in Python: stepwell.molecules.read_csv); graphs are read from .zip, .npz, .jsonl or .parquet files",
                path.display()
            )));
        }
        match Self::by_extension(path) {
            Some(Self::TudZip) if ogb::is_one(path) => Ok(Self::Ogb),
            found => found.ok_or_else(|| unknown_extension(path, ".zip, .npz, .jsonl or .parquet")),
        }
    }

    /// The format to write to that path: by its extension, or a folder if it has none or ends in a
    /// separator.
    pub fn to_write(path: &Path) -> Result<Self> {
        Self::by_extension(path).ok_or_else(|| unknown_extension(path, ".zip, .jsonl or .parquet"))
    }

    fn by_extension(path: &Path) -> Option<Self> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Some(Self::TudFolder);
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("zip") => Some(Self::TudZip),
            Some("npz") => Some(Self::Npz),
            Some("jsonl") => Some(Self::JsonLines),
            Some("parquet") => Some(Self::Parquet),
            None => Some(Self::TudFolder),
            Some(_) => None,
        }
    }
}

fn unknown_extension(path: &Path, known: &str) -> Error {
    Error::Unsupported(format!(
        "{}: unknown file extension; expected {known}, or a folder without an extension",
        path.display()
    ))
}

/// The location of a dataset, resolved from an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// The paper's benchmark, to be generated.
    Benchmark(BenchmarkOptions),
    /// One graph of a family, to be generated.
    Family(Family),
    /// A file or folder.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Not on this machine, but can be downloaded under this name.
    Remote(String),
}

/// The places to search for datasets.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Folders to search, with their direct subfolders.
    pub folders: Vec<PathBuf>,
    /// The folder for downloads; without it, downloads are not kept.
    pub cache: Option<PathBuf>,
    /// The address to download from: `BASE/NAME.zip`.
    pub base_url: String,
    /// Whether downloading is allowed.
    pub online: bool,
}

impl Catalog {
    /// The folders named by `data_dir` and `STEPWELL_DATA` (several, separated
    /// by colons), the cache `STEPWELL_CACHE` or else the user's cache folder,
    /// downloads from `STEPWELL_URL` or else the TU Dortmund collection.
    pub fn from_environment(data_dir: Option<PathBuf>) -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let more = set("STEPWELL_DATA").map(|list| env::split_paths(&list).collect::<Vec<_>>());
        let cache = set("STEPWELL_CACHE").map(PathBuf::from);
        let user_cache = || {
            let base = set("XDG_CACHE_HOME").map(PathBuf::from);
            let base = base.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")));
            base.map(|base| base.join("stepwell"))
        };
        let url = set("STEPWELL_URL").map(|url| url.to_string_lossy().into_owned());
        Self {
            folders: data_dir.into_iter().chain(more.unwrap_or_default()).collect(),
            cache: cache.or_else(user_cache),
            base_url: url.unwrap_or_else(|| download::BASE_URL.to_owned()),
            online: true,
        }
    }

    /// Parses an argument and locates the dataset.
    pub fn locate(&self, argument: impl AsRef<OsStr>) -> Result<Location> {
        let path = Path::new(argument.as_ref());
        let as_path = || {
            if path.exists() {
                Ok(Location::Path(path.to_owned()))
            } else {
                Err(Error::NotFound(format!("{}: no such file or folder", path.display())))
            }
        };
        // A name is UTF-8; any other bytes can only be a path.
        let Some(argument) = argument.as_ref().to_str() else { return as_path() };
        if argument == "-" {
            return Ok(Location::Stdin);
        }
        let known_ending = path.extension().is_some() && Format::of(path).is_ok();
        if argument.contains(['/', '\\']) || argument.starts_with('.') || known_ending {
            return as_path();
        }
        if let Some(options) = BenchmarkOptions::named(argument) {
            return Ok(Location::Benchmark(options));
        }
        if path.is_file() {
            // A file of this name exists, so the argument is its path; an unknown extension gives
            // an error that lists the known ones.
            return Format::of(path).map(|_| Location::Path(path.to_owned()));
        }
        if argument.contains(':') {
            return Family::parse(argument).map(Location::Family);
        }
        if argument.is_empty() || !argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            return Err(Error::NotFound(format!(
                "'{}' is neither a path nor the name of a dataset; 'stepwell datasets' lists names",
                argument.escape_debug()
            )));
        }
        if let Some(path) = self.found(argument) {
            return Ok(Location::Path(path));
        }
        if is_dataset(path) {
            return Ok(Location::Path(path.to_owned()));
        }
        let names = self.names();
        if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(argument)) {
            return Ok(self.found(name).map_or_else(|| Location::Remote(name.clone()), Location::Path));
        }
        if path.is_dir() {
            return Err(Error::NotFound(format!(
                "{argument}: this folder holds no dataset: no file *_A.txt (TU Dortmund layout), no raw/num-node-list.csv.gz (OGB); to read a file in it, pass its path, such as {argument}/graphs.parquet"
            )));
        }
        if argument.contains('.') {
            return Err(Error::NotFound(format!(
                "{argument}: no such file, and not the name of a dataset; files end in .parquet, .jsonl, .npz or .zip"
            )));
        }
        Ok(Location::Remote(argument.to_owned()))
    }

    /// All known names: those on this machine, and those in the list.
    fn names(&self) -> Vec<String> {
        let here = self.on_this_machine().into_iter().map(|(name, _)| name);
        here.chain(KNOWN.map(|(name, _)| name.to_owned())).collect()
    }

    /// Suggests the known name closest to an unknown one.
    fn did_you_mean(&self, name: &str) -> String {
        let names = self.names();
        match nearest_name(name, names.iter().map(String::as_str)) {
            Some(known) if known == name => String::new(),
            Some(known) => format!("; did you mean {known}?"),
            None => "; 'stepwell datasets' lists names".into(),
        }
    }

    /// The path of a named dataset on this machine.
    fn found(&self, name: &str) -> Option<PathBuf> {
        self.places()
            .into_iter()
            .flat_map(|folder| {
                [name.to_owned(), format!("{name}.zip"), format!("{name}.npz")].map(|file| folder.join(file))
            })
            .find(|candidate| candidate.is_file() || (candidate.is_dir() && is_dataset(candidate)))
    }

    /// All folders to search, in order.
    fn places(&self) -> Vec<PathBuf> {
        let mut places = Vec::new();
        for folder in self.folders.iter().chain(&self.cache) {
            places.push(folder.clone());
            let mut inside: Vec<PathBuf> = subfolders(folder);
            inside.sort();
            places.extend(inside);
        }
        places
    }

    /// The names and paths of all datasets on this machine, sorted by name.
    pub fn on_this_machine(&self) -> Vec<(String, PathBuf)> {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for place in self.places() {
            let Ok(entries) = std::fs::read_dir(&place) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let is_file = path.extension().is_some_and(|e| e == "zip" || e == "npz") && path.is_file();
                let name = if is_file { path.file_stem() } else { path.file_name() };
                let Some(name) = name.and_then(|n| n.to_str()) else { continue };
                let found_one = is_file || (path.is_dir() && is_dataset(&path));
                if found_one && !name.starts_with('.') && !found.iter().any(|(known, _)| known == name) {
                    // The same file that the name finds.
                    found.push((name.to_owned(), self.found(name).unwrap_or_else(|| path.clone())));
                }
            }
        }
        found.sort();
        found
    }

    /// Loads a dataset, downloading it first if necessary. `seed` applies to generated datasets.
    pub fn load(&self, argument: impl AsRef<OsStr>, seed: u64, progress: Progress<'_>) -> Result<Dataset> {
        self.load_with(argument, seed, &ReadOptions::default(), progress)
    }

    /// Like [`load`](Self::load), with named columns for datasets made of rows.
    pub fn load_with(
        &self,
        argument: impl AsRef<OsStr>,
        seed: u64,
        options: &ReadOptions,
        progress: Progress<'_>,
    ) -> Result<Dataset> {
        let name = argument.as_ref().to_string_lossy();
        match self.locate(&argument)? {
            Location::Benchmark(_) | Location::Family(_) if options.name_columns() => {
                Err(no_columns(name, "a generated dataset"))
            }
            Location::Benchmark(options) => synthetic::generate(&BenchmarkOptions { seed, ..options }),
            Location::Family(family) => {
                let Generated { graph, coordinates } = family.generate(seed)?;
                let graphs = graph.into_batch();
                Ok(Dataset { name: name.into(), graphs, coordinates, ..Dataset::default() })
            }
            Location::Path(path) => read_with(&path, options),
            Location::Stdin => {
                let place = Place::file("standard input");
                let reader = jsonl::Reader::with_options(io::stdin().lock(), place.clone(), options)?;
                let whole = Dataset::collect(reader, &place)?;
                Ok(Dataset { name: "stdin".into(), ..whole })
            }
            Location::Remote(name) => read_with(&self.fetch(&name, None, progress)?, options),
        }
    }

    /// Downloads a dataset into the cache and returns its path.
    pub fn fetch(&self, name: &str, sha256: Option<&str>, progress: Progress<'_>) -> Result<PathBuf> {
        let url = format!("{}/{name}.zip", self.base_url.trim_end_matches('/'));
        let searched = self.folders.iter().chain(&self.cache).map(|f| f.display().to_string());
        let searched = searched.collect::<Vec<_>>().join(", ");
        if !self.online {
            return Err(Error::NotFound(format!(
                "{name} is not on this machine (looked in {searched}), and downloads are off; remove --offline (in Python, remove download=False) to fetch {url}{}",
                self.did_you_mean(name)
            )));
        }
        let cache = self.cache.as_deref().ok_or_else(|| {
            Error::NotFound(format!(
                "{name}: no cache folder for the download; set STEPWELL_CACHE to a folder"
            ))
        })?;
        let path = cache.join(format!("{name}.zip"));
        download::fetch(&url, &path, sha256, progress).map_err(|error| match error {
            Error::Download { url, reason } => {
                let copy = "; if a copy is on this machine, name its folder with --data-dir or STEPWELL_DATA";
                Error::Download { url, reason: reason + copy + &self.did_you_mean(name) }
            }
            other => other,
        })?;
        // Only readable files stay in the cache.
        if let Err(error) = read(&path) {
            let _ = std::fs::remove_file(&path);
            return Err(Error::Download { url, reason: format!("not a dataset: {error}") });
        }
        Ok(path)
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Whether a folder holds a dataset in a text layout.
fn is_dataset(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().ends_with("_A.txt")) || ogb::is_one(folder)
}

/// Reads a file or folder in the format given by its extension.
pub fn read(path: &Path) -> Result<Dataset> {
    read_with(path, &ReadOptions::default())
}

/// Like [`read`], with named columns for files made of rows.
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let named = options.name_columns();
    match Format::of(path)? {
        Format::TudFolder | Format::TudZip if named => {
            Err(no_columns(path.display(), "the TU Dortmund layout"))
        }
        Format::Ogb if named => Err(no_columns(path.display(), "OGB's raw layout")),
        Format::Npz if named => Err(no_columns(path.display(), "an .npz file")),
        Format::TudFolder | Format::TudZip => tud::read(path),
        Format::Ogb => ogb::read(path),
        Format::Npz => npz::read(path),
        Format::JsonLines => jsonl::read_with(path, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => crate::parquet::read_with(path, options),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(path)),
    }
}

fn no_columns(name: impl std::fmt::Display, what: &str) -> Error {
    Error::Unsupported(format!(
        "{name}: {what} has no named columns; targets and groups can be chosen in .jsonl and .parquet files only"
    ))
}

#[cfg(not(feature = "parquet"))]
fn no_parquet(path: &Path) -> Error {
    let what = format!(
        "{}: this build cannot read or write Parquet (feature 'parquet' of stepwell-data)",
        path.display()
    );
    Error::Unsupported(what)
}

/// Information that only Parquet can hold, and whose loss does not prevent another format from
/// being written.
pub fn names_lost(dataset: &Dataset) -> Option<&'static str> {
    (!dataset.target_names.is_empty()).then_some("the names of the targets")
}

/// Writes a dataset in the format given by the extension. Unless `lossy`, refuses a dataset that
/// the format cannot hold. Returns the dropped parts.
pub fn write(dataset: &Dataset, path: &Path, lossy: bool) -> Result<Vec<&'static str>> {
    match Format::to_write(path)? {
        format @ (Format::TudFolder | Format::TudZip) => {
            let lost = tud::lost(dataset);
            if !lossy && !lost.is_empty() {
                return Err(Error::Unsupported(format!(
                    "{}: the TU Dortmund layout has no place for {}; write .jsonl or .parquet, or drop them with --lossy",
                    path.display(),
                    lost.join(", ")
                )));
            }
            tud::write(dataset, path, format == Format::TudZip)?;
            Ok(lost.into_iter().chain(names_lost(dataset)).collect())
        }
        Format::JsonLines => {
            let place = Place::file(path.display().to_string());
            files::write_whole(path, |out| jsonl::Writer::new(out, place).write(dataset))?;
            Ok(names_lost(dataset).into_iter().collect())
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let place = Place::file(path.display().to_string());
            files::write_whole(path, |out| crate::parquet::write(out, dataset, &place).map(drop))?;
            Ok(Vec::new())
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(path)),
        Format::Ogb | Format::Npz => Err(Error::Unsupported(format!(
            "{}: .npz files can be read but not written; write .jsonl, .parquet, .zip or a folder",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn catalog(folder: &Path) -> Catalog {
        Catalog {
            folders: vec![folder.to_owned()],
            cache: Some(folder.join("cache")),
            base_url: "http://127.0.0.1:1".into(),
            online: false,
        }
    }

    #[test]
    fn arguments_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let (direct, below) = (folder.path().join("ONE.zip"), folder.path().join("sets/TWO"));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("TWO_A.txt"), "").unwrap();
        fs::write(&direct, "").unwrap();
        let vertices = folder.path().join("nodes/texas.npz");
        fs::create_dir_all(vertices.parent().unwrap()).unwrap();
        fs::write(&vertices, "").unwrap();
        fs::write(folder.path().join("ONE.npz"), "").unwrap();
        let catalog = catalog(folder.path());
        let locate = |argument: &str| catalog.locate(argument);
        assert_eq!(locate("-").unwrap(), Location::Stdin);
        assert_eq!(locate("ONE").unwrap(), Location::Path(direct.clone()));
        assert_eq!(locate("texas").unwrap(), Location::Path(vertices));
        assert_eq!(locate("TWO").unwrap(), Location::Path(below.clone()));
        assert_eq!(locate("two").unwrap(), Location::Path(below));
        assert_eq!(locate("mutag").unwrap(), Location::Remote("MUTAG".into()));
        assert_eq!(locate(direct.to_str().unwrap()).unwrap(), Location::Path(direct));
        assert_eq!(locate("THREE").unwrap(), Location::Remote("THREE".into()));
        assert!(matches!(locate("b-easy").unwrap(), Location::Benchmark(_)));
        assert!(matches!(locate("ring:5").unwrap(), Location::Family(_)));
        for wrong in ["", "a b", "./none", "none.jsonl", "../up", "ring:x", "a\nb"] {
            assert!(locate(wrong).is_err(), "{wrong:?}");
        }
        let here = catalog.on_this_machine();
        let names: Vec<&str> = here.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ONE", "TWO", "texas"]);
        assert!(here[0].1.ends_with("ONE.zip"), "the file that the name finds");
    }

    #[test]
    fn offline_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = catalog(folder.path()).load("MUTAG", 0, &mut |_| std::ops::ControlFlow::Continue(()));
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("MUTAG is not on this machine")
                && text.contains(
                    "remove --offline (in Python, remove download=False) to fetch http://127.0.0.1:1/MUTAG.zip"
                ),
            "{text}"
        );
        let misspelt = catalog(folder.path()).load("MUTGA", 0, &mut |_| std::ops::ControlFlow::Continue(()));
        assert!(misspelt.unwrap_err().to_string().ends_with("; did you mean MUTAG?"));
        let unlike = catalog(folder.path()).load("XYZ", 0, &mut |_| std::ops::ControlFlow::Continue(()));
        assert!(unlike.unwrap_err().to_string().ends_with("; 'stepwell datasets' lists names"));
    }

    #[test]
    fn formats_are_told_by_endings() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a.JSONL").unwrap(), Format::JsonLines);
        assert_eq!(of("out/folder").unwrap(), Format::TudFolder);
        assert!(of("a.txt").unwrap_err().to_string().contains("unknown file extension"));
        assert!(of("a.txt").unwrap_err().to_string().contains(".npz"));
        assert!(!Format::to_write(Path::new("a.txt")).unwrap_err().to_string().contains(".npz"));
        assert!(of("a.csv").unwrap_err().to_string().contains("with --smiles"));
    }
}
