//! Chooses options by leave-one-out on a sample of the training graphs.
//!
//! Options are chosen one after the other. Candidates are compared by the fraction of the targets'
//! variance that a readout explains on left-out graphs. A candidate replaces the configured value
//! only if it is clearly better. The comparison is cheap: at most [`MOST_GRAPHS`] graphs, sampled
//! by a hash of their content, one stack, and few landmarks. The result does not depend on the
//! model's seed, so models that differ only in their seed get the same options.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::Model;
use crate::config::{Choose, ClassWeight, Metric, ModelConfig, option};
use crate::error::{Error, Result, same_length};
use crate::features::StructuralFeature;
use crate::graph::GraphBatch;
use crate::pool::Going;
use crate::pyramid::Pyramid;
use crate::readout::{Readout, Sample};
use crate::reservoir::Embedding;
use crate::rng::Stream;
use crate::targets::{Census, Encoded, Targets, Task};

/// Maximum number of graphs in the sample.
pub const MOST_GRAPHS: usize = 1000;

/// Maximum number of vertices in the sample.
const MOST_VERTICES: usize = 500_000;

/// Equal graphs may have different targets. The sample keeps at most this many different targets of
/// one graph, and counts at most this many copies of each.
const MOST_COPIES: usize = 8;

/// Maximum number of landmarks of the compared readouts.
const LANDMARKS: usize = 300;

/// With fewer graphs, leave-one-out is too noisy to choose by.
const FEWEST_GRAPHS: usize = 50;

/// The fraction of the unexplained variance that a candidate must explain to be chosen. With fewer
/// graphs, and fewer effective graphs (`telling`), more of a difference is chance.
fn margin(graphs: usize, telling: f64) -> f64 {
    0.005 + 5.0 / telling.max(1.0) - 2.5 / graphs as f64
}

/// The effective number of graphs: as many graphs of equally frequent classes, or with numeric
/// targets, carry the same information. If a class is rare, its few graphs decide. For several
/// targets, the mean.
fn telling(census: &Census, targets: usize) -> f64 {
    let of = |target: usize| {
        let counts = census.counts(target);
        let (classes, all) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
        if classes < 2.0 || all == 0.0 {
            return all;
        }
        let alike: f64 = counts.iter().map(|&count| (count as f64 / all).powi(2)).sum();
        all * (1.0 - alike) / (1.0 - 1.0 / classes)
    };
    (0..targets).map(of).sum::<f64>() / targets.max(1) as f64
}

/// An option that was chosen, and the candidates.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Choice {
    /// The option. It is written with the name that it has in a configuration.
    #[serde(serialize_with = "by_name", deserialize_with = "named")]
    pub option: Choose,
    /// The candidates. The first one is the configured value.
    pub candidates: Vec<Candidate>,
    /// The position of the chosen candidate.
    pub chosen: usize,
}

fn by_name<S: Serializer>(option: &Choose, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(option.option())
}

fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Choose, D::Error> {
    let name = String::deserialize(deserializer)?.replace('_', "-");
    Choose::deserialize(IntoDeserializer::<D::Error>::into_deserializer(name))
}

/// A candidate value of an option.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Candidate {
    /// The value, as in a configuration file.
    pub value: Value,
    /// The fraction of the targets' variance that is explained on left-out graphs. `None` if there
    /// were too few graphs to compare.
    pub explained: Option<f64>,
}

impl Choice {
    /// The chosen value.
    pub fn value(&self) -> &Value {
        &self.candidates[self.chosen].value
    }

    /// A choice that keeps the configured value, because there are too few graphs to compare.
    fn kept(option: Choose, config: &ModelConfig) -> Result<Self> {
        let value = crate::config::option(option.option())?.value(config);
        Ok(Self { option, candidates: vec![Candidate { value, explained: None }], chosen: 0 })
    }
}

