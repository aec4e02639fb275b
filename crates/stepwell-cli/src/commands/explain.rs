use std::ops::ControlFlow::Continue;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;
use stepwell::config::Level;
use stepwell::model::TrainedModel;
use stepwell::targets::{Targets, Task};
use stepwell_data::counted;
use stepwell_lab::picture::Subject;
use stepwell_lab::picture::explanation::{Explained, Shares, draw, draw_vertex, question};

use crate::BadUsage;
use crate::args::Input;
use crate::model::read_model;
use crate::picture::{GraphArg, PictureArgs};
use crate::terminal::{Terminal, table};

/// Show how much each vertex contributes to a prediction
///
/// A decision value is an intercept plus a contribution of every vertex. In a model with
/// landmarks, the intercept is the decision value of a reference, a graph with the mean vector
/// of the training graphs. Integrated gradients divide the difference from the reference among
/// the vertices. Vertices with the same Weisfeiler–Lehman colour share its contribution
/// equally. For the aggregate max, a unit's contribution belongs to the vertex with the
/// maximum. The picture divides the contribution of a coarse vertex among the vertices it
/// stands for.
///
/// A model trained with --level vertex explains one vertex (--vertex). The intercept is the decision
/// value that would result if no vertex had any input; each vertex contributes what its inputs add.
///
/// Without -o and --json, prints a table.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell train MUTAG -m mutag.safetensors
  stepwell explain MUTAG --graph 7 -m mutag.safetensors
  stepwell explain MUTAG --graph 7 -m mutag.safetensors -o why.html
  stepwell explain cora.npz --vertex 17 -m cora.safetensors -o why.svg
  stepwell explain new.jsonl --graph a17 -m model.safetensors --class ring --json",
    mut_arg("out", |out| out.help("Where to draw: .svg, or .html for an interactive page [no picture]")))]
pub struct Explain {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    graph: GraphArg,

    /// The vertex to explain, from 0, if the model predicts vertices
    #[arg(long, value_name = "VERTEX")]
    vertex: Option<usize>,

    /// A saved model, written by 'stepwell train' or by save() in Python
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,

    /// The class whose decision value is explained (default: the second of two classes, or else
    /// the predicted one); with several targets, the target to explain, by name or by position
    /// from 0 (default: the first)
    #[arg(long, value_name = "NAME")]
    class: Option<String>,

    #[command(flatten)]
    picture: PictureArgs,
}

#[derive(Serialize)]
struct ExplainedGraph<'a> {
    dataset: &'a str,
    graph: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vertex: Option<usize>,
    #[serde(flatten)]
    explained: Explained,
}

/// The number of vertices in the table.
const LISTED: usize = 12;

