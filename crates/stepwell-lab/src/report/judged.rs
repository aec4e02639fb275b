//! The section of a page that shows the quality of predictions.

use stepwell::targets::Task;

use super::models::Models;
use crate::picture::Picture;
use crate::picture::figures::{
    Against, Confusion, Curve, against, calibration, confusion, precision_recall, roc,
};
use crate::picture::page::Page;
use crate::predictions::{Pairs, Predictions};

/// Adds a section of pictures side by side, each with its title above and a line below.
/// `name` is the anchor for links. Without pictures there is no section.
pub fn judged_section(page: &mut Page, name: &str, title: &str, figures: &[(Picture, String)]) {
    if figures.is_empty() {
        return;
    }
    page.section(name, title);
    page.gallery(figures);
}

/// The predictions of the models of a dataset, all folds of the first seed together.
/// Includes baselines only if nothing else was evaluated.
pub(crate) fn evaluated(models: &Models<'_>) -> Vec<(String, Predictions)> {
    let said = models.values().filter_map(|cells| {
        let (key, state) = cells.iter().find(|(_, state)| !state.predictions.is_empty())?;
        Some((key, Predictions::pooled(state.predictions.values())?))
    });
    let (of_models, of_baselines): (Vec<_>, Vec<_>) = said.partition(|(key, _)| key.is_model());
    let shown = if of_models.is_empty() { of_baselines } else { of_models };
    shown.into_iter().map(|(key, said)| (key.subject(), said)).collect()
}

/// Pictures of predictions, each with a line below: curves and calibration for two
/// classes, a confusion matrix for several, predicted against true numbers.
pub(crate) fn pictures(said: &Predictions) -> Vec<(Picture, String)> {
    let of = if said.kept < said.tested {
        format!("A random sample of {} of the {} test graphs of all folds.", said.kept, said.tested)
    } else {
        format!("All {} test graphs of all folds.", said.tested)
    };
    match said.task {
        Task::Regression { .. } => said.targets.iter().map(|pairs| (predicted(pairs), of.clone())).collect(),
        Task::Classification { num_classes } if num_classes > 2 => several_classes(said, &of),
        Task::Classification { .. } | Task::Binary { .. } => two_classes(said, &of),
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn two_classes(said: &Predictions, of: &str) -> Vec<(Picture, String)> {
    // Probabilities are comparable between folds, decision values less so.
    let scores: Vec<Vec<f64>> = said
        .targets
        .iter()
        .map(|pairs| wide(if pairs.probability.is_empty() { &pairs.found } else { &pairs.probability }))
        .collect();
    let positive: Vec<Vec<bool>> =
        said.targets.iter().map(|pairs| pairs.truth.iter().map(|&value| value > 0.0).collect()).collect();
    let name = |pairs: &'_ Pairs| match said.classes.get(1) {
        Some(class) => class.clone(),
        None => pairs.name.clone(),
    };
    let names: Vec<String> = said.targets.iter().map(name).collect();
    let curve =
        |index: usize| Curve { name: &names[index], scores: &scores[index], positive: &positive[index] };
    let curves: Vec<Curve<'_>> = (0..said.targets.len()).map(curve).collect();
    let pooled = format!("{of} Curves pool the folds; tables show means over folds.");
    let mut pictures = vec![
        (roc("ROC", &curves), pooled.clone()),
        (precision_recall("Precision and recall", &curves), pooled),
    ];
    if said.targets.iter().all(|pairs| pairs.probability.len() == pairs.truth.len()) {
        let (scores, positive) = (scores.concat(), positive.concat());
        let name = if names.len() == 1 { names[0].as_str() } else { "" };
        let all = Curve { name, scores: &scores, positive: &positive };
        let together = if names.len() > 1 { " All targets are pooled." } else { "" };
        pictures.push((calibration("Calibration", &all), format!("{of}{together}")));
    }
    pictures
}

fn several_classes(said: &Predictions, of: &str) -> Vec<(Picture, String)> {
    let Some(pairs) = said.targets.first() else { return Vec::new() };
    let codes = |values: &[f32]| values.iter().map(|&value| value as usize).collect::<Vec<usize>>();
    let (expected, found) = (codes(&pairs.truth), codes(&pairs.found));
    let all = Confusion { names: &said.classes, expected: &expected, found: &found };
    let mut pictures = vec![(confusion("Confusion", &all), of.to_owned())];
    if pairs.probability.len() == pairs.truth.len() {
        let right: Vec<bool> =
            expected.iter().zip(&found).map(|(expected, found)| expected == found).collect();
        let curve = Curve { name: "predicted class", scores: &wide(&pairs.probability), positive: &right };
        let caption =
            format!("{of} The probability of the predicted class; positive if it is the true class.");
        pictures.push((calibration("Calibration", &curve), caption));
    }
    pictures
}

fn predicted(pairs: &Pairs) -> Picture {
    let title = if pairs.name.is_empty() { "Predicted against true" } else { &pairs.name };
    let (expected, found) = (wide(&pairs.truth), wide(&pairs.found));
    against(title, &Against { expected: &expected, found: &found, intervals: None })
}
