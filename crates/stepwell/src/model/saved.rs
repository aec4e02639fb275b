//! The file format of models: safetensors, with a JSON header under the metadata key `stepwell` for
//! everything that is not an array.
//!
//! Two SHA-256 sums in the header detect changes: `sha256` covers the bytes of the tensors;
//! `header_sha256`, the last field, covers the text of the header with that field empty, followed
//! by the table of tensors. A correct sum is not proof of validity: reading checks every part
//! again.

use std::borrow::Cow;
use std::collections::HashMap;

use bytemuck::NoUninit;
use ndarray::{Array1, Array2};
use safetensors::tensor::{Dtype, Metadata, SafeTensors, View, serialize};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Choice, Model, TrainedModel};
use crate::config::{Metric, ModelConfig};
use crate::error::{Error, Result, Unreadable};
use crate::features::FeatureMap;
use crate::readout::{
    Assessment, Assignment, Calibration, Coefficients, Conformal, Expansion, Index, Landmarks, Operating,
    RandomFeatures, Readout,
};
use crate::reservoir::{BlockWeights, GateWeights, Weights};
use crate::targets::{Labels, Task};

/// The format number. It increases when older versions could not read, or would misread, a new
/// file. Format 1 (version 0.1.0) stored all class names as strings and had no files without a
/// readout. Format 2 was never released. Format 3 has several targets and their leave-one-out
/// assessments.
pub const FORMAT: u32 = 3;

/// The key of the header in the file's metadata.
pub(super) const KEY: &str = "stepwell";

/// The tensor of landmarks, in f32. Version 0.1.0 wrote f64.
const LANDMARKS: &str = "readout.landmarks.rows";

/// The prefix of the tensors of the landmarks' colours.
const COLOURS: &str = "readout.landmarks.colours";

/// The tensor of the lists of all leave-one-out assessments.
const LEFT_OUT: &str = "readout.left_out";

/// The format and the version of a file, which every header contains.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Version {
    /// The [format](FORMAT) of the file.
    pub format: u32,
    /// The version of the library.
    pub version: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    /// The version of the library.
    version: String,
    config: ModelConfig,
    features: FeatureMap,
    /// The feature set of molecules, if graphs are made from molecules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    molecules: Option<String>,
    /// The task of the readout; null without a readout.
    task: Option<Task>,
    classes: Labels,
    /// One alpha for all targets, or one per target.
    alpha: Alphas,
    /// The names of the targets, if they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
    /// The number of training graphs or vertices, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// The leave-one-out assessment of every target. Its lists are in a tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    /// The options that were chosen, with their candidates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<Choice>,
    sha256: String,
    header_sha256: String,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Alphas {
    One(f64),
    Each(Vec<f64>),
}

impl Alphas {
    fn of(readout: &Readout) -> Self {
        match readout.alphas() {
            [alpha] => Self::One(*alpha),
            alphas => Self::Each(alphas.to_vec()),
        }
    }

    fn to_vec(&self) -> Vec<f64> {
        match self {
            Self::One(alpha) => vec![*alpha],
            Self::Each(alphas) => alphas.clone(),
        }
    }
}

/// An [`Assessment`] without its lists.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    rows: u64,
    metric: Metric,
    value: Option<f64>,
    #[serde(default)]
    explained: Option<f64>,
    balance: f64,
    calibration: Option<Calibration>,
    /// Lengths of the lists, in their order in the tensor: conformal scores, then decision values
    /// of the first class and of the second.
    lengths: [usize; 3],
    /// The number of graphs of every class. Their conformal scores follow in the tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    per_class: Vec<u64>,
    /// Total weights of the graphs of the first and of the second class, if there are two.
    totals: Option<[f64; 2]>,
}

