//! A trained model as one file's bytes: safetensors, whose metadata key
//! `stepwell` holds a JSON header with everything that is not an array.
//!
//! All that could have been changed is covered by two SHA-256 sums in the
//! header: `sha256` of the tensors' bytes, and `header_sha256`, its last field,
//! of the header's text as it stands with that field empty, followed by the
//! table of tensors. Nothing is trusted for being covered: every part is
//! checked again when it is put together.

use std::collections::HashMap;

use ndarray::{Array1, Array2};
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Model, TrainedModel};
use crate::config::ModelConfig;
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::readout::{Coefficients, Expansion, Landmarks, RandomFeatures, Readout, Task};
use crate::reservoir::{BlockWeights, Weights};

/// Raised when older programs could not read, or would misread, what is written.
pub const FORMAT: u32 = 1;

/// The key of the header in the file's metadata.
pub(super) const KEY: &str = "stepwell";

/// Why bytes are not a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Not a safetensors file, or not a whole one.
    #[error("not a whole safetensors file ({0}): something else than a model, or one cut short")]
    NotSafetensors(String),
    /// Another program's file.
    #[error("a safetensors file, but not a model of Stepwell: its metadata has no key 'stepwell'")]
    NotAModel,
    /// Written by a later version.
    #[error(
        "written by Stepwell {version} in format {found}; this version reads up to format {FORMAT}: upgrade to read it"
    )]
    Newer {
        /// The format found.
        found: u32,
        /// The program that wrote it.
        version: String,
    },
    /// The header cannot be understood.
    #[error("the header of the model is broken: {0}")]
    Header(String),
    /// Some bytes are not what was written.
    #[error("the {0} of the model were changed after it was written: their checksum differs")]
    Changed(&'static str),
    /// A tensor is missing or has another shape.
    #[error("tensor '{name}': expected {expected}, found {found}")]
    Tensor {
        /// Its name.
        name: String,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
    },
    /// The parts do not fit each other.
    #[error("the parts of the model do not fit each other: {0}")]
    Parts(#[from] Error),
}

impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Self {
        Box::new(unreadable).into()
    }
}

/// What every version of the header has.
#[derive(Deserialize)]
struct Version {
    format: u32,
    version: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    /// The library's.
    version: String,
    config: ModelConfig,
    features: FeatureMap,
    task: Task,
    classes: Vec<String>,
    alpha: f64,
    sha256: String,
    header_sha256: String,
}

