//! A dataset that can be read in pieces, repeatedly, without holding all of it in memory.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use stepwell::config::Level;
use stepwell::features::{FeatureFit, FeatureMap, FeatureOptions, SPARSE_WIDTH};
use stepwell::targets::Targets;

use crate::catalog::{Catalog, Format, Location, read_with};
use crate::dataset::{Dataset, Part};
use crate::download::Progress;
use crate::error::{Error, Place, Result};
use crate::identity::checksum_of_file;
use crate::jsonl;
use crate::rows::{Collector, Expected, ReadOptions, Untargeted};

/// A source of graphs. Files of rows are read piece by piece, anew on each pass; standard input can
/// be streamed once on request; everything else is held in memory. A piece has about 65 000
/// vertices or a million edges; a piece of standard input is shorter if reading the next line would
/// block.
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use stepwell::config::ModelConfig;
/// use stepwell::model::{Model, TrainedModel};
/// use stepwell::readout::Sample;
/// use stepwell::targets::{Encoded, Labels, Targets};
/// use stepwell_data::Source;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("graphs.jsonl");
/// # let graph = |n: usize, y: i64| {
/// #     let (src, dst): (Vec<_>, Vec<_>) = (0..n - 1 + y as usize).map(|v| (v, (v + 1) % n)).unzip();
/// #     format!("{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}, \"y\": {y}}}\n")
/// # };
/// # std::fs::write(&path, (4..20).map(|n| graph(n, n as i64 % 2)).collect::<String>())?;
/// // Paths (class 0) and rings (class 1) in a file that may be larger than memory.
/// let source = Source::file(&path)?;
/// let config = ModelConfig::default();
/// let survey = source.survey(&config.features(), true)?;
/// let model = Model::new(config, survey.features)?;
/// let (embedder, mut targets, mut keys) = (model.clone(), Targets::None, Vec::new());
/// source.visit(|piece| {
///     keys.extend(piece.graphs.keys());
///     Ok::<_, stepwell_data::Error>(targets.append(piece.targets.clone()).unwrap())
/// })?;
/// let (targets, sample) = (Encoded::new(&targets)?, Sample::with_keys(&keys));
/// let (trained, _) = TrainedModel::fit_pieces(model, &targets, sample, |take| {
///     source.visit(|piece| -> Result<(), Box<dyn std::error::Error>> {
///         Ok(take((&embedder.embed(&piece.graphs, |_| Continue(()))?).into())?)
///     })
/// })?;
/// assert_eq!(trained.classes, Labels::Int(vec![0, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Source {
    /// The name of the dataset, for display.
    pub name: String,
    /// The vertex features that graphs must have; errors name the rows of files that differ.
    pub expected: Option<Expected>,
    /// The treatment of graphs without a target if others have one.
    pub untargeted: Untargeted,
    /// The part of a fixed split to read; by default all parts. If vertices are split and their
    /// targets are wanted, all graphs are read.
    pub part: Option<Part>,
    /// Whether the targets of graphs or of vertices are wanted.
    pub level: Level,
    options: ReadOptions,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Whole(Box<Dataset>),
    Rows(PathBuf, Format),
    /// Standard input, and whether it has been read.
    Once(AtomicBool),
}

impl Source {
    fn new(name: String, kind: Kind, options: &ReadOptions) -> Self {
        let (untargeted, options) = (options.untargeted, options.clone());
        Self { name, expected: None, untargeted, part: None, level: Level::Graph, options, kind }
    }

    /// Like [`open_with`](Self::open_with), but passes graphs from standard input on as they
    /// arrive. Such a source can be read only once.
    pub fn once(
        catalog: &Catalog,
        argument: impl AsRef<OsStr>,
        seed: u64,
        options: &ReadOptions,
        progress: Progress<'_>,
    ) -> Result<Self> {
        match catalog.locate(&argument)? {
            Location::Stdin => {
                let kind = Kind::Once(AtomicBool::new(false));
                Ok(Self::new("stdin".into(), kind, options))
            }
            _ => Self::open_with(catalog, argument, seed, options, progress),
        }
    }