impl Explain {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        self.picture.check()?;
        let model = read_model(&self.model)?;
        self.input.molecules.fit(&model.model)?;
        let mut dataset = self.graph.load(&self.input, terminal)?;
        if dataset.molecules.is_none() {
            dataset.molecules.clone_from(&model.model.molecules);
        }
        let graphs = &dataset.graphs;
        let vertex = self.vertex_of(&model, graphs.num_vertices()).context(BadUsage)?;
        let going = |_| Continue(());
        let pyramid = model.model.coarsen(graphs, going)?;
        let explanation = match vertex {
            Some(vertex) => model.explain_vertex(graphs, 0, vertex, going)?,
            None => model.explain(graphs, &pyramid, going)?.swap_remove(0),
        };
        let predicted = model.predict(graphs, going)?.classes.get(vertex.unwrap_or(0)).copied();
        let column = self.column(&model, predicted)?;
        let target = (model.readout.task().num_targets() > 1).then(|| model.target(column));
        if let Some(target) = target.as_ref().filter(|_| self.class.is_none()) {
            let count = model.readout.task().num_targets();
            terminal
                .note(&format!("explaining target {target}, the first of {count}; --class names another"));
        }
        let name = dataset.id(0);
        let mut title = format!("graph {name} of {}", dataset.name);
        if let Some(vertex) = vertex {
            title = format!("vertex {vertex} of {title}");
        }
        let places = if self.picture.asked() { terminal.places(&dataset) } else { None };
        let subject = Subject {
            name: &title,
            graph: graphs.graph(0),
            coordinates: places.as_deref(),
            molecules: dataset.molecules.as_deref(),
            pyramid: &pyramid,
            index: 0,
        };
        let shares = Shares::of(&subject, &explanation, column)?;
        let names = model.classes.names();
        let class = names.get(column).map(String::as_str);
        let mut prediction = predicted.and_then(|class| names.get(class)).map(String::as_str);
        if let Task::Binary { .. } = model.readout.task() {
            prediction = Some(if shares.decision > 0.0 { "1" } else { "0" });
        }
        if !self.picture.asked() {
            // The data may have its targets in another order.
            let place = target.as_ref().map(|target| match &dataset.target_names {
                names if names.is_empty() => column,
                names => names.iter().position(|name| name == target).unwrap_or(usize::MAX),
            });
            let known = match vertex {
                Some(vertex) => dataset.vertices.as_ref().map_or(String::new(), |all| {
                    all.known
                        .rows
                        .binary_search(&vertex)
                        .map_or(String::new(), |at| known(&all.known.targets, at, place))
                }),
                None => known(&dataset.targets, 0, place),
            };
            let what = match (&target, class) {
                (Some(target), _) => Some(format!("decision value for {target}")),
                (None, Some(class)) => Some(format!("decision value for {class}")),
                (None, None) => None,
            };
            if let Some(target) = &target {
                title += &format!(", target {target}");
            }
            return terminal.print(&describe(&title, &shares, what, prediction, &known));
        }
        let question = question(&model, column);
        let picture = match vertex {
            Some(vertex) => draw_vertex(&subject, &shares, vertex, &question)?,
            None => draw(&subject, &shares, &question)?,
        };
        self.picture.write(&picture, terminal, || ExplainedGraph {
            dataset: &dataset.name,
            graph: &name,
            vertex,
            explained: Explained::new(&model, &shares, column, predicted),
        })
    }

    /// The vertex to explain, if the model predicts vertices.
    fn vertex_of(&self, model: &TrainedModel, count: usize) -> Result<Option<usize>> {
        match (model.model.config.level, self.vertex) {
            (Level::Graph, None) => Ok(None),
            (Level::Graph, Some(_)) => {
                Err(anyhow!("--vertex: the model predicts graphs, not vertices; remove --vertex"))
            }
            (Level::Vertex, Some(vertex)) if vertex < count => Ok(Some(vertex)),
            (Level::Vertex, found) => {
                let last = count.saturating_sub(1);
                let found = found.map_or("none".to_owned(), |vertex| vertex.to_string());
                Err(anyhow!(
                    "--vertex: the model predicts vertices; expected a vertex from 0 to {last}, found {found}"
                ))
            }
        }
    }

    /// The column of the requested class, or the default one.
    fn column(&self, model: &TrainedModel, predicted: Option<usize>) -> Result<usize> {
        match &self.class {
            Some(name) => model.column(name).map_err(|error| anyhow!("--{error}").context(BadUsage)),
            None => Ok(model.column_to_explain(predicted)),
        }
    }
}

/// The known target of a graph or vertex, in words; of several targets, one of them.
fn known(targets: &Targets, at: usize, target: Option<usize>) -> String {
    match (targets, target) {
        (Targets::None, _) => String::new(),
        (Targets::Classes(labels), _) => format!(", known to be {}", labels.name(at)),
        (Targets::Numbers(values) | Targets::Binary(values), None) => {
            format!(", known to be {}", values.row(at))
        }
        (Targets::Numbers(values) | Targets::Binary(values), Some(target)) => {
            match values.row(at).get(target).filter(|value| !value.is_nan()) {
                Some(value) => format!(", known to be {value}"),
                None => String::new(),
            }
        }
    }
}

fn describe(
    title: &str,
    shares: &Shares,
    what: Option<String>,
    prediction: Option<&str>,
    known: &str,
) -> String {
    let mut lines = vec![match prediction {
        Some(prediction) => format!("{title}: predicted {prediction}{known}"),
        None => format!("{title}: predicted {:.6}{known}", shares.decision),
    }];
    let what = what.unwrap_or_else(|| "prediction".to_owned());
    let mut parts = vec![vec!["intercept".to_owned(), String::new(), format!("{:.6}", shares.intercept)]];
    for (level, values) in &shares.levels {
        let vertices = counted(values.len(), "vertex");
        parts.push(vec![format!("level {level}"), vertices, format!("{:.6}", values.iter().sum::<f64>())]);
    }
    parts.push(vec![what, String::new(), format!("{:.6}", shares.decision)]);
    lines.push(table(&["part", "", "adds"], parts));

    let mut all: Vec<(usize, usize, f64)> = shares
        .levels
        .iter()
        .flat_map(|(level, values)| values.iter().enumerate().map(move |(v, &value)| (*level, v, value)))
        .collect();
    all.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let row = |(level, vertex, value): &(usize, usize, f64)| {
        vec![level.to_string(), vertex.to_string(), format!("{value:.6}")]
    };
    lines.push(String::new());
    lines.push(table(&["level", "vertex", "adds"], all.iter().take(LISTED).map(row)));
    if all.len() > LISTED {
        lines.push(format!("and {} more; --json prints all of them, -o draws them", all.len() - LISTED));
    }
    lines.join("\n")
}
