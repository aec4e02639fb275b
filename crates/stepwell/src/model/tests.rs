//! Saved models: the same bits come back, and nothing else does.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use ndarray::{Array2, Axis};
use safetensors::tensor::{SafeTensors, serialize};

use super::saved::{KEY, hexadecimal, table};
use super::*;
use crate::config::{Aggregate, Pool, Preset};
use crate::graph::{BatchBuilder, EdgeList};
use crate::readout::{Alpha, Sample};
use crate::rng::Stream;
use crate::targets::{Labels, Targets};

/// Random graphs with labels and attributes.
pub(super) fn graphs() -> GraphBatch {
    let mut stream = Stream::new(1, "model tests", [0, 0]);
    let mut builder = BatchBuilder::default();
    for _ in 0..30 {
        let n = 5 + stream.below(12);
        let mut ends = || (0..2 * n).map(|_| stream.below(n) as u32).collect::<Vec<_>>();
        let (sources, targets) = (ends(), ends());
        let labels: Vec<i32> = (0..n).map(|_| stream.below(3) as i32 - 1).collect();
        let attributes: Vec<f64> = (0..2 * n).map(|_| stream.normal()).collect();
        let edges = EdgeList {
            vertex_labels: Some((&labels, 1)),
            vertex_attributes: Some((&attributes, 2)),
            ..EdgeList::new(n, &sources, &targets)
        };
        builder.push(&edges).unwrap();
    }
    builder.finish()
}

pub(super) fn trained(config: ModelConfig, classes: usize) -> TrainedModel {
    let graphs = graphs();
    let model = Model::fit(config, &graphs).unwrap();
    let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
    if classes == 0 {
        let values = embedding.vectors.rows().into_iter().map(|row| row.sum().sin()).collect();
        return TrainedModel::fit(model, &embedding, &Targets::numbers(values), Sample::default()).unwrap();
    }
    let labels: Vec<String> = (0..graphs.len()).map(|graph| format!("class {}", graph % classes)).collect();
    TrainedModel::fit(model, &embedding, &Targets::Classes(Labels::Text(labels)), Sample::default()).unwrap()
}

fn configurations() -> Vec<(ModelConfig, usize)> {
    let small = ModelConfig { units: 6.into(), ..Default::default() };
    vec![
        (small.clone(), 2),
        (
            ModelConfig {
                pool: Pool::Ndp,
                blocks: 3,
                concat: true,
                alpha: Alpha::Fixed(0.5),
                ..small.clone()
            },
            3,
        ),
        (ModelConfig { reservoirs: 2, stacks: 2, random_features: 9, ..small.clone() }, 4),
        (ModelConfig { landmarks: 7, ..small.clone() }, 4),
        (ModelConfig { landmarks: 1000, ..small.clone() }, 4),
        (ModelConfig { units: 6.into(), ..ModelConfig::preset(Preset::Accurate) }, 4),
        (ModelConfig { aggregate: vec![Aggregate::Max, Aggregate::Std], standardize: true, ..small }, 0),
    ]
}

#[test]
fn a_saved_model_predicts_the_same_bits() {
    for (config, classes) in configurations() {
        let model = trained(config, classes);
        let bytes = model.to_bytes().unwrap();
        assert_eq!(bytes, model.to_bytes().unwrap());
        let again = TrainedModel::from_bytes(&bytes).unwrap();
        assert_eq!(again, model);
        let predict = |model: &TrainedModel| model.predict(&graphs(), |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(predict(&again), predict(&model));
        assert_eq!(predict(&model).classes.len(), if classes == 0 { 0 } else { 30 });
    }
}

#[test]
fn names_of_classes_keep_their_type_and_models_need_no_readout() {
    let graphs = graphs();
    let each = |graph: usize| graph.is_multiple_of(2);
    for labels in [
        Labels::Bool((0..30).map(each).collect()),
        Labels::Int((0..30).map(|graph| graph % 2 * 7 - 3).collect()),
        Labels::Float((0..30).map(|graph| f64::from(graph % 2) + 0.1).collect()),
        Labels::Float((0..30).map(|graph| f64::from(graph % 2)).collect()),
        Labels::Text((0..30).map(|graph| (graph % 2).to_string()).collect()),
    ] {
        let model = Model::fit(ModelConfig { units: 4.into(), ..Default::default() }, &graphs).unwrap();
        let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Saved::from_bytes(&bytes).unwrap(), Saved::Untrained(model.clone()));
        let refused = TrainedModel::from_bytes(&bytes).unwrap_err().to_string();
        assert!(refused.starts_with("a model without a readout"), "{refused}");
        let trained =
            TrainedModel::fit(model, &embedding, &Targets::Classes(labels.clone()), Sample::default())
                .unwrap();
        let again = TrainedModel::from_bytes(&trained.to_bytes().unwrap()).unwrap();
        assert_eq!(again.classes, labels.distinct());
    }
}