/// A random sample of the training graphs for comparing candidates, drawn in one pass over them.
///
/// ```
/// use stepwell::graph::{EdgeList, Graph};
/// use stepwell::model::Drawn;
/// use stepwell::targets::Targets;
/// let pair = Graph::new(&EdgeList::new(2, &[0], &[1]))?;
/// let star = Graph::new(&EdgeList::new(3, &[0, 0], &[1, 2]))?;
/// let (mut here, mut there) = (Drawn::default(), Drawn::default());
/// here.observe(pair.as_batch(), &Targets::integers(vec![0]));
/// there.observe(star.as_batch(), &Targets::integers(vec![1]));
/// // What travels from one machine to another.
/// let (graphs, targets, end) = there.parts()?;
/// here.merge(&graphs, &targets, end);
/// assert_eq!(here.finish()?.0.len(), 2);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    by_lot: BTreeMap<u64, (GraphBatch, Copies<Targets>)>,
    /// Vertices of these graphs, without their copies.
    vertices: usize,
    /// Graphs with this random key or a larger one are not sampled, because those below it already
    /// have [`MOST_VERTICES`] vertices.
    end: Option<u64>,
}

impl Drawn {
    /// Adds graphs to the sample. Skips graphs without a target.
    pub fn observe(&mut self, graphs: &GraphBatch, targets: &Targets) {
        for (index, key) in graphs.keys().into_iter().enumerate() {
            if !targets.is_known(index) {
                continue;
            }
            let lot = lot(key);
            let full = self.by_lot.len() >= MOST_GRAPHS;
            if self.end.is_some_and(|end| lot >= end)
                || full && self.by_lot.last_key_value().is_none_or(|(&worst, _)| lot > worst)
            {
                continue;
            }
            let (_, copies) = self.by_lot.entry(lot).or_insert_with(|| {
                let graph = graphs.select(&[index]);
                self.vertices += graph.num_vertices();
                (graph, Copies::default())
            });
            copies.add(|held| targets.order(index, held, 0).reverse(), || targets.select(&[index]));
            self.drop_most();
        }
    }

    fn drop_most(&mut self) {
        while self.by_lot.len() > MOST_GRAPHS || self.vertices > MOST_VERTICES {
            let Some((lot, (graph, _))) = self.by_lot.pop_last() else { return };
            if self.vertices > MOST_VERTICES {
                self.end = Some(lot);
            }
            self.vertices -= graph.num_vertices();
        }
    }

    /// Returns the sample so far, and the random key at which it ends, if that is known.
    pub fn parts(&self) -> Result<(GraphBatch, Targets, Option<u64>)> {
        let (graphs, targets) = self.rows(usize::MAX, usize::MAX)?;
        Ok((graphs, targets, self.end))
    }

    /// Adds the [`parts`](Self::parts) of a sample of other graphs.
    pub fn merge(&mut self, graphs: &GraphBatch, targets: &Targets, end: Option<u64>) {
        if let Some(end) = end {
            let beyond = self.by_lot.split_off(&end);
            self.vertices -= beyond.values().map(|(graph, _)| graph.num_vertices()).sum::<usize>();
            self.end = Some(self.end.map_or(end, |own| own.min(end)));
        }
        self.observe(graphs, targets);
    }

    /// Returns the sampled graphs and their targets.
    pub fn finish(self) -> Result<(GraphBatch, Targets)> {
        self.rows(MOST_GRAPHS, MOST_VERTICES)
    }

    /// The first graphs of the sample with their copies, up to these numbers of graphs and vertices.
    fn rows(&self, most: usize, mut vertices: usize) -> Result<(GraphBatch, Targets)> {
        let (mut graphs, mut targets) = (GraphBatch::default(), Targets::None);
        let all = self.by_lot.values().flat_map(|(graph, copies)| copies.iter().map(move |own| (graph, own)));
        for (graph, target) in all.take(most) {
            let Some(rest) = vertices.checked_sub(graph.num_vertices()) else { break };
            vertices = rest;
            graphs.append(graph)?;
            targets.append(target.clone())?;
        }
        Ok((graphs, targets))
    }
}

/// The targets of equal graphs in ascending order, and how often each occurs. Neither order nor
/// pieces matter: of too many different targets, it keeps as many of the smallest as of the largest.
#[derive(Clone, Debug)]
struct Copies<T>(Vec<(T, usize)>);