impl LeftOut {
    fn of(assessment: &Assessment) -> Self {
        let Assessment {
            rows,
            metric,
            value,
            explained,
            balance,
            calibration,
            conformal,
            per_class,
            operating,
        } = assessment;
        let (totals, values) = operating.as_ref().map(|operating| operating.parts()).unzip();
        let [first, second] = values.map_or([0; 2], |values| [values[0].len(), values[1].len()]);
        Self {
            rows: *rows,
            metric: *metric,
            value: *value,
            explained: *explained,
            balance: *balance,
            calibration: calibration.clone(),
            lengths: [conformal.scores().len(), first, second],
            per_class: per_class.iter().map(Conformal::rows).collect(),
            totals: totals.copied(),
        }
    }

    /// The number of values of all lists.
    fn length(&self) -> usize {
        let classes = self.per_class.iter().map(|&rows| Conformal::length(rows));
        self.lengths.into_iter().chain(classes).fold(0, usize::saturating_add)
    }

    /// The assessment with its lists, which are the next values of `lists`.
    fn assessment(&self, lists: &mut impl Iterator<Item = f64>) -> Result<Assessment> {
        let [conformal, first, second] = self.lengths;
        let mut list = |length: usize| lists.take(length).collect::<Vec<f64>>();
        let (conformal, values) = (list(conformal), [list(first), list(second)]);
        let per_class =
            self.per_class.iter().map(|&rows| Conformal::from_parts(rows, list(Conformal::length(rows))));
        let per_class = per_class.collect::<Result<_>>()?;
        let calibration = match &self.calibration {
            Some(found) => Some(Calibration::from_parts(found.slope(), found.bias().to_vec())?),
            None => None,
        };
        Ok(Assessment {
            rows: self.rows,
            metric: self.metric,
            value: self.value,
            explained: self.explained,
            balance: self.balance,
            calibration,
            conformal: Conformal::from_parts(self.rows, conformal)?,
            per_class,
            operating: self.totals.map(|totals| Operating::from_parts(totals, values)).transpose()?,
        })
    }
}

/// The content of a model file.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
pub enum Saved {
    /// A model without a readout: graphs in, vectors out.
    Untrained(Model),
    /// A trained model.
    Trained(TrainedModel),
}

impl Saved {
    /// The model without its readout.
    pub fn model(&self) -> &Model {
        match self {
            Self::Untrained(model) => model,
            Self::Trained(trained) => &trained.model,
        }
    }

    /// Converts into the model without its readout.
    pub fn into_model(self) -> Model {
        match self {
            Self::Untrained(model) => model,
            Self::Trained(trained) => trained.model,
        }
    }

    /// Serialises the model. Equal models give equal bytes. Rejects a model whose parts do not fit
    /// each other.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Untrained(model) => model.to_bytes(),
            Self::Trained(trained) => trained.to_bytes(),
        }
    }

    /// The format and the version of a file with this content.
    pub fn version(bytes: &[u8]) -> Result<Version, Unreadable> {
        let metadata = metadata(bytes)?;
        serde_json::from_str(header(&metadata)?).map_err(|error| Unreadable::Header(error.to_string()))
    }

    /// Reads a model from the content of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        let metadata = metadata(bytes)?;
        let header = Header::parse(header(&metadata)?, &table(&metadata))?;
        let read = || {
            let tensors = Tensors(SafeTensors::deserialize(bytes).map_err(not_whole)?);
            header.config.validate()?;
            let weights = tensors.weights(&header)?;
            let width = weights.embedding_width(&header.config);
            let readout = header.task.map(|task| tensors.readout(&header, task, width)).transpose()?;
            Ok::<_, Unreadable>((weights, readout))
        };
        // These two take most of the time.
        let (sum, parts) = rayon::join(|| hexadecimal(&[tensor_bytes(bytes)]), read);
        if sum != header.sha256 {
            return Err(Unreadable::Changed("tensors"));
        }
        let (weights, readout) = parts?;
        let model = Model::with_weights(header.config, header.features, weights)?;
        let model = Model { molecules: header.molecules, ..model };
        Ok(match readout {
            Some(readout) => {
                let trained = TrainedModel::from_parts(model, readout, header.classes)?;
                let trained = TrainedModel { targets: header.targets, choices: header.choices, ..trained };
                trained.check()?;
                Self::Trained(trained)
            }
            None => Self::Untrained(model),
        })
    }
}

