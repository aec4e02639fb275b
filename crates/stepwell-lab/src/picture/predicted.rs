//! A graph whose vertices are coloured by a model's predictions, beside the same graph coloured by
//! the known targets.

use serde::Serialize;
use stepwell::model::{Predictions, TrainedModel};
use stepwell::targets::{Targets, Task};
use stepwell_data::{Known, counted};

use super::legend::{Legend, short};
use super::page::{Cell, Table};
use super::panel::{Panel, Panels, Vertex};
use super::scene::{Subject, levels};
use super::shade::Kind;
use super::svg::{Svg, shortened};
use super::{Picture, colour};
use crate::error::{Error, Result};

/// The most wrong predictions in the page's table.
const LISTED: usize = 200;

/// The predictions for every vertex of a graph, and the known targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    what: What,
    /// The name of the shown target, if there are several.
    target: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Classes, as indices of these names.
    Classes {
        names: Vec<String>,
        predicted: Vec<usize>,
        known: Vec<Option<usize>>,
    },
    Numbers {
        predicted: Vec<f64>,
        known: Vec<Option<f64>>,
    },
}

/// Compares the predictions with the known targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The number of vertices, N.
    pub vertices: usize,
    /// Vertices with a known target.
    pub known: usize,
    /// The share of these that is predicted correctly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The root mean squared error on these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
}

impl Predicted {
    /// The predictions of a vertex model for one graph. Of several targets, the first is shown.
    pub fn of(model: &TrainedModel, predictions: &Predictions, known: &Known) -> Self {
        let count = predictions.scores.nrows();
        let mut names = model.classes.names();
        let several = model.targets.len().max(predictions.scores.ncols());
        let numbers = |targets: &Targets| match targets {
            Targets::Numbers(values) | Targets::Binary(values) => Some(values.column(0).to_vec()),
            _ => None,
        };
        let mut of_rows = vec![None; count];
        if !names.is_empty() {
            if let Targets::Classes(labels) = &known.targets {
                for (place, &row) in known.rows.iter().enumerate() {
                    let name = labels.name(place);
                    let class = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                        names.push(name);
                        names.len() - 1
                    });
                    of_rows[row] = Some(class);
                }
            }
            let predicted = predictions.classes.clone();
            return Self { what: What::Classes { names, predicted, known: of_rows }, target: None };
        }
        let target = (several > 1).then(|| model.targets.first().map_or("0".to_owned(), String::clone));
        let column = predictions.scores.column(0);
        let values = numbers(&known.targets).unwrap_or_default();
        let pairs = known.rows.iter().zip(values).filter(|(_, value)| !value.is_nan());
        if matches!(model.readout.task(), Task::Regression { .. }) {
            let mut known = vec![None; count];
            pairs.for_each(|(&row, value)| known[row] = Some(value));
            return Self { what: What::Numbers { predicted: column.to_vec(), known }, target };
        }
        pairs.for_each(|(&row, value)| of_rows[row] = Some(usize::from(value > 0.0)));
        let predicted = column.iter().map(|&score| usize::from(score > 0.0)).collect();
        let names = vec!["0".to_owned(), "1".to_owned()];
        Self { what: What::Classes { names, predicted, known: of_rows }, target }
    }

    /// Compares the predictions with the known targets.
    pub fn compared(&self) -> Compared {
        match &self.what {
            What::Classes { predicted, known, .. } => {
                let pairs =
                    || predicted.iter().zip(known).filter_map(|(said, known)| Some((said, (*known)?)));
                let (all, right) = (pairs().count(), pairs().filter(|(said, known)| *said == known).count());
                let accuracy = (all > 0).then(|| right as f64 / all as f64);
                Compared { vertices: predicted.len(), known: all, accuracy, rmse: None }
            }
            What::Numbers { predicted, known } => {
                let errors = predicted.iter().zip(known).filter_map(|(said, known)| Some(said - (*known)?));
                let errors: Vec<f64> = errors.collect();
                let squares = errors.iter().map(|error| error * error).sum::<f64>();
                let rmse = (!errors.is_empty()).then(|| (squares / errors.len() as f64).sqrt());
                Compared { vertices: predicted.len(), known: errors.len(), accuracy: None, rmse }
            }
        }
    }

    /// The colours, shared by predictions and known targets.
    fn kind(&self) -> Kind {
        match &self.what {
            What::Classes { names, .. } => Kind::Categories("class", names.clone()),
            What::Numbers { predicted, known } => {
                let all = predicted.iter().copied().chain(known.iter().flatten().copied());
                let (low, high) =
                    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
                let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
                Kind::Amounts("value", low, high)
            }
        }
    }

    /// The series and name of a vertex's prediction and of its known target.
    fn vertex(&self, vertex: usize, kind: &Kind) -> ((usize, String), Option<(usize, String)>) {
        match (&self.what, kind) {
            (What::Numbers { predicted, known }, Kind::Amounts(_, low, high)) => {
                let shade = |value: f64| {
                    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
                    let steps = (colour::STEPS - 1) as f64;
                    ((share * steps).round().clamp(0.0, steps) as usize, short(value))
                };
                (shade(predicted[vertex]), known[vertex].map(shade))
            }
            (What::Classes { names, predicted, known }, _) => {
                let named = |class: usize| (class, names[class].clone());
                (named(predicted[vertex]), known[vertex].map(named))
            }
            _ => unreachable!("numbers are amounts"),
        }
    }
}