#[test]
fn the_feature_set_of_molecules_is_kept() {
    let plain = trained(configurations()[0].0.clone(), 2);
    let model = Model { molecules: Some("ogb".into()), ..plain.model.clone() };
    let named = TrainedModel { model: model.clone(), ..plain.clone() };
    assert_eq!(TrainedModel::from_bytes(&named.to_bytes().unwrap()).unwrap(), named);
    assert_eq!(Saved::from_bytes(&model.to_bytes().unwrap()).unwrap(), Saved::Untrained(model));
    let said = |bytes: &[u8]| bytes.windows(9).any(|window| window == b"molecules");
    assert!(said(&named.to_bytes().unwrap()) && !said(&plain.to_bytes().unwrap()));
}

#[test]
fn broken_files_are_told_apart() {
    let bytes = trained(configurations()[0].0.clone(), 2).to_bytes().unwrap();
    let refused = |bytes: &[u8]| TrainedModel::from_bytes(bytes).unwrap_err().to_string();
    for length in [0, 4, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(refused(&bytes[..length]).starts_with("not a safetensors file"), "{length}");
    }
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(refused(&changed).contains("tensors of the model were changed"));

    let replaced = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        refused(&bytes)
    };
    assert!(
        replaced(r#"\"max_iter\":50"#, r#"\"max_iter\":51"#).contains("settings of the model were changed")
    );
    assert!(replaced(r#"\"format\":3"#, r#"\"format\":7"#).contains("reads up to format 3: upgrade"));
    assert!(replaced(r#"\"lift\":true"#, r#"\"lift\":trve"#).contains("header of the model is broken"));
    assert!(replaced("\"stepwell\"", "\"stepwall\"").contains("not a model of Stepwell"));
}

#[test]
fn tensors_cannot_change_places() {
    let bytes = trained(configurations()[0].0.clone(), 2).to_bytes().unwrap();
    let at = |name: &str| bytes.windows(name.len()).position(|part| part == name.as_bytes()).unwrap();
    let (first, second) = ("stack0.block0.reservoir0.recurrent", "stack0.block1.reservoir0.recurrent");
    let mut swapped = bytes.clone();
    swapped[at(first)..at(first) + first.len()].copy_from_slice(second.as_bytes());
    swapped[at(second)..at(second) + second.len()].copy_from_slice(first.as_bytes());
    let error = TrainedModel::from_bytes(&swapped).unwrap_err().to_string();
    assert!(error.contains("settings of the model were changed"), "{error}");
}

#[test]
fn a_thousand_mutations_never_panic() {
    let mut stream = Stream::new(3, "model mutations", [0, 0]);
    for (config, classes) in configurations() {
        let model = trained(config, classes);
        let bytes = model.to_bytes().unwrap();
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for round in 0..300 {
            let mut mutated = bytes.clone();
            for _ in 0..=stream.below(4) {
                // Two of three in the header, where there is more to go wrong.
                let at = stream.below(if round % 3 == 0 { bytes.len() } else { header });
                match stream.below(3) {
                    0 => mutated[at] ^= 1 << stream.below(8),
                    1 => mutated[at] = b"0123456789{}[]\",:-e"[stream.below(19)],
                    _ => drop(
                        mutated.drain(at.min(mutated.len())..mutated.len().min(at + 1 + stream.below(40))),
                    ),
                }
                if mutated.len() < bytes.len() {
                    break;
                }
            }
            if mutated != bytes {
                // Spaces and the order of safetensors' own table carry no meaning: it may be the same model.
                assert!(
                    TrainedModel::from_bytes(&mutated).is_err_and(|error| !error.to_string().is_empty())
                        || TrainedModel::from_bytes(&mutated).unwrap() == model
                );
            }
        }
    }
}

/// A file with another header, whose sums are right again.
fn resealed(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Option<Vec<u8>> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    let text = &metadata.metadata().as_ref().unwrap()[KEY];
    // The sum is last: 64 digits, a quotation mark and a brace.
    let mut unsealed = text.as_bytes()[..text.len() - 66].to_vec();
    change(&mut unsealed);
    let mut text = String::from_utf8(unsealed).ok()?;
    let sum = hexadecimal(&[format!("{text}\"}}").as_bytes(), table(&metadata).as_bytes()]);
    text += &format!("{sum}\"}}");
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    serialize(tensors.tensors(), Some(HashMap::from([(KEY.to_owned(), text)]))).ok()
}

#[test]
fn forged_files_with_right_sums_never_panic() {
    let mut stream = Stream::new(4, "model forgeries", [0, 0]);
    let (mut read, mut refused) = (0, HashSet::new());
    for (config, classes) in configurations() {
        let model = trained(config, classes);
        let bytes = model.to_bytes().unwrap();
        assert_eq!(resealed(&bytes, |_| ()).unwrap(), bytes, "nothing changed");
        for _ in 0..400 {
            let forged = resealed(&bytes, |text| {
                let digits: Vec<usize> = (0..text.len()).filter(|&at| text[at].is_ascii_digit()).collect();
                text[digits[stream.below(digits.len())]] = b'0' + stream.below(10) as u8;
                if stream.below(3) == 0 {
                    let commas: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b',').collect();
                    let at = stream.below(commas.len() - 1);
                    drop(text.drain(commas[at]..commas[at + 1]));
                }
            });
            match TrainedModel::from_bytes(&forged.unwrap()) {
                Ok(forged) => {
                    // What is accepted must also work, or say why not.
                    read += usize::from(forged.predict(&graphs(), |_| ControlFlow::Continue(())).is_ok());
                }
                Err(error) => drop(refused.insert(std::mem::discriminant(&error))),
            }
        }
    }
    assert!(read > 100 && refused.len() >= 4, "{read} read, {} kinds of refusal", refused.len());
}

#[test]
fn a_model_whose_parts_do_not_fit_any_more_is_not_written() {
    let changed = |change: fn(&mut TrainedModel)| {
        let mut model = trained(ModelConfig { units: 6.into(), ..Default::default() }, 3);
        change(&mut model);
        let _ = model.model.width();
        model.to_bytes().unwrap_err().to_string()
    };
    let told = "blocks of the weights: expected 5, found 2";
    assert_eq!(changed(|model| model.model.config.blocks = 5), told);
    let told = "blocks of the weights: expected 1, found 2";
    assert_eq!(changed(|model| model.model.config.blocks = 1), told);
    let told = "units of a block: expected 10, found 6";
    assert_eq!(changed(|model| model.model.config.units = 10.into()), told);
    let told = "names of classes: expected 3, found 2";
    assert_eq!(changed(|model| model.classes = model.classes.select(&[0, 1])), told);
    assert!(
        changed(|model| model.classes = model.classes.select(&[2, 0, 1]))
            .contains("names of classes must ascend")
    );
    assert!(changed(|model| model.model.config.leak = f64::NAN).contains("leak"));
}

/// The row that decides how far sets reach is covered itself, so rounding loses no class.
#[test]
fn sets_cover_the_rows_that_they_are_made_of() {
    let (graphs, mut stream) = (graphs(), Stream::new(4, "sets test", [0, 0]));
    let model = Model::fit(ModelConfig { units: 6.into(), ..Default::default() }, &graphs).unwrap();
    let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
    let y = Array2::from_shape_simple_fn((graphs.len(), 2), || f64::from(stream.bits() as u32 % 2));
    let trained = TrainedModel::fit(model, &embedding, &Targets::Binary(y), Sample::default()).unwrap();
    let decisions = Array2::from_shape_fn((41, 2), |(row, _)| -2.0 + row as f64 / 10.0);
    let assessments = trained.readout.assessments().unwrap();
    for target in 0..2 {
        let calibration = crate::readout::Calibration::from_parts(1.3, vec![0.1]).unwrap();
        let probabilities = calibration.probabilities(decisions.column(target).insert_axis(Axis(1))).unwrap();
        for ((row, class), p) in probabilities.indexed_iter() {
            let mut changed = assessments.to_vec();
            changed[target].calibration = Some(calibration.clone());
            changed[target].conformal = crate::readout::Conformal::new(vec![1.0 - p; 9]);
            let readout = trained.readout.clone().assessed(changed).unwrap();
            let sets = TrainedModel { readout, ..trained.clone() }.sets(decisions.view(), 0.5).unwrap();
            assert!(sets[(row, 2 * target + class)], "{target} {row} {class}: {p}");
        }
    }
}