fn not_whole(error: safetensors::SafeTensorError) -> Unreadable {
    Unreadable::NotSafetensors(error.to_string())
}

/// Reads the table of tensors and the metadata of a file.
fn metadata(bytes: &[u8]) -> Result<Metadata, Unreadable> {
    SafeTensors::read_metadata(bytes).map(|(_, metadata)| metadata).map_err(not_whole)
}

/// The text of the header.
fn header(metadata: &Metadata) -> Result<&str, Unreadable> {
    let text = metadata.metadata().as_ref().and_then(|all| all.get(KEY));
    text.map(String::as_str).ok_or(Unreadable::NotAModel)
}

impl Model {
    /// Serialises the model; see [`Saved`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        write(self, None)
    }
}

impl TrainedModel {
    /// Serialises the model; see [`Saved`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        write(&self.model, Some(self))
    }

    /// Reads a model from the content of a file. Rejects a model without a readout.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        match Saved::from_bytes(bytes)? {
            Saved::Trained(trained) => Ok(trained),
            Saved::Untrained(_) => Err(Unreadable::Untrained),
        }
    }
}

fn write(model: &Model, trained: Option<&TrainedModel>) -> Result<Vec<u8>> {
    let tensors = tensors(model, trained.map(|trained| &trained.readout));
    let named = || tensors.iter().map(|(name, tensor)| (name, tensor));
    // Only safetensors knows the offsets of the tensors, so serialise once without their numbers.
    let outlines = named().map(|(name, tensor)| (name, Outline(tensor)));
    let bare = serialize(outlines, None).map_err(unwritable)?;
    let metadata: Metadata = serde_json::from_slice(&bare[size_of::<u64>()..]).map_err(unwritable)?;
    let mut placed: Vec<(usize, &[u8])> = named()
        .filter_map(|(name, tensor)| Some((metadata.info(name)?.data_offsets.0, &*tensor.bytes)))
        .collect();
    placed.sort_unstable();
    let bytes: Vec<&[u8]> = placed.into_iter().map(|(_, bytes)| bytes).collect();
    let mut header = Header {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: model.config.clone(),
        features: model.features.clone(),
        molecules: model.molecules.clone(),
        task: trained.map(|trained| trained.readout.task()),
        classes: trained.map_or(Labels::NONE, |trained| trained.classes.clone()),
        alpha: trained.map_or(Alphas::One(0.0), |trained| Alphas::of(&trained.readout)),
        targets: trained.map_or(Vec::new(), |trained| trained.targets.clone()),
        rows: trained.and_then(|trained| trained.readout.rows()),
        left_out: trained
            .and_then(|trained| trained.readout.assessments())
            .map_or(Vec::new(), |found| found.iter().map(LeftOut::of).collect()),
        choices: trained.map_or(Vec::new(), |trained| trained.choices.clone()),
        sha256: hexadecimal(&bytes),
        header_sha256: String::new(),
    };
    let unsealed = serde_json::to_string(&header).map_err(unwritable)?;
    header.header_sha256 = hexadecimal(&[unsealed.as_bytes(), table(&metadata).as_bytes()]);
    let text = serde_json::to_string(&header).map_err(unwritable)?;
    serialize(named(), Some(HashMap::from([(KEY.to_owned(), text)]))).map_err(unwritable)
}

