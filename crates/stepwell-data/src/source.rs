//! A dataset to go through, as often as need be, without holding it all.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use stepwell::features::{FeatureFit, FeatureMap, FeatureOptions};

use crate::catalog::{Catalog, Format, Location};
use crate::dataset::{Dataset, Targets};
use crate::download::Progress;
use crate::error::{Error, Place, Result};
use crate::jsonl;

/// Where graphs come from: files of rows are read piece by piece each time they
/// are gone through, everything else is held in memory.
#[derive(Debug)]
pub struct Source {
    /// What people call the dataset.
    pub name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Whole(Box<Dataset>),
    Rows(PathBuf, Format),
}

impl Source {
    /// Finds a dataset as [`Catalog::load`] does.
    pub fn open(catalog: &Catalog, argument: &str, seed: u64, progress: Progress<'_>) -> Result<Self> {
        if let Location::Path(path) = catalog.locate(argument)? {
            let format = Format::of(&path)?;
            if matches!(format, Format::JsonLines | Format::Parquet) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                return Ok(Self { name, kind: Kind::Rows(path, format) });
            }
        }
        catalog.load(argument, seed, progress).map(Self::from)
    }

    /// Hands all graphs to `visit`, in order, some at a time.
    pub fn visit<E: From<Error>>(&self, mut visit: impl FnMut(&Dataset) -> Result<(), E>) -> Result<(), E> {
        match &self.kind {
            Kind::Whole(dataset) => visit(dataset),
            Kind::Rows(path, format) => {
                let place = Place::file(path.display().to_string());
                let file = File::open(path).map_err(|source| Error::io(path, source))?;
                let pieces: Box<dyn Iterator<Item = Result<Dataset>>> = match format {
                    #[cfg(feature = "parquet")]
                    Format::Parquet => Box::new(crate::parquet::Reader::new(file, place)?),
                    _ => Box::new(jsonl::Reader::new(BufReader::with_capacity(1 << 18, file), place)),
                };
                pieces.into_iter().try_for_each(|piece| visit(&piece?))
            }
        }
    }

    /// Goes through the graphs once to learn what must be known before they are
    /// used. `features` chooses the inputs, given the dataset's usual ones.
    /// Attributes that are taken as they are need no fitting; then only the
    /// first piece is looked at, unless `whole`.
    pub fn survey(
        &self,
        whole: bool,
        features: impl Fn(&FeatureOptions) -> FeatureOptions,
    ) -> Result<Survey> {
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
        let mut fit: Option<FeatureFit> = None;
        let mut survey = Survey::default();
        let visited = self.visit(|piece| {
            let options = features(&piece.features);
            let fit = fit.get_or_insert_with(|| FeatureFit::new(&options));
            let refused = |source| Error::Graph { place: Place::file(&self.name), source };
            fit.observe(&piece.graphs).map_err(refused)?;
            survey.notes.extend(piece.notes.iter().cloned());
            survey.real_targets |= matches!(piece.targets, Targets::Real(_));
            survey.has_targets |= !piece.targets.is_empty();
            let untouched = options.raw && options.structure.is_empty();
            let attributes_only =
                piece.graphs.vertex_attributes().is_some() && piece.graphs.vertex_labels().is_none();
            if !whole && untouched && attributes_only { Err(Stop::Enough) } else { Ok(()) }
        });
        match visited {
            Err(Stop::Failed(error)) => Err(error),
            Ok(()) | Err(Stop::Enough) => {
                Ok(Survey { features: fit.map(FeatureFit::finish).unwrap_or_default(), ..survey })
            }
        }
    }
}

/// What one look at a dataset tells.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Fitted on all graphs that were looked at.
    pub features: FeatureMap,
    /// What the reader noticed.
    pub notes: Vec<String>,
    /// Whether graphs have targets.
    pub has_targets: bool,
    /// Whether some of them are real numbers; whole ones among them are, then.
    pub real_targets: bool,
}

impl From<Dataset> for Source {
    fn from(dataset: Dataset) -> Self {
        Self { name: dataset.name.clone(), kind: Kind::Whole(Box::new(dataset)) }
    }
}