impl<T> Default for Copies<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Copies<T> {
    /// Adds a target. `order` compares a target that is here with the new one.
    fn add(&mut self, order: impl Fn(&T) -> Ordering, make: impl FnOnce() -> T) {
        match self.0.binary_search_by(|(held, _)| order(held)) {
            Ok(at) => self.0[at].1 = MOST_COPIES.min(self.0[at].1 + 1),
            Err(at) => {
                self.0.insert(at, (make(), 1));
                if self.0.len() > MOST_COPIES {
                    self.0.remove(MOST_COPIES / 2);
                }
            }
        }
    }

    /// Every target, as often as it occurs.
    fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|(target, count)| std::iter::repeat_n(target, *count))
    }
}

/// The number of graphs, of those with these numbers of vertices, that fit into the sample.
fn affordable(sizes: impl Iterator<Item = usize>) -> usize {
    let mut vertices = 0;
    sizes
        .take_while(|size| {
            vertices += size;
            vertices <= MOST_VERTICES
        })
        .count()
}

fn lot(key: u64) -> u64 {
    Stream::new(0, "choices", [key, 0]).bits()
}

/// Chooses options on a sample of the training graphs with a positive weight and a known target.
/// Returns the configuration with all options chosen, and the choices.
pub fn choose(
    config: &ModelConfig,
    graphs: &GraphBatch,
    targets: &Encoded,
    sample: Sample<'_>,
    going: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<(ModelConfig, Vec<Choice>)> {
    if config.choose.is_empty() {
        return Ok((config.clone(), Vec::new()));
    }
    same_length("targets", graphs.len(), targets.len())?;
    sample.check(graphs.len())?;
    let known = |graph: &usize| !targets.columns(*graph..graph + 1).iter().all(|value| value.is_nan());
    let counts = |graph: &usize| sample.weights.is_none_or(|weights| weights[*graph] > 0.0);
    let keys = graphs.keys();
    let mut by_lot: BTreeMap<u64, Copies<usize>> = BTreeMap::new();
    for graph in (0..graphs.len()).filter(known).filter(counts) {
        let copies = by_lot.entry(lot(keys[graph])).or_default();
        copies.add(|&held| targets.order(held, graph), || graph);
    }
    let mut drawn: Vec<usize> = by_lot.values().flat_map(Copies::iter).copied().take(MOST_GRAPHS).collect();
    drawn.truncate(affordable(drawn.iter().map(|&graph| graphs.graph(graph).num_vertices())));
    choose_on(config, &graphs.select(&drawn), &targets.select(&drawn), going)
}

/// Chooses options on exactly these graphs, which come from a [`Drawn`]. Targets must be encoded
/// with the classes of all training graphs ([`Encoded::with_classes`]). Skips targets that do not
/// [vary](Encoded::varying) among these graphs.
pub fn choose_on(
    config: &ModelConfig,
    graphs: &GraphBatch,
    targets: &Encoded,
    going: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<(ModelConfig, Vec<Choice>)> {
    choose_while(config, graphs, targets, &going)
}

fn choose_while(
    config: &ModelConfig,
    graphs: &GraphBatch,
    targets: &Encoded,
    going: &Going<'_>,
) -> Result<(ModelConfig, Vec<Choice>)> {
    let mut decided = ModelConfig { choose: Vec::new(), ..config.clone() };
    let metric = match targets.task() {
        Task::Regression { .. } => Metric::Rmse,
        Task::Classification { .. } | Task::Binary { .. } => Metric::Accuracy,
    };
    let chosen = || Choose::ALL.into_iter().filter(|choose| config.choose.contains(choose));
    let kept = || chosen().map(|choose| Choice::kept(choose, config)).collect::<Result<Vec<Choice>>>();
    same_length("targets", graphs.len(), targets.len())?;
    let varying = targets.varying();
    if graphs.len() < FEWEST_GRAPHS || varying.is_empty() {
        return Ok((decided, kept()?));
    }
    let targets = &targets.of_targets(&varying);
    let keys = graphs.keys();
    let trial = |decided: &ModelConfig| ModelConfig {
        seed: 0,
        stacks: 1,
        landmarks: decided.landmarks.min(LANDMARKS),
        class_weight: ClassWeight::None,
        metric,
        ..decided.clone()
    };
    let pyramid = match decided.pooling() {
        Some(pooling) => pooling.coarsen(graphs, decided.levels(), |_| going())?,
        None => Pyramid::default(),
    };
    let embed = |model: &Model| {
        let prepared = model.prepare(graphs, &pyramid, going)?;
        model.embed_prepared(&prepared, None, |_| going())
    };
    let explained = |config: &ModelConfig, embedding: &Embedding| {
        if going().is_break() {
            return Err(Error::Cancelled);
        }
        let options = trial(config).readout();
        Ok(Readout::fit(embedding, targets, Sample::with_keys(&keys), &options, 0)?.explained())
    };
    let margin = margin(graphs.len(), telling(&targets.census(), targets.task().num_targets()));
    let mut model = Model::fit(trial(&decided), graphs)?;
    let mut embedding = embed(&model)?;
    let Some(mut best) = explained(&decided, &embedding)? else { return Ok((decided, kept()?)) };
    let mut choices = Vec::new();
    for choose in chosen() {
        let setting = option(choose.option())?;
        let mut candidates = vec![Candidate { value: setting.value(&decided), explained: Some(best) }];
        let mut chosen = (0, decided.clone(), None);
        for value in choose.candidates(&decided) {
            if value == candidates[0].value {
                continue;
            }
            let mut other = decided.clone();
            setting.set(&mut other, value.clone())?;
            let mut own = None;
            if choose.changes_vectors() {
                let changed = Model::fit(trial(&other), graphs)?;
                // Vertices without features already have these columns, so the vectors are the
                // same.
                if (&changed.features, changed.config.normalize) == (&model.features, model.config.normalize)
                {
                    continue;
                }
                own = Some((embed(&changed)?, changed));
            }
            let vectors = own.as_ref().map_or(&embedding, |(vectors, _)| vectors);
            let Some(found) = explained(&other, vectors)? else { continue };
            candidates.push(Candidate { value, explained: Some(found) });
            if 1.0 - found < (1.0 - best) * (1.0 - if chosen.0 == 0 { margin } else { 0.0 }) {
                best = found;
                chosen = (candidates.len() - 1, other, own);
            }
        }
        let (position, config, own) = chosen;
        decided = config;
        (embedding, model) = own.unwrap_or((embedding, model));
        choices.push(Choice { option: choose, candidates, chosen: position });
    }
    Ok((decided, choices))
}

impl Choose {
    /// Whether another value changes the vectors of graphs.
    fn changes_vectors(self) -> bool {
        matches!(self, Self::Structure | Self::Normalize)
    }

    /// The candidate values.
    fn candidates(self, config: &ModelConfig) -> Vec<Value> {
        let has_landmarks = config.landmarks > 0;
        match self {
            Self::Structure => {
                let few = [StructuralFeature::LogDegree, StructuralFeature::Clustering];
                vec![json!(few), json!([few[0], few[1], StructuralFeature::LocalDegreeProfile])]
            }
            Self::Normalize => vec![json!(!config.normalize)],
            Self::WlWeight if has_landmarks && config.kernel.has_colours() && config.kernel.has_states() => {
                // Larger weights win on a thousand graphs and lose on all of them: states benefit
                // more from additional training graphs than colours do.
                vec![json!(0.0), json!(0.5), json!(2.0)]
            }
            Self::GaussianWidth if has_landmarks && config.kernel.has_states() => {
                vec![json!(0.5), json!(1.0), json!(2.0)]
            }
            Self::WlWeight | Self::GaussianWidth => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Kernel, Preset};
    use crate::graph::{BatchBuilder, EdgeList};
    use crate::targets::Labels;

    /// Rings with chords: two classes that differ in the number of chords that close a triangle.
    /// Labels carry no information.
    fn graphs(count: u64) -> (GraphBatch, Targets) {
        let (mut builder, mut classes) = (BatchBuilder::default(), Vec::new());
        for graph in 0..count {
            let mut stream = Stream::new(graph, "choosing test", [0, 0]);
            let class = graph % 2;
            let n = 12 + (stream.bits() % 8) as u32;
            let (mut from, mut to): (Vec<u32>, Vec<u32>) = (0..n).map(|v| (v, (v + 1) % n)).unzip();
            for _ in 0..3 {
                let v = (stream.bits() % u64::from(n)) as u32;
                from.push(v);
                to.push((v + if class == 0 { 2 } else { 4 }) % n);
            }
            let labels: Vec<i32> = (0..n).map(|_| (stream.bits() % 3) as i32).collect();
            let edges = EdgeList::new(n as usize, &from, &to);
            builder.push(&EdgeList { vertex_labels: Some((&labels, 1)), ..edges }).unwrap();
            classes.push(class as i64);
        }
        (builder.finish(), Targets::integers(classes))
    }

    fn config() -> ModelConfig {
        ModelConfig { units: 10.into(), landmarks: 100, ..ModelConfig::preset(Preset::Accurate) }
    }

    fn chosen(config: &ModelConfig, graphs: &GraphBatch, targets: &Targets) -> (ModelConfig, Vec<Choice>) {
        let targets = Encoded::new(targets).unwrap();
        choose(config, graphs, &targets, Sample::default(), || ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn names_of_options_are_read_in_either_spelling() {
        for name in ["wl_weight", "wl-weight"] {
            let text = format!(r#"{{"option":"{name}","candidates":[],"chosen":0}}"#);
            let choice: Choice = serde_json::from_str(&text).unwrap();
            assert_eq!(choice.option, Choose::WlWeight);
            assert_eq!(serde_json::to_value(&choice).unwrap()["option"], "wl_weight");
        }
    }

    #[test]
    fn graphs_of_rare_classes_tell_less() {
        let classes = |counts: &[u64]| telling(&Census::of_classes(counts.to_vec()), 1);
        assert_eq!(classes(&[500, 500]), 1000.0);
        assert!((classes(&[300, 300, 300]) - 900.0).abs() < 1e-9);
        // The formula for two classes: 4 n p (1 - p).
        assert!((classes(&[965, 35]) - 4000.0 * 0.035 * 0.965).abs() < 1e-9);
        assert_eq!(classes(&[700]), 700.0, "numbers");
        assert_eq!(classes(&[700, 0]), 0.0);
        let nan = f64::NAN;
        let y = Targets::Binary(ndarray::array![[1.0, 0.0], [0.0, nan], [1.0, 1.0], [0.0, nan]]);
        assert_eq!(telling(&Encoded::new(&y).unwrap().census(), 2), 3.0, "four of one, two of the other");
    }

    #[test]
    fn what_helps_is_chosen_and_what_does_not_is_left() {
        let (graphs, targets) = graphs(300);
        let (decided, choices) = chosen(&config(), &graphs, &targets);
        let options: Vec<&str> = choices.iter().map(|choice| choice.option.option()).collect();
        assert_eq!(options, ["structure", "wl_weight", "gaussian_width"]);
        assert!(decided.structure.contains(&StructuralFeature::Clustering), "{choices:?}");
        assert!(decided.choose.is_empty());
        for choice in &choices {
            let explained = |found: &Candidate| found.explained.unwrap();
            let best = choice.candidates.iter().map(explained).fold(f64::MIN, f64::max);
            let own = explained(&choice.candidates[choice.chosen]);
            assert!(own == best || choice.chosen == 0, "{choice:?}");
            assert_eq!(option(choice.option.option()).unwrap().value(&decided), *choice.value());
        }
        // Targets that are independent of the graphs.
        let noise = (0..300).map(|graph| (Stream::new(graph, "noise", [0, 0]).bits() % 2) as i64);
        let (decided, _) = chosen(&config(), &graphs, &Targets::integers(noise.collect()));
        assert!(decided.structure.is_empty());
    }

    #[test]
    fn copies_of_a_graph_keep_the_shares_of_their_targets() {
        let copies = |targets: &[i64]| {
            let mut copies = Copies::default();
            targets.iter().for_each(|&target| copies.add(|held: &i64| held.cmp(&target), || target));
            copies.iter().copied().collect::<Vec<i64>>()
        };
        assert_eq!(copies(&[3, 1, 3, 3]), [1, 3, 3, 3]);
        let often: Vec<i64> = (0..50).map(|at| at % 2).collect();
        assert_eq!(copies(&often), [[0; MOST_COPIES], [1; MOST_COPIES]].concat());
        let many: Vec<i64> = (0..20).collect();
        let backwards: Vec<i64> = (0..20).rev().collect();
        assert_eq!(copies(&many), [0, 1, 2, 3, 16, 17, 18, 19]);
        assert_eq!(copies(&backwards), copies(&many));

        // Ten copies of a path, seven of one class and three of the other, and many rings.
        let (mut builder, mut classes) = (BatchBuilder::default(), Vec::new());
        for graph in 0..60u32 {
            let n = if graph < 10 { 5 } else { graph };
            let (from, to): (Vec<u32>, Vec<u32>) = (0..n - 1).map(|v| (v, v + 1)).unzip();
            builder.push(&EdgeList::new(n as usize, &from, &to)).unwrap();
            classes.push(i64::from(graph < 3 || graph % 2 == 0 && graph >= 10));
        }
        let (graphs, targets) = (builder.finish(), Targets::integers(classes));
        let (mut drawn, mut merged) = (Drawn::default(), Drawn::default());
        drawn.observe(&graphs, &targets);
        for piece in [[5, 2, 0, 7, 4], [9, 1, 8, 3, 6]] {
            let mut part = Drawn::default();
            part.observe(&graphs.select(&piece), &targets.select(&piece));
            let (graphs, targets, end) = part.parts().unwrap();
            merged.merge(&graphs, &targets, end);
        }
        let (some, their) = merged.finish().unwrap();
        assert_eq!((some.len(), their), (10, Targets::integers(vec![0, 0, 0, 0, 0, 0, 0, 1, 1, 1])));
        assert_eq!(drawn.finish().unwrap().0.len(), 60);
    }

    #[test]
    fn neither_order_nor_seed_nor_pieces_matter() {
        let (graphs, targets) = graphs(1200);
        let reservoir = |seed| ModelConfig { seed, choose: vec![Choose::WlWeight], ..config() };
        let (decided, choices) = chosen(&reservoir(0), &graphs, &targets);
        let backwards: Vec<usize> = (0..graphs.len()).rev().collect();
        let other = chosen(&reservoir(7), &graphs.select(&backwards), &targets.select(&backwards));
        assert_eq!((other.0.wl_weight, other.1), (decided.wl_weight, choices.clone()));
        let mut drawn = Drawn::default();
        for first in (0..graphs.len()).step_by(70) {
            let piece: Vec<usize> = (first..graphs.len().min(first + 70)).collect();
            drawn.observe(&graphs.select(&piece), &targets.select(&piece));
        }
        let (some, their) = drawn.finish().unwrap();
        assert_eq!(some.len(), MOST_GRAPHS);
        // The sample must not depend on the order or place of observation.
        let mut merged = Drawn::default();
        for first in [600, 0, 900, 300] {
            let piece: Vec<usize> = (first..first + 300).collect();
            let mut part = Drawn::default();
            part.observe(&graphs.select(&piece), &targets.select(&piece));
            let (graphs, targets, end) = part.parts().unwrap();
            merged.merge(&graphs, &targets, end);
        }
        assert_eq!(merged.finish().unwrap(), (some.clone(), their.clone()));
        let their = Encoded::new(&their).unwrap();
        let found = choose_on(&reservoir(0), &some, &their, || ControlFlow::Continue(())).unwrap();
        assert_eq!(found.1, choices);
    }

    #[test]
    fn large_graphs_are_fewer_in_any_order() {
        // Paths of 1 to 6,000 vertices. Most occur twice, with different classes.
        let path = |graph: u64| {
            let n = (1 + (graph * 7919) % 6000) as u32;
            let (from, to): (Vec<u32>, Vec<u32>) = (1..n).map(|v| (v - 1, v)).unzip();
            crate::graph::Graph::new(&EdgeList::new(n as usize, &from, &to)).unwrap().into_batch()
        };
        let mut all = GraphBatch::default();
        (0..900).for_each(|graph| all.append(&path(graph % 500)).unwrap());
        let class = |graph: usize| if graph < 500 { 1 } else { 0 };
        let classes = Targets::integers((0..900).map(class).collect());
        let mut lots: Vec<(u64, i64, usize)> =
            all.keys().into_iter().enumerate().map(|(graph, key)| (lot(key), class(graph), graph)).collect();
        lots.sort_unstable();
        let mut vertices = 0;
        let expected: Vec<usize> = lots
            .into_iter()
            .map(|(_, _, graph)| graph)
            .take_while(|&graph| {
                vertices += all.graph(graph).num_vertices();
                vertices <= MOST_VERTICES
            })
            .collect();
        assert!(expected.len() < 400);
        let expected = (all.select(&expected), classes.select(&expected));
        for (size, backwards) in [(900, false), (100, true), (37, false)] {
            let mut merged = Drawn::default();
            let mut order: Vec<usize> = (0..900).collect();
            if backwards {
                order.reverse();
            }
            for piece in order.chunks(size) {
                let mut part = Drawn::default();
                part.observe(&all.select(piece), &classes.select(piece));
                let (graphs, targets, end) = part.parts().unwrap();
                merged.merge(&graphs, &targets, end);
            }
            assert_eq!(merged.finish().unwrap(), expected, "{size} {backwards}");
        }
    }

    #[test]
    fn a_rare_class_outside_the_sample_hides_no_choice() {
        let (graphs, targets) = graphs(1100);
        let config = ModelConfig { choose: vec![Choose::WlWeight], ..config() };
        let mut lots: Vec<(u64, usize)> = graphs.keys().into_iter().map(lot).zip(0..).collect();
        lots.sort_unstable();
        let last = lots[MOST_GRAPHS + 50].1;
        let Targets::Classes(Labels::Int(classes)) = &targets else { unreachable!() };
        // One more target, which is 1 for one graph and unknown for another.
        let several =
            Targets::Binary(ndarray::Array2::from_shape_fn((1100, 3), |(graph, target)| match target {
                0 => classes[graph] as f64,
                1 => f64::from(u8::from(graph == last)),
                _ if lots[..MOST_GRAPHS].iter().any(|(_, drawn)| *drawn == graph) => f64::NAN,
                _ => (graph % 2) as f64,
            }));
        // A third class with one graph.
        let mut three = classes.clone();
        three[last] = 2;
        for targets in [several, Targets::integers(three)] {
            let (decided, choices) = chosen(&config, &graphs, &targets);
            assert!(choices[0].candidates.len() > 1);
            let (mut drawn, mut seen) = (Drawn::default(), Targets::None);
            for first in (0..1100).step_by(100) {
                let piece: Vec<usize> = (first..first + 100).collect();
                let their = targets.select(&piece);
                drawn.observe(&graphs.select(&piece), &their);
                seen.append(their.kinds()).unwrap();
            }
            let (some, their) = drawn.finish().unwrap();
            let classes = seen.labels().map_or(Labels::NONE, Labels::distinct);
            let their = Encoded::with_classes(&their, classes).unwrap();
            let found = choose_on(&config, &some, &their, || ControlFlow::Continue(())).unwrap();
            assert_eq!(found, (decided, choices));
        }
    }

    #[test]
    fn targets_and_weights_of_other_graphs_are_refused() {
        let (graphs, targets) = graphs(60);
        let going = || ControlFlow::Continue(());
        let few = Encoded::new(&targets.select(&[0, 1, 2])).unwrap();
        assert!(choose(&config(), &graphs, &few, Sample::default(), going).is_err());
        assert!(choose_on(&config(), &graphs, &few, going).is_err());
        let targets = Encoded::new(&targets).unwrap();
        let sample = Sample { weights: Some(&[1.0]), keys: None };
        assert!(choose(&config(), &graphs, &targets, sample, going).is_err());
    }

    #[test]
    fn nothing_is_chosen_that_was_given_or_of_few_graphs() {
        let given = json!({ "wl_weight": 1, "structure": [] });
        let config = config().overlay(given.as_object().unwrap()).unwrap();
        assert_eq!(config.choose, [Choose::GaussianWidth]);
        let (few, targets) = graphs(40);
        let (decided, choices) = chosen(&config, &few, &targets);
        assert_eq!(choices, [Choice::kept(Choose::GaussianWidth, &config).unwrap()]);
        assert_eq!(decided, ModelConfig { choose: Vec::new(), ..config });
        let states = ModelConfig { kernel: Kernel::States, ..self::config() };
        assert!(Choose::WlWeight.candidates(&states).is_empty());
        let twice = json!({ "choose": ["structure", "structure"] });
        let refusal = self::config().overlay(twice.as_object().unwrap()).unwrap_err().to_string();
        assert_eq!(refusal, "choose: expected each option once, found structure twice");
    }
}