fn tensors<'a>(model: &'a Model, readout: Option<&'a Readout>) -> Vec<(String, Tensor<'a>)> {
    let mut tensors = Vec::new();
    if let Some(Expansion::Landmarks(landmarks)) = readout.and_then(Readout::expansion) {
        let rows = landmarks.rows().as_slice().expect("landmarks lie row after row");
        let bytes = in_file_order(rows, |value| value.to_le_bytes());
        let shape = landmarks.rows().shape().to_vec();
        tensors.push((LANDMARKS.into(), Tensor { kind: Dtype::F32, shape, bytes }));
        if let Some((colours, starts, holders, counts)) = landmarks.assignment().map(Assignment::parts) {
            let (shape, bytes) = (vec![colours.len()], in_file_order(colours, |value| value.to_le_bytes()));
            tensors.push((COLOURS.into(), Tensor { kind: Dtype::U64, shape, bytes }));
            for (name, values) in [("starts", starts), ("holders", holders), ("counts", counts)] {
                let (shape, bytes) = (vec![values.len()], in_file_order(values, |value| value.to_le_bytes()));
                tensors.push((format!("{COLOURS}.{name}"), Tensor { kind: Dtype::U32, shape, bytes }));
            }
        }
    }
    let mut add = |name: String, shape: &[usize], values: &mut dyn Iterator<Item = &f64>| {
        let bytes = values.flat_map(|value| value.to_le_bytes()).collect();
        tensors.push((name, Tensor { kind: Dtype::F64, shape: shape.to_vec(), bytes }));
    };
    for (place, BlockWeights { recurrent, input, gate }) in places(&model.config).zip(model.weights.iter()) {
        add(format!("{place}.recurrent"), recurrent.shape(), &mut recurrent.iter());
        add(format!("{place}.input"), input.shape(), &mut input.iter());
        if gate.labels.nrows() > 0 {
            add(format!("{place}.gate.labels"), gate.labels.shape(), &mut gate.labels.iter());
        }
        if gate.frequencies.nrows() > 0 {
            let (frequencies, phases) = (&gate.frequencies, &gate.phases);
            add(format!("{place}.gate.frequencies"), frequencies.shape(), &mut frequencies.iter());
            add(format!("{place}.gate.phases"), phases.shape(), &mut phases.iter());
        }
    }
    let Some(readout) = readout else { return tensors };
    let Coefficients { weights, intercept } = readout.coefficients();
    add("readout.weights".into(), weights.shape(), &mut weights.iter());
    add("readout.intercept".into(), intercept.shape(), &mut intercept.iter());
    if let Some(assessments) = readout.assessments() {
        let lists: Vec<f64> = assessments
            .iter()
            .flat_map(|found| {
                let values =
                    found.operating.iter().flat_map(|operating| operating.parts().1.iter().flatten());
                let classes = found.per_class.iter().flat_map(Conformal::scores);
                found.conformal.scores().iter().chain(values).chain(classes).copied()
            })
            .collect();
        add(LEFT_OUT.into(), &[lists.len()], &mut lists.iter());
    }
    match readout.expansion() {
        None => {}
        Some(Expansion::Random(random)) => {
            add("readout.random.weights".into(), random.weights().shape(), &mut random.weights().iter());
            add("readout.random.bias".into(), random.bias().shape(), &mut random.bias().iter());
        }
        Some(Expansion::Landmarks(landmarks)) => {
            let (mean, scale) = (landmarks.mean(), landmarks.scale());
            add("readout.landmarks.mean".into(), mean.shape(), &mut mean.iter());
            add("readout.landmarks.scale".into(), scale.shape(), &mut scale.iter());
        }
    }
    tensors
}

/// An array to write. Its bytes are those in memory if the processor is little-endian.
struct Tensor<'a> {
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

fn in_file_order<T: NoUninit, const N: usize>(values: &[T], each: impl Fn(&T) -> [u8; N]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        values.iter().flat_map(each).collect()
    }
}

impl View for &Tensor<'_> {
    fn dtype(&self) -> Dtype {
        self.kind
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// A tensor without its numbers, from which safetensors makes the table of a file.
struct Outline<'a>(&'a Tensor<'a>);

impl View for Outline<'_> {
    fn dtype(&self) -> Dtype {
        self.0.kind
    }

    fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }

    fn data_len(&self) -> usize {
        self.0.bytes.len()
    }
}