/// Draws the predictions and, if any targets are known, the targets beside them.
pub fn draw(subject: &Subject<'_>, said: &Predicted) -> Result<Picture> {
    let level = levels(subject)?.swap_remove(0);
    let compared = said.compared();
    let n = subject.graph.num_vertices();
    if compared.vertices != n {
        let what = "vertices with a prediction";
        return Err(Error::from(stepwell::Error::Length { what, expected: n, found: compared.vertices }));
    }
    let kind = said.kind();
    let panel = |predicted: bool| {
        let vertex = |vertex: usize| {
            let ((series, name), known) = said.vertex(vertex, &kind);
            let truth =
                known.as_ref().map_or("target unknown".to_owned(), |(_, name)| format!("known: {name}"));
            let text = format!("vertex {vertex}\npredicted: {name}\n{truth}");
            let wrong =
                matches!(said.what, What::Classes { .. }) && known.as_ref().is_some_and(|k| k.0 != series);
            let scale = if wrong { 1.7 } else { 1.0 };
            match known {
                _ if predicted => {
                    Vertex { series: Some(series), class: kind.class(series), hollow: false, scale, text }
                }
                Some((series, _)) => {
                    Vertex { series: Some(series), class: kind.class(series), hollow: false, scale, text }
                }
                None => Vertex { series: None, class: String::new(), hollow: true, scale: 0.7, text },
            }
        };
        let sizes = [counted(n, "vertex"), counted(subject.graph.num_edges(), "edge")].join(", ");
        let quality = match (compared.accuracy, compared.rmse) {
            (Some(accuracy), _) => format!("{:.1} % of {} known are right", 100.0 * accuracy, compared.known),
            (_, Some(rmse)) => format!("RMSE {} on {} known", short(rmse), compared.known),
            _ => String::new(),
        };
        let (heading, lines) = if predicted {
            ("predicted".to_owned(), [sizes, quality])
        } else {
            ("known".to_owned(), [format!("{} of {n} vertices", compared.known), String::new()])
        };
        Panel {
            graph: subject.graph,
            places: &level.places,
            heading,
            lines,
            vertices: (0..n).map(vertex).collect(),
            clusters: Vec::new(),
            molecule: None,
        }
    };
    let panels: Vec<Panel<'_>> =
        [true, false].into_iter().filter(|&predicted| predicted || compared.known > 0).map(panel).collect();
    let title = match &said.target {
        Some(target) => format!("{}: target {}", shortened(subject.name, 60), shortened(target, 30)),
        None => shortened(subject.name, 100),
    };
    let side_by_side = Panels::new(panels.iter().map(|_| level.places.as_slice()), 44.0);
    let (width, height) = side_by_side.size();
    let mut legend = Legend::new(&kind);
    if compared.known > 0 {
        if compared.accuracy.is_some_and(|accuracy| accuracy < 1.0) {
            legend.key("large: predicted wrongly");
        }
        if compared.known < n {
            legend.key("hollow: target unknown");
        }
    }
    let description = format!("Predictions for {n} vertices, {} of them known", compared.known);
    let mut svg = Svg::new((width, height + legend.height(width)), &title, &description);
    svg.label((24.0, 28.0), "title", &shortened(&title, (width / 9.5) as usize));
    for (index, panel) in panels.iter().enumerate() {
        side_by_side.draw(&mut svg, index, panel);
    }
    legend.draw(&mut svg, width, height);
    let mut notes = Vec::new();
    if compared.known > 0 {
        notes.push("Vertices that the model was trained on are among the known ones.".to_owned());
    }
    if said.target.is_some() {
        notes.push("The model predicts several targets; the first is shown.".to_owned());
    }
    if let Some((drawn, all)) = panels[0].strongest_only() {
        notes.push(format!("The strongest {drawn} of {all} edges are drawn."));
    }
    Ok(Picture { title, svg: svg.finish(), notes, table: table(said, n, &kind) })
}

/// A table of the wrong predictions, or of those with the largest errors.
fn table(said: &Predicted, n: usize, kind: &Kind) -> Option<Table> {
    let mut rows: Vec<(f64, usize)> = match &said.what {
        What::Classes { predicted, known, .. } => (0..n)
            .filter(|&v| known[v].is_some_and(|known| known != predicted[v]))
            .map(|v| (1.0, v))
            .collect(),
        What::Numbers { predicted, known } => {
            (0..n).filter_map(|v| Some(((predicted[v] - known[v]?).abs(), v))).collect()
        }
    };
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let count = rows.len();
    rows.truncate(LISTED);
    let row = |&(_, vertex): &(f64, usize)| {
        let ((_, name), known) = said.vertex(vertex, kind);
        let known = known.map_or(String::new(), |(_, name)| name);
        vec![Cell::number(vertex as f64, 0), Cell::text(&name), Cell::text(&known)]
    };
    let what = match said.what {
        What::Classes { .. } => "vertices predicted wrongly",
        What::Numbers { .. } => "vertices with the largest errors",
    };
    let caption =
        if count > LISTED { format!("{LISTED} of {count} {what}") } else { format!("The {count} {what}") };
    let header = ["vertex", "predicted", "known"].map(str::to_owned).to_vec();
    Some(Table { caption, header, rows: rows.iter().map(row).collect() })
}