    /// A checksum that identifies the dataset later: of a file's bytes, or of the graphs in memory.
    /// Standard input has none.
    pub fn checksum(&self) -> Result<String> {
        let refused = |what: &str| {
            Error::Unsupported(format!(
                "{what} cannot be resumed, because a second reading may differ; save it to a file first"
            ))
        };
        match &self.kind {
            Kind::Whole(dataset) => Ok(dataset.checksum()),
            Kind::Rows(path, _) => {
                let known = fs::metadata(path).map_err(|source| Error::io(path, source))?;
                if !known.is_file() {
                    return Err(refused(&path.display().to_string()));
                }
                checksum_of_file(path).map_err(|source| Error::io(path, source))
            }
            Kind::Once(_) => Err(refused("standard input")),
        }
    }

    /// Opens a file or folder, whatever its name.
    pub fn file(path: &Path) -> Result<Self> {
        Self::file_with(path, &ReadOptions::default())
    }

    /// Like [`file`](Self::file), with named columns for files made of rows.
    pub fn file_with(path: &Path, options: &ReadOptions) -> Result<Self> {
        let format = Format::of(path)?;
        // A build without Parquet refuses the file when it is loaded.
        if format == Format::JsonLines || (format == Format::Parquet && cfg!(feature = "parquet")) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            return Ok(Self::new(name, Kind::Rows(path.to_owned(), format), options));
        }
        read_with(path, options).map(|dataset| Self::whole(dataset, options))
    }

    /// Finds a dataset as [`Catalog::load`] does.
    pub fn open(
        catalog: &Catalog,
        argument: impl AsRef<OsStr>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Self> {
        Self::open_with(catalog, argument, seed, &ReadOptions::default(), progress)
    }

    /// Like [`open`](Self::open), with named columns for datasets made of rows.
    pub fn open_with(
        catalog: &Catalog,
        argument: impl AsRef<OsStr>,
        seed: u64,
        options: &ReadOptions,
        progress: Progress<'_>,
    ) -> Result<Self> {
        if let Location::Path(path) = catalog.locate(&argument)? {
            return Self::file_with(&path, options);
        }
        let dataset = catalog.load_with(argument, seed, options, progress)?;
        Ok(Self::whole(dataset, options))
    }

    fn whole(dataset: Dataset, options: &ReadOptions) -> Self {
        Self::new(dataset.name.clone(), Kind::Whole(Box::new(dataset)), options)
    }

    /// Whether all graphs are in memory and form one piece.
    pub fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Whole(_))
    }

    /// Passes all graphs to `visit`, in order, one piece at a time.
    pub fn visit<E: From<Error>>(&self, visit: impl FnMut(&Dataset) -> Result<(), E>) -> Result<(), E> {
        self.visit_good(visit, Err)
    }

    /// Like [`visit`](Self::visit), but `bad` decides about a row of a file that cannot be used:
    /// returning the error ends the visit, and accepting it skips the row. An error in the file as
    /// a whole always ends the visit.
    pub fn visit_good<E: From<Error>>(
        &self,
        mut visit: impl FnMut(&Dataset) -> Result<(), E>,
        bad: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<(), E> {
        self.visit_pieces(|piece| visit(&piece), bad)
    }

    /// The same, but a piece that is owned may be kept while the next is read. A borrowed piece
    /// should be processed first: there is only one, or the writer of standard input may wait for
    /// a response before it writes the next.
    pub fn visit_pieces<E: From<Error>>(
        &self,
        mut visit: impl FnMut(Cow<'_, Dataset>) -> Result<(), E>,
        bad: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<(), E> {
        // A piece may become empty when graphs are skipped.
        self.visit_all(
            |piece| if piece.is_empty() && piece.left_out > 0 { Ok(()) } else { visit(piece) },
            bad,
        )
    }

    fn visit_all<E: From<Error>>(
        &self,
        mut visit: impl FnMut(Cow<'_, Dataset>) -> Result<(), E>,
        bad: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<(), E> {
        let mut seen = 0;
        let mut visit = |piece: Cow<'_, Dataset>| {
            let before = seen;
            seen += piece.len();
            // A piece whose rows were all skipped has no split left to select from.
            let part = self.part.filter(|_| !piece.is_empty() && !self.splits_vertices(&piece));
            let part = part.map(|part| self.part_of(&piece, part, before)).transpose()?;
            match (part, &piece) {
                (None, _) => visit(piece),
                (Some(part), Cow::Owned(_)) => visit(Cow::Owned(part)),
                (Some(part), Cow::Borrowed(_)) => visit(Cow::Borrowed(&part)),
            }
        };
        match &self.kind {
            Kind::Whole(dataset) => match self.untargeted {
                Untargeted::Skip if dataset.untargeted() > 0 => {
                    visit(Cow::Borrowed(&dataset.without_untargeted()))
                }
                _ => visit(Cow::Borrowed(dataset)),
            },
            Kind::Once(gone) => {
                let place = Place::file("standard input");
                if gone.swap(true, Ordering::Relaxed) {
                    let what = "standard input can be read only once; save it to a file first";
                    return Err(Error::Unsupported(what.into()).into());
                }
                // The writer may wait for a response before it writes more.
                let pieces = Box::new(jsonl::Reader::live(io::stdin(), place, &self.options)?);
                self.read(pieces, false, visit, bad)
            }
            Kind::Rows(path, format) => {
                let place = Place::file(path.display().to_string());
                let file = File::open(path).map_err(|source| Error::io(path, source))?;
                let pieces: Box<dyn Pieces + Send> = match format {
                    #[cfg(feature = "parquet")]
                    Format::Parquet => {
                        Box::new(crate::parquet::Reader::with_options(file, place, &self.options)?)
                    }
                    _ => {
                        let file = BufReader::with_capacity(1 << 18, file);
                        Box::new(jsonl::Reader::with_options(file, place, &self.options)?)
                    }
                };
                self.read(pieces, rayon::current_num_threads() > 1, visit, bad)
            }
        }
    }

    fn splits_vertices(&self, piece: &Dataset) -> bool {
        self.level == Level::Vertex && piece.vertices.as_ref().is_some_and(|all| !all.splits.is_empty())
    }

    /// Visits pieces while the next ones are read `ahead`.
    fn read<E: From<Error>>(
        &self,
        mut pieces: Box<dyn Pieces + Send>,
        ahead: bool,
        mut visit: impl FnMut(Cow<'_, Dataset>) -> Result<(), E>,
        mut bad: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<(), E> {
        if let Some(expected) = self.expected {
            pieces.collector().expect(expected);
        }
        pieces.collector().treat_untargeted(self.untargeted, self.part);
        let mut take = |piece: Result<Dataset>, goes_on: bool| match piece {
            Ok(mut piece) => {
                piece.name.clone_from(&self.name);
                visit(if ahead { Cow::Owned(piece) } else { Cow::Borrowed(&piece) })
            }
            Err(error) if goes_on => Ok(bad(error)?),
            Err(error) => Err(error.into()),
        };
        if !ahead {
            while let Some(piece) = pieces.next() {
                take(piece, pieces.goes_on())?;
            }
            return Ok(());
        }
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(1);
            scope.spawn(move || {
                while let Some(piece) = pieces.next() {
                    // The visit has ended.
                    if sender.send((piece, pieces.goes_on())).is_err() {
                        return;
                    }
                }
            });
            receiver.into_iter().try_for_each(|(piece, goes_on)| take(piece, goes_on))
        })
    }

    /// The graphs of a part, under their names in the whole dataset; `before` graphs precede this
    /// piece.
    fn part_of(&self, piece: &Dataset, part: Part, before: usize) -> Result<Dataset> {
        let missing = || {
            format!(
                "{}: the dataset has no split, so --part selects nothing; remove --part, or add a column 'split'",
                self.name
            )
        };
        let graphs = piece.part(part).ok_or_else(|| Error::Unsupported(missing()))?;
        let name = |&graph: &usize| (before + graph).to_string();
        let mut chosen = piece.select(&graphs);
        chosen.ids.get_or_insert_with(|| graphs.iter().map(name).collect());
        Ok(chosen)
    }

    /// Reads the graphs once to find what must be known before they are used: how to turn their
    /// features into inputs, and which targets and splits they have. If attributes are used
    /// unchanged and nothing else is, no fitting is needed and only the first piece is read, unless
    /// `whole`, or unless there are so many attributes that most of them may be 0.
    pub fn survey(&self, features: &FeatureOptions, whole: bool) -> Result<Survey> {
        /// Ends a visit early.
        enum Stop {
            Enough,
            Failed(Error),
        }
        impl From<Error> for Stop {
            fn from(error: Error) -> Self {
                Self::Failed(error)
            }
        }
        let mut fit = FeatureFit::new(features);
        let mut survey = Survey::default();
        let refused = |source| Error::Graph { place: Place::file(&self.name), source };
        let visit = |piece: Cow<'_, Dataset>| {
            survey.untargeted += piece.left_out;
            survey.left_out += piece.left_out;
            if survey.target_names.is_empty() {
                survey.target_names.clone_from(&piece.target_names);
            }
            if piece.is_empty() && piece.left_out > 0 {
                return Ok(());
            }
            fit.observe(&piece.graphs).map_err(refused)?;
            survey.graphs += piece.len();
            survey.notes.extend(piece.notes.iter().cloned());
            survey.has_parts |= piece.parts.is_some();
            if let Some(vertices) = &piece.vertices {
                survey.known_vertices += vertices.known.rows.len();
                survey.splits_vertices |= !vertices.splits.is_empty();
            }
            survey.real_targets |= matches!(piece.targets, Targets::Numbers(_));
            let kept = if piece.known_targets().is_empty() { piece.len() } else { piece.untargeted() };
            survey.untargeted += kept;
            survey.lacks_targets |= piece.targets.is_empty() && !piece.is_empty();
            survey.has_targets |= !piece.targets.is_empty();
            survey.some_targets |= !piece.known_targets().is_empty();
            let untouched = features.raw && features.structure.is_empty() && !features.edges;
            let attributes = piece.graphs.vertex_attributes().filter(|all| all.width() < SPARSE_WIDTH);
            let attributes_only = attributes.is_some() && piece.graphs.vertex_labels().is_none();
            if !whole && untouched && attributes_only { Err(Stop::Enough) } else { Ok(()) }
        };
        if let Err(Stop::Failed(error)) = self.visit_all(visit, Err) {
            return Err(error);
        }
        survey.has_targets &= !survey.lacks_targets;
        Ok(Survey { features: fit.finish(), ..survey })
    }
}

/// The common interface of row readers.
trait Pieces: Iterator<Item = Result<Dataset>> {
    /// The collector of the rows, which checks them.
    fn collector(&mut self) -> &mut Collector;

    /// Whether more follows after an error.
    fn goes_on(&self) -> bool;
}

impl<R: BufRead> Pieces for jsonl::Reader<R> {
    fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    fn goes_on(&self) -> bool {
        !self.done
    }
}

#[cfg(feature = "parquet")]
impl<R: ::parquet::file::reader::ChunkReader + 'static> Pieces for crate::parquet::Reader<R> {
    fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    fn goes_on(&self) -> bool {
        !self.done
    }
}

/// The findings of one pass over a dataset.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Fitted on all graphs that were read.
    pub features: FeatureMap,
    /// The number of graphs that were read.
    pub graphs: usize,
    /// Remarks of the reader.
    pub notes: Vec<String>,
    /// Whether all graphs that were read have targets.
    pub has_targets: bool,
    /// Whether any graph has a target.
    pub some_targets: bool,
    /// Whether some graphs have no target.
    pub lacks_targets: bool,
    /// Whether some targets are floats; integers among them then become floats.
    pub real_targets: bool,
    /// Whether there is a fixed split.
    pub has_parts: bool,
    /// The number of vertices with a target.
    pub known_vertices: usize,
    /// Whether there is a fixed split of vertices.
    pub splits_vertices: bool,
    /// The names of the targets, if they have names.
    pub target_names: Vec<String>,
    /// The number of graphs without a target, skipped or not.
    pub untargeted: usize,
    /// The number of graphs skipped.
    pub left_out: usize,
}

impl From<Dataset> for Source {
    fn from(dataset: Dataset) -> Self {
        Self::whole(dataset, &ReadOptions::default())
    }
}