impl Header {
    /// Parses the header and checks that neither it nor the table of tensors was changed.
    fn parse(text: &str, table: &str) -> Result<Self, Unreadable> {
        let broken = |error: serde_json::Error| Unreadable::Header(error.to_string());
        let Version { format, version } = serde_json::from_str(text).map_err(broken)?;
        if format > FORMAT {
            return Err(Unreadable::Newer { found: format, version, known: FORMAT });
        }
        // Hash the text itself, not its parsed form, because later versions may add fields.
        let mut header: Self = serde_json::from_str(text).map_err(broken)?;
        let sealed = format!("\"{}\"}}", header.header_sha256);
        let unsealed = text.strip_suffix(&sealed).map(|rest| format!("{rest}\"\"}}"));
        let sum = |text: String| hexadecimal(&[text.as_bytes(), table.as_bytes()]);
        if unsealed.map(sum).as_ref() != Some(&header.header_sha256) {
            return Err(Unreadable::Changed("settings"));
        }
        if format == 1 {
            header.classes = typed(header.classes);
        }
        Ok(header)
    }
}

/// Class names that format 1 stored as strings: integers if all of them are written as integers and
/// ascend, otherwise strings.
fn typed(names: Labels) -> Labels {
    let Labels::Text(texts) = &names else { return names };
    let integer = |text: &String| text.parse::<i64>().ok().filter(|value| value.to_string() == *text);
    match texts.iter().map(integer).collect::<Option<Vec<i64>>>() {
        Some(values) if values.windows(2).all(|pair| pair[0] < pair[1]) => Labels::Int(values),
        _ => names,
    }
}

/// Names, types, shapes and byte ranges of all tensors, one per line.
pub(super) fn table(metadata: &Metadata) -> String {
    let mut lines: Vec<String> = metadata
        .tensors()
        .into_iter()
        .map(|(name, info)| format!("{name} {:?} {:?} {:?}\n", info.dtype, info.shape, info.data_offsets))
        .collect();
    lines.sort_unstable();
    lines.concat()
}

/// The arrays of a file, checked when they are read.
struct Tensors<'a>(SafeTensors<'a>);