impl TrainedModel {
    /// The model as a file's content. Equal models give equal bytes. A model whose
    /// parts have been changed and do not fit each other any more is refused.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let tensors = self.tensors();
        let views: Vec<(&String, TensorView<'_>)> = tensors
            .iter()
            .map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)))
            .collect::<Result<_, safetensors::SafeTensorError>>()
            .map_err(unwritable)?;
        // Which bytes tensors become is safetensors' business: write them once without a header.
        let bare = serialize(views.clone(), None).map_err(unwritable)?;
        let (_, metadata) = SafeTensors::read_metadata(&bare).map_err(unwritable)?;
        let mut header = Header {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: self.model.config.clone(),
            features: self.model.features.clone(),
            task: self.readout.task(),
            classes: self.classes.clone(),
            alpha: self.readout.alpha(),
            sha256: hexadecimal(&[tensor_bytes(&bare)]),
            header_sha256: String::new(),
        };
        let unsealed = serde_json::to_string(&header).map_err(unwritable)?;
        header.header_sha256 = hexadecimal(&[unsealed.as_bytes(), table(&metadata).as_bytes()]);
        let text = serde_json::to_string(&header).map_err(unwritable)?;
        serialize(views, Some(HashMap::from([(KEY.to_owned(), text)]))).map_err(unwritable)
    }

    /// The model of a file's content.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        let not_whole = |error: safetensors::SafeTensorError| Unreadable::NotSafetensors(error.to_string());
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(not_whole)?;
        let text = metadata.metadata().as_ref().and_then(|all| all.get(KEY)).ok_or(Unreadable::NotAModel)?;
        let header = Header::parse(text, &table(&metadata))?;
        if hexadecimal(&[tensor_bytes(bytes)]) != header.sha256 {
            return Err(Unreadable::Changed("tensors"));
        }
        let tensors = Tensors(SafeTensors::deserialize(bytes).map_err(not_whole)?);
        header.config.validate()?;
        let weights = tensors.weights(&header)?;
        let readout = tensors.readout(&header, weights.embedding_width(&header.config))?;
        let model = Model { config: header.config, features: header.features, weights };
        Ok(Self::from_parts(model, readout, header.classes)?)
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>, Vec<u8>)> {
        let mut tensors = Vec::new();
        let mut add = |name: String, shape: &[usize], values: &mut dyn Iterator<Item = &f64>| {
            tensors.push((name, shape.to_vec(), values.flat_map(|value| value.to_le_bytes()).collect()));
        };
        for (names, weights) in names(&self.model.config).zip(self.model.weights.iter()) {
            let [recurrent, input] = names;
            add(recurrent, weights.recurrent.shape(), &mut weights.recurrent.iter());
            add(input, weights.input.shape(), &mut weights.input.iter());
        }
        let Coefficients { weights, intercept } = self.readout.coefficients();
        add("readout.weights".into(), weights.shape(), &mut weights.iter());
        add("readout.intercept".into(), intercept.shape(), &mut intercept.iter());
        match self.readout.expansion() {
            None => {}
            Some(Expansion::Random(random)) => {
                add("readout.random.weights".into(), random.weights().shape(), &mut random.weights().iter());
                add("readout.random.bias".into(), random.bias().shape(), &mut random.bias().iter());
            }
            Some(Expansion::Landmarks(landmarks)) => {
                add("readout.landmarks.mean".into(), landmarks.mean().shape(), &mut landmarks.mean().iter());
                add(
                    "readout.landmarks.scale".into(),
                    landmarks.scale().shape(),
                    &mut landmarks.scale().iter(),
                );
                add("readout.landmarks.rows".into(), landmarks.rows().shape(), &mut landmarks.rows().iter());
            }
        }
        tensors
    }
}

impl Header {
    /// The header, if neither it nor the table of tensors was changed.
    fn parse(text: &str, table: &str) -> Result<Self, Unreadable> {
        let broken = |error: serde_json::Error| Unreadable::Header(error.to_string());
        let Version { format, version } = serde_json::from_str(text).map_err(broken)?;
        if format > FORMAT {
            return Err(Unreadable::Newer { found: format, version });
        }
        // The text itself is summed up, not what it is read as: fields may be added later.
        let header: Self = serde_json::from_str(text).map_err(broken)?;
        let sealed = format!("\"{}\"}}", header.header_sha256);
        let unsealed = text.strip_suffix(&sealed).map(|rest| format!("{rest}\"\"}}"));
        match unsealed
            .is_some_and(|text| hexadecimal(&[text.as_bytes(), table.as_bytes()]) == header.header_sha256)
        {
            true => Ok(header),
            false => Err(Unreadable::Changed("settings")),
        }
    }
}

/// Which bytes are which tensor's, line by line.
pub(super) fn table(metadata: &Metadata) -> String {
    let mut lines: Vec<String> = metadata
        .tensors()
        .into_iter()
        .map(|(name, info)| format!("{name} {:?} {:?} {:?}\n", info.dtype, info.shape, info.data_offsets))
        .collect();
    lines.sort_unstable();
    lines.concat()
}

/// The arrays of a file, checked as they are taken.
struct Tensors<'a>(SafeTensors<'a>);

