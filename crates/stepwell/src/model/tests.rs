//! Saved models: reading returns the same bits, and changed files are rejected.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use ndarray::{Array2, Axis};
use safetensors::tensor::{SafeTensors, serialize};

use super::saved::{KEY, hexadecimal, table};
use super::*;
use crate::config::{Aggregate, Kernel, Pool, Preset};
use crate::graph::{BatchBuilder, EdgeList};
use crate::readout::{Alpha, Sample};
use crate::rng::Stream;
use crate::targets::{Encoded, Labels, Targets};

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
    let model = Model::fit(ModelConfig { choose: Vec::new(), ..config }, &graphs).unwrap();
    let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
    if classes == 0 {
        let values = embedding.vectors.rows().into_iter().map(|row| row.sum().sin()).collect();
        return TrainedModel::fit(model, &embedding, &Targets::numbers(values), Sample::default()).unwrap();
    }
    let labels: Vec<String> = (0..graphs.len()).map(|graph| format!("class {}", graph % classes)).collect();
    TrainedModel::fit(model, &embedding, &Targets::Classes(Labels::Text(labels)), Sample::default()).unwrap()
}

#[test]
fn options_that_lack_another_have_no_effect() {
    let small = ModelConfig { units: 6.into(), ..Default::default() };
    let accurate = ModelConfig { units: 6.into(), stacks: 1, ..ModelConfig::preset(Preset::Accurate) };
    let configs = [
        small.clone(),
        ModelConfig { blocks: 1, ..small.clone() },
        ModelConfig { blocks: 1, pool: Pool::Graclus, ..small.clone() },
        ModelConfig { pool: Pool::Nmf, ..small.clone() },
        ModelConfig { pool: Pool::KMis, ..small },
        ModelConfig { kernel: Kernel::States, ..accurate.clone() },
        ModelConfig { kernel: Kernel::WlOa, ..accurate },
    ];
    let others = serde_json::json!({
        "pool": "ndp", "pool_last": true, "pool_seed": 7, "reduce": "max", "delta": 0.5,
        "sparsify": "deferred", "side": "smaller", "approximate": true, "fill_budget": 1,
        "hidden_scaling": 0.1, "tied": true, "density": 0.7, "tol": 0.1, "max_iter": 1,
        "kernel": "both", "wl_rounds": 1, "wl_weight": 0.1, "gaussian_width": 0.3,
    });
    let mut seen = HashSet::new();
    for config in configs {
        let values = |config| trained(config, 2).predict(&graphs(), |_| ControlFlow::Continue(())).unwrap();
        let expected = values(config.clone());
        for (option, value) in others.as_object().unwrap() {
            let change = [(option.clone(), value.clone())].into_iter().collect();
            let Ok(changed) = config.overlay(&change) else { continue };
            if changed.lacks(option).is_some() {
                assert_eq!(values(changed), expected, "{option} in {config:?}");
                seen.insert(option.clone());
            }
        }
    }
    let never: Vec<_> = others.as_object().unwrap().keys().filter(|option| !seen.contains(*option)).collect();
    assert!(never.is_empty(), "{never:?}");
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
    assert!(replaced(r#"\"format\":3"#, r#"\"format\":7"#).contains("reads formats up to 3: upgrade"));
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
                // Two of three changes hit the header, where more can go wrong.
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
                // Whitespace and order in safetensors' own table carry no meaning, so the model may
                // be unchanged.
                assert!(
                    TrainedModel::from_bytes(&mutated).is_err_and(|error| !error.to_string().is_empty())
                        || TrainedModel::from_bytes(&mutated).unwrap() == model
                );
            }
        }
    }
}

/// A file with a changed header and recomputed checksums.
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
                    // A file that is accepted must also predict, or return an error.
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
            .contains("names of classes: expected distinct names in ascending order")
    );
    assert!(changed(|model| model.model.config.leak = f64::NAN).contains("leak"));
}