impl Tensors<'_> {
    fn weights(&self, header: &Header) -> Result<Weights, Unreadable> {
        let config = &header.config;
        let shape = header.features.shape();
        let mut list = Vec::new();
        for (index, place) in places(config).enumerate() {
            let block = index / config.reservoirs % config.blocks;
            let units = |block| config.units.get(block).expect("validated: units for every block");
            let inputs = block.checked_sub(1).map_or(shape.features, units);
            let units = units(block);
            let mut gate = GateWeights::none(units);
            if shape.edge_labels > 0 {
                gate.labels = self.matrix(&format!("{place}.gate.labels"), (shape.edge_labels, units))?;
            }
            if shape.edge_attributes > 0 {
                let frequencies = (shape.edge_attributes, units);
                gate.frequencies = self.matrix(&format!("{place}.gate.frequencies"), frequencies)?;
                gate.phases = self.vector(&format!("{place}.gate.phases"), units)?;
            }
            list.push(BlockWeights {
                recurrent: self.matrix(&format!("{place}.recurrent"), (units, units))?,
                input: self.matrix(&format!("{place}.input"), (inputs, units))?,
                gate,
            });
        }
        Ok(Weights::from_list(list, config)?)
    }

    fn readout(&self, header: &Header, task: Task, width: usize) -> Result<Readout, Unreadable> {
        let (columns, config) = (task.num_columns(), &header.config);
        let (rows, expansion) = if config.landmarks > 0 {
            // There are fewer landmarks than configured if there were fewer training graphs.
            let found = self.0.tensor(LANDMARKS).map_or(0, |rows| rows.shape().first().copied().unwrap_or(0));
            let rows = found.min(config.landmarks);
            let mean = self.vector("readout.landmarks.mean", width)?;
            let scale = self.vector("readout.landmarks.scale", width)?;
            let assignment =
                config.kernel.has_colours().then(|| self.assignment(rows, config)).transpose()?;
            let landmarks = self.landmarks((rows, width))?;
            let landmarks = Landmarks::from_parts((mean, scale), landmarks, assignment, &config.readout())?;
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
        let readout = Readout::from_parts(task, header.alpha.to_vec(), expansion, coefficients)?;
        let readout = readout.trained_on(header.rows);
        if header.left_out.is_empty() {
            return Ok(readout);
        }
        let found = self.0.tensor(LEFT_OUT).map_or(0, |lists| lists.shape().first().copied().unwrap_or(0));
        let lengths = header.left_out.iter().map(LeftOut::length);
        let expected = lengths.fold(0, usize::saturating_add);
        if expected != found {
            return Err(wrong(LEFT_OUT, &[expected], Dtype::F64, format!("[{found}]")));
        }
        let mut lists = self.vector(LEFT_OUT, found)?.into_iter();
        let assessments = header.left_out.iter().map(|found| found.assessment(&mut lists));
        Ok(readout.assessed(assessments.collect::<Result<_>>()?)?)
    }

    fn landmarks(&self, shape: (usize, usize)) -> Result<Array2<f32>, Unreadable> {
        let f32 = self.0.tensor(LANDMARKS).is_ok_and(|tensor| tensor.dtype() == Dtype::F32);
        if !f32 {
            return Ok(self.matrix(LANDMARKS, shape)?.mapv(|value| value as f32));
        }
        let data = self.data(LANDMARKS, &[shape.0, shape.1], Dtype::F32)?;
        let values = data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        Array2::from_shape_vec(shape, values)
            .map_err(|error| wrong(LANDMARKS, &[shape.0, shape.1], Dtype::F32, error))
    }

    fn assignment(&self, landmarks: usize, config: &ModelConfig) -> Result<Assignment, Unreadable> {
        let data = |name: &str, kind: Dtype| {
            let found = self.0.tensor(name).map_or(0, |tensor| tensor.shape().first().copied().unwrap_or(0));
            self.data(name, &[found], kind)
        };
        let colours = data(COLOURS, Dtype::U64)?.as_chunks().0;
        let list = |name: &str| {
            let data = data(&format!("{COLOURS}.{name}"), Dtype::U32)?;
            Ok::<_, Unreadable>(data.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect())
        };
        let index = Index {
            colours: colours.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect(),
            starts: list("starts")?,
            holders: list("holders")?,
            counts: list("counts")?,
        };
        Ok(Assignment::from_parts(landmarks, config.wl_weight, index)?)
    }

    fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<Array2<f64>, Unreadable> {
        let values = self.values(name, &[shape.0, shape.1])?;
        Array2::from_shape_vec(shape, values)
            .map_err(|error| wrong(name, &[shape.0, shape.1], Dtype::F64, error))
    }

    fn vector(&self, name: &str, length: usize) -> Result<Array1<f64>, Unreadable> {
        Ok(self.values(name, &[length])?.into())
    }

    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Unreadable> {
        let (numbers, _) = self.data(name, shape, Dtype::F64)?.as_chunks();
        Ok(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
    }

    fn data(&self, name: &str, shape: &[usize], kind: Dtype) -> Result<&[u8], Unreadable> {
        let tensor = self.0.tensor(name).map_err(|_| wrong(name, shape, kind, "none"))?;
        if tensor.shape() != shape || tensor.dtype() != kind {
            let found = format!("{:?} of {:?}", tensor.shape(), tensor.dtype());
            return Err(wrong(name, shape, kind, found));
        }
        Ok(tensor.data())
    }
}

fn wrong(name: &str, shape: &[usize], kind: Dtype, found: impl ToString) -> Unreadable {
    let (name, expected) = (name.to_owned(), format!("{shape:?} of {kind:?}"));
    Unreadable::Tensor { name, expected, found: found.to_string() }
}

/// The names of all reservoirs, in order.
fn places(config: &ModelConfig) -> impl Iterator<Item = String> {
    let (blocks, reservoirs) = (config.blocks, config.reservoirs);
    (0..config.stacks * blocks * reservoirs).map(move |index| {
        let (stack, block) = (index / reservoirs / blocks, index / reservoirs % blocks);
        format!("stack{stack}.block{block}.reservoir{}", index % reservoirs)
    })
}

/// The bytes of the tensors. The file begins with the length of its header.
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

/// Serialising to memory fails only for sizes beyond any machine.
fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::Unwritable(error.to_string())
}