impl Tensors<'_> {
    fn weights(&self, header: &Header) -> Result<Weights, Unreadable> {
        let config = &header.config;
        let mut list = Vec::new();
        for (index, [recurrent, input]) in names(config).enumerate() {
            let block = index / config.reservoirs % config.blocks;
            let units = |block| config.units.get(block).unwrap_or_default();
            let inputs = block.checked_sub(1).map_or(header.features.width(), units);
            list.push(BlockWeights {
                recurrent: self.matrix(&recurrent, (units(block), units(block)))?,
                input: self.matrix(&input, (inputs, units(block)))?,
            });
        }
        Ok(Weights::from_list(list, config)?)
    }

    fn readout(&self, header: &Header, width: usize) -> Result<Readout, Unreadable> {
        let (columns, config) = (header.task.num_columns(), &header.config);
        let (rows, expansion) = if config.landmarks > 0 {
            // There may be fewer than asked for: graphs to learn from were.
            let found = self
                .0
                .tensor("readout.landmarks.rows")
                .map_or(0, |rows| rows.shape().first().copied().unwrap_or(0));
            let rows = found.min(config.landmarks);
            let landmarks = Landmarks::from_parts(
                self.vector("readout.landmarks.mean", width)?,
                self.vector("readout.landmarks.scale", width)?,
                self.matrix("readout.landmarks.rows", (rows, width))?,
            )?;
            (rows, Some(Expansion::Landmarks(landmarks)))
        } else if config.random_features > 0 {
            let units = config.random_features;
            let random = RandomFeatures::from_parts(
                self.matrix("readout.random.weights", (width, units))?,
                self.vector("readout.random.bias", units)?,
            )?;
            (units, Some(Expansion::Random(random)))
        } else {
            (width, None)
        };
        let coefficients = Coefficients {
            weights: self.matrix("readout.weights", (rows, columns))?,
            intercept: self.vector("readout.intercept", columns)?,
        };
        Ok(Readout::from_parts(header.task, header.alpha, expansion, coefficients)?)
    }

    fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<Array2<f64>, Unreadable> {
        let values = self.values(name, &[shape.0, shape.1])?;
        Array2::from_shape_vec(shape, values).map_err(|error| wrong(name, &[shape.0, shape.1], error))
    }

    fn vector(&self, name: &str, length: usize) -> Result<Array1<f64>, Unreadable> {
        Ok(self.values(name, &[length])?.into())
    }

    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Unreadable> {
        let tensor = self.0.tensor(name).map_err(|_| wrong(name, shape, "none"))?;
        if tensor.shape() != shape || tensor.dtype() != Dtype::F64 {
            return Err(wrong(name, shape, format!("{:?} of {:?}", tensor.shape(), tensor.dtype())));
        }
        let (numbers, _) = tensor.data().as_chunks();
        Ok(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
    }
}

fn wrong(name: &str, shape: &[usize], found: impl ToString) -> Unreadable {
    let (name, expected) = (name.to_owned(), format!("{shape:?} of F64"));
    Unreadable::Tensor { name, expected, found: found.to_string() }
}

/// The names of `W` and `V` of every reservoir, in their order.
fn names(config: &ModelConfig) -> impl Iterator<Item = [String; 2]> {
    let (blocks, reservoirs) = (config.blocks, config.reservoirs);
    (0..config.stacks * blocks * reservoirs).map(move |index| {
        let (stack, block) = (index / reservoirs / blocks, index / reservoirs % blocks);
        let place = format!("stack{stack}.block{block}.reservoir{}", index % reservoirs);
        [format!("{place}.recurrent"), format!("{place}.input")]
    })
}

/// The part of a safetensors file behind its header, whose length comes first.
fn tensor_bytes(file: &[u8]) -> &[u8] {
    let length = file.first_chunk().map_or(0, |&bytes| u64::from_le_bytes(bytes));
    let start = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(8);
    file.get(start..).unwrap_or_default()
}

pub(super) fn hexadecimal(parts: &[&[u8]]) -> String {
    let mut sum = Sha256::new();
    parts.iter().for_each(|part| sum.update(part));
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writing to memory fails only for sizes no machine has.
fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::BadOption { name: "model", expected: "one that can be written".into(), found: error.to_string() }
}