#[test]
fn names_of_targets_are_distinct_and_all_graphs_with_a_target_are_counted() {
    let graphs = graphs();
    let nan = f64::NAN;
    // Each target is known for 20 of 30 graphs, and 29 have any.
    let y = Array2::from_shape_fn((graphs.len(), 2), |(graph, target)| match (graph, target) {
        (0, _) => nan,
        (graph, 0) if graph > 20 => nan,
        (graph, 1) if graph < 10 => nan,
        _ => (graph % 2) as f64,
    });
    let targets = Encoded::named(&Targets::Binary(y), vec!["a".into(), "b".into()]).unwrap();
    let config = ModelConfig { units: 6.into(), ..Default::default() };
    let going = |_| ControlFlow::Continue(());
    let mut trained = TrainedModel::train_encoded(&config, &graphs, &targets, going).unwrap();
    assert_eq!(trained.targets, ["a", "b"]);
    let again = TrainedModel::from_bytes(&trained.to_bytes().unwrap()).unwrap();
    assert_eq!(again.readout.rows(), Some(29));
    assert_eq!(again.readout.assessments().unwrap().iter().map(|found| found.rows).max(), Some(20));
    trained.targets[1] = "a".into();
    assert_eq!(
        trained.to_bytes().unwrap_err().to_string(),
        "targets: expected distinct names, found 'a' twice"
    );
}

#[test]
fn options_left_to_choose_and_missing_colours_are_errors() {
    let graphs = graphs();
    let config = ModelConfig { units: 6.into(), landmarks: 10, ..ModelConfig::preset(Preset::Accurate) };
    let targets = Targets::integers((0..graphs.len() as i64).map(|graph| graph % 2).collect());
    let fit = |config: ModelConfig, colours: bool| {
        let model = Model::fit(config, &graphs).unwrap();
        let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
        match colours {
            true => TrainedModel::fit(model, &embedding, &targets, Sample::default()),
            false => TrainedModel::fit(model, embedding.vectors.view(), &targets, Sample::default()),
        }
    };
    let refused = fit(config.clone(), true).unwrap_err().to_string();
    assert!(
        refused.contains("call TrainedModel::train") && refused.contains("found structure, wl_weight"),
        "{refused}"
    );
    let chosen = ModelConfig { choose: Vec::new(), ..config };
    assert!(fit(chosen.clone(), true).is_ok());
    let refused = fit(chosen, false).unwrap_err().to_string();
    assert!(refused.contains("pass the whole embedding, not its vectors"), "{refused}");
}

/// The row that determines the reach of the sets is itself covered, so rounding loses no class.
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

/// Files of older versions have no scores of classes: sets are then those of all graphs.
#[test]
fn sets_of_every_class_need_scores_of_every_class() {
    let graphs = graphs();
    let model = Model::fit(ModelConfig { units: 6.into(), ..Default::default() }, &graphs).unwrap();
    let embedding = model.embed(&graphs, |_| ControlFlow::Continue(())).unwrap();
    // Three graphs of a rare class.
    let y: Labels = (0..graphs.len()).map(|graph| if graph < 3 { "rare" } else { "usual" }).collect();
    let trained = TrainedModel::fit(model, &embedding, &Targets::Classes(y), Sample::default()).unwrap();
    let decisions = trained.decide(&embedding).unwrap();
    let again = TrainedModel::from_bytes(&trained.to_bytes().unwrap()).unwrap();
    assert_eq!(again.readout.assessments(), trained.readout.assessments());
    assert!(again.knows_classes());
    let sets = again.sets_per_class(decisions.view(), 0.9).unwrap();
    assert!(sets.column(0).iter().all(|is| *is), "three graphs cannot rule it out");
    let mut older = trained.readout.assessments().unwrap().to_vec();
    older[0].per_class.clear();
    let readout = trained.readout.clone().assessed(older.clone()).unwrap();
    let older_model = TrainedModel { readout, ..trained.clone() };
    let older_model = TrainedModel::from_bytes(&older_model.to_bytes().unwrap()).unwrap();
    assert!(!older_model.knows_classes() && older_model.least_covered(0.9).unwrap().is_none());
    assert_eq!(
        older_model.sets_per_class(decisions.view(), 0.9).unwrap(),
        older_model.sets(decisions.view(), 0.9).unwrap()
    );
    older[0].per_class = vec![crate::readout::Conformal::new(vec![0.5]); 3];
    assert!(trained.readout.clone().assessed(older).is_err(), "two classes");
    // Nothing is known of a graph without vertices.
    let nothing = Array2::from_elem((1, 1), f64::NAN);
    assert!(trained.sets(nothing.view(), 0.5).unwrap().iter().all(|is| *is));
    assert!(trained.probabilities(nothing.view()).unwrap().iter().all(|p| p.is_nan()));
}
