//! Explains the decision value of a graph or a vertex by the contribution of each vertex.

use ndarray::Array2;
use serde::Serialize;
use serde_json::Value;
use stepwell::graph::{EdgeList, Graph, GraphRef};
use stepwell::model::{Explanation, TrainedModel};
use stepwell::pyramid::Pyramid;
use stepwell::targets::Task;

use super::Picture;
use super::colour;
use super::legend::{Legend, short};
use super::molecule::Molecule;
use super::page::{Cell, Table};
use super::panel::{Panel, Panels, Vertex};
use super::scene::{Level, Subject, levels};
use super::svg::{Svg, fitted, shortened};
use crate::error::Result;

/// Rows of the page's table: the vertices with the largest contributions.
const LISTED: usize = 200;

/// The contributions behind the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The part of the decision that all graphs share.
    pub intercept: f64,
    /// The sum of the intercept and the contributions.
    pub decision: f64,
    /// For each level that the model reads, its number and the contributions of its vertices.
    pub levels: Vec<(usize, Vec<f64>)>,
    /// All contributions, mapped to the vertices of the graph itself.
    pub vertices: Vec<f64>,
}

impl Shares {
    /// Extracts one column of an explanation.
    pub fn of(subject: &Subject<'_>, explanation: &Explanation, column: usize) -> Result<Self> {
        if column >= explanation.intercept.len() {
            let expected = format!("a column below {}", explanation.intercept.len());
            let (name, found) = ("column to explain", column.to_string());
            return Err(stepwell::Error::BadOption { name, expected, found }.into());
        }
        let n = subject.graph.num_vertices();
        let mut all = Array2::<f64>::zeros((n, explanation.intercept.len()));
        for placed in explanation.on_vertices(subject.pyramid, subject.index, n)? {
            all += &placed;
        }
        Ok(Self {
            intercept: explanation.intercept[column],
            decision: explanation.decision()[column],
            levels: explanation
                .levels
                .iter()
                .map(|level| (level.level, level.values.column(column).to_vec()))
                .collect(),
            vertices: all.column(column).to_vec(),
        })
    }
}

/// An explained graph, for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The predicted class, with the type of the training targets; `None` for regression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Value>,
    /// The explained class, with the type of the training targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Value>,
    /// The explained target, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The sum of the intercept and the contributions.
    pub decision: f64,
    /// The part of the decision that all graphs share.
    pub intercept: f64,
    /// The contributions of the vertices of each level that the model reads.
    pub levels: Vec<ExplainedLevel>,
    /// All contributions, mapped to the vertices of the graph itself.
    pub vertices: Vec<f64>,
}

/// The contributions of the vertices of one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedLevel {
    /// The number of poolings before this level.
    pub level: usize,
    /// A number per vertex.
    pub contributions: Vec<f64>,
}

impl Explained {
    /// Describes the contributions to the decision value in a column of an explanation, for a graph
    /// of the `predicted` class.
    pub fn new(model: &TrainedModel, shares: &Shares, column: usize, predicted: Option<usize>) -> Self {
        let level = |(level, values): &(usize, Vec<f64>)| ExplainedLevel {
            level: *level,
            contributions: values.clone(),
        };
        let class = |class: usize| {
            let known = (class < model.classes.len()).then(|| model.classes.select(&[class]))?;
            serde_json::to_value(known).ok()?.as_array()?.first().cloned()
        };
        let prediction = match model.readout.task() {
            Task::Binary { .. } => Some(u8::from(shares.decision > 0.0).into()),
            _ => predicted.and_then(class),
        };
        Self {
            prediction,
            class: class(column),
            target: (model.readout.task().num_targets() > 1).then(|| model.target(column)),
            decision: shares.decision,
            intercept: shares.intercept,
            levels: shares.levels.iter().map(level).collect(),
            vertices: shares.vertices.clone(),
        }
    }
}

/// Names the decision value in a column of an explanation: `toward class mutagenic`, `toward NR-AR = 1`,
/// `prediction of logS`.
pub fn question(model: &TrainedModel, column: usize) -> String {
    let target = model.targets.get(column).cloned().unwrap_or_else(|| format!("target {column}"));
    match model.readout.task() {
        Task::Binary { .. } => format!("toward {target} = 1"),
        Task::Regression { targets: 1 } if model.targets.is_empty() => "prediction".to_owned(),
        Task::Regression { .. } => format!("prediction of {target}"),
        Task::Classification { .. } => {
            let class = model.classes.names().into_iter().nth(column);
            format!("toward class {}", class.unwrap_or_else(|| column.to_string()))
        }
    }
}

/// Draws the contributions of vertices to the decision value that `what` [names](question).
pub fn draw(subject: &Subject<'_>, shares: &Shares, what: &str) -> Result<Picture> {
    draw_named(subject, shares, what, None)
}

/// The most vertices drawn around the explained one.
const NEAR: usize = 250;

/// Draws the contributions to the decision value of one vertex; of a large graph, only its
/// neighbourhood.
pub fn draw_vertex(subject: &Subject<'_>, shares: &Shares, vertex: usize, what: &str) -> Result<Picture> {
    let graph = subject.graph;
    let n = graph.num_vertices();
    if vertex >= n || shares.vertices.len() != n {
        let what = "contributions of vertices";
        return Err(stepwell::Error::Length { what, expected: n, found: shares.vertices.len() }.into());
    }
    if n <= NEAR {
        let names: Vec<u32> = (0..n as u32).collect();
        return draw_named(subject, shares, what, Some(&Around { place: vertex, names: &names, all: n }));
    }
    let names = near(graph, vertex, NEAR);
    let mut places = vec![None; n];
    names.iter().enumerate().for_each(|(place, &name)| places[name as usize] = Some(place as u32));
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for (place, &name) in names.iter().enumerate() {
        for &other in graph.neighbours(name as usize) {
            if let Some(other) = places[other as usize] {
                sources.push(place as u32);
                targets.push(other);
            }
        }
    }
    let directed = graph.is_directed();
    let part = Graph::new(&EdgeList { directed, ..EdgeList::new(names.len(), &sources, &targets) })?;
    let coordinates: Option<Vec<[f64; 2]>> =
        subject.coordinates.map(|all| names.iter().map(|&name| all[name as usize]).collect());
    let vertices: Vec<f64> = names.iter().map(|&name| shares.vertices[name as usize]).collect();
    let drawn = Shares { levels: vec![(0, vertices.clone())], vertices, ..shares.clone() };
    let subject = Subject {
        name: subject.name,
        graph: part.view(),
        coordinates: coordinates.as_deref(),
        molecules: None,
        pyramid: &Pyramid::default(),
        index: 0,
    };
    draw_named(&subject, &drawn, what, Some(&Around { place: 0, names: &names, all: n }))
}

/// At most `most` vertices, nearest to `vertex` first, starting with itself.
fn near(graph: GraphRef<'_>, vertex: usize, most: usize) -> Vec<u32> {
    let mut seen = vec![false; graph.num_vertices()];
    seen[vertex] = true;
    let mut found = vec![vertex as u32];
    let mut next = 0;
    while next < found.len() && found.len() < most {
        for &other in graph.neighbours(found[next] as usize) {
            if !std::mem::replace(&mut seen[other as usize], true) {
                found.push(other);
            }
        }
        next += 1;
    }
    found.truncate(most);
    found
}

/// The explained vertex among the drawn ones.
struct Around<'a> {
    place: usize,
    /// The numbers of the drawn vertices in their graph.
    names: &'a [u32],
    /// The number of vertices of the graph.
    all: usize,
}

impl Around<'_> {
    fn name(&self, place: usize) -> usize {
        self.names[place] as usize
    }
}

fn draw_named(
    subject: &Subject<'_>,
    shares: &Shares,
    what: &str,
    around: Option<&Around<'_>>,
) -> Result<Picture> {
    let levels = levels(subject)?;
    // The total on the graph itself, then each coarse level that the model reads.
    let mut drawn = vec![(0, &shares.vertices)];
    drawn
        .extend(shares.levels.iter().filter(|(level, _)| *level > 0).map(|(level, values)| (*level, values)));
    for (level, values) in &drawn {
        let expected = levels.get(*level).map_or(0, |level| level.graph.num_vertices());
        if values.len() != expected {
            let what = "contributions of a level";
            return Err(stepwell::Error::Length { what, expected, found: values.len() }.into());
        }
    }
    let most = drawn.iter().flat_map(|(_, values)| values.iter()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let molecule = Molecule::of(subject.graph, subject.molecules);
    let panels: Vec<Panel<'_>> = drawn
        .iter()
        .map(|&(number, values)| {
            panel(number, &levels[number], values, most, molecule.as_ref().filter(|_| number == 0), around)
        })
        .collect();

    let what = shortened(what, 60);
    let title = format!("{}: {what}", shortened(subject.name, 60));
    let sum = match around {
        // Some vertices of a large graph are not drawn.
        Some(_) => shares.decision - shares.intercept,
        None => shares.levels.iter().flat_map(|(_, values)| values).sum(),
    };
    let parts = [shares.decision, shares.intercept, sum].map(|part| format!("{part:.4}"));
    let equation = format!("{} = {} (intercept) + {} (vertices)", parts[0], parts[1], parts[2]);
    let mut legend = Legend::of_differences("what a vertex adds", most);
    if around.is_some() {
        legend.key("largest: the vertex explained");
    }
    let side_by_side = Panels::new(drawn.iter().map(|(number, _)| levels[*number].places.as_slice()), 86.0);
    let (width, height) = side_by_side.size();
    let width = width.max(460.0);
    let description = format!("{title}: {equation}");
    let mut svg = Svg::new((width, height + legend.height(width)), &title, &description);
    let room = width - 48.0;
    // Bold letters are wider than the estimate.
    svg.label((24.0, 28.0), "title", &fitted(subject.name, room, 17.5));
    svg.label((24.0, 50.0), "heading", &fitted(&what, room, 14.0));
    svg.label((24.0, 70.0), "", &equation);
    for (index, panel) in panels.iter().enumerate() {
        side_by_side.draw(&mut svg, index, panel);
    }
    legend.draw(&mut svg, width, height);
    let mut notes = vec![match around {
        Some(_) => "A decision value is the intercept plus the contribution of the inputs of each vertex. The intercept is the decision value if no vertex has any input.",
        None => "A decision value is the intercept plus the contribution of each vertex of the aggregated levels. With landmarks, the intercept is the decision value of a graph with the mean vector of the training graphs.",
    }.to_owned()];
    if let Some(around) = around {
        legend_note(&mut notes, shares, around);
    }
    if drawn.len() > 1 {
        notes.push(
            "The contribution of a coarse vertex is divided among the vertices it stands for.".to_owned(),
        );
    }
    Ok(Picture { title, svg: svg.finish(), notes, table: Some(table(shares, molecule.as_ref(), around)) })
}

fn panel<'a>(
    number: usize,
    level: &'a Level<'a>,
    values: &[f64],
    most: f64,
    molecule: Option<&'a Molecule>,
    around: Option<&Around<'_>>,
) -> Panel<'a> {
    let vertex = |(vertex, &value): (usize, &f64)| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        let place = if number == 0 { String::new() } else { format!(" of level {number}") };
        let atom = molecule.map_or(String::new(), |molecule| format!(": {}", molecule.symbol(vertex)));
        let middle = around.is_some_and(|around| around.place == vertex);
        let explained = if middle { ", which is explained" } else { "" };
        let name = around.map_or(vertex, |around| around.name(vertex));
        let text = format!("vertex {name}{place}{atom}{explained}\nadds {}", short(value));
        let class = colour::difference(share);
        let scale = if middle { 2.2 } else { 1.0 + 0.5 * share.abs() };
        Vertex { series: None, class, hollow: false, scale, text }
    };
    let positive = values.iter().filter(|x| **x > 0.0).count();
    let negative = values.iter().filter(|x| **x < 0.0).count();
    Panel {
        graph: level.graph,
        places: &level.places,
        heading: match number {
            0 if around.is_some() => "what the inputs of vertices add".to_owned(),
            0 => "all contributions, on the graph".to_owned(),
            _ => format!("contributions of level {number}"),
        },
        lines: [
            match values.len() {
                1 => format!("1 vertex adds {:.4}", values.iter().sum::<f64>()),
                count => format!("{count} vertices add {:.4}", values.iter().sum::<f64>()),
            },
            format!("{positive} for it, {negative} against it"),
        ],
        vertices: values.iter().enumerate().map(vertex).collect(),
        clusters: Vec::new(),
        molecule,
    }
}

/// Adds a note about the parts of a large graph that are not drawn.
fn legend_note(notes: &mut Vec<String>, shares: &Shares, around: &Around<'_>) {
    let others = around.all - around.names.len();
    if others > 0 {
        let drawn: f64 = shares.vertices.iter().sum();
        let rest = shares.decision - shares.intercept - drawn;
        notes.push(format!(
            "Of {} vertices the {} nearest are drawn; the other {others} add {} together.",
            around.all,
            around.names.len(),
            short(rest)
        ));
    }
}

/// The table of the vertices with the largest contributions.
fn table(shares: &Shares, molecule: Option<&Molecule>, around: Option<&Around<'_>>) -> Table {
    let mut all: Vec<(usize, usize, f64)> = shares
        .levels
        .iter()
        .flat_map(|(level, values)| {
            values.iter().enumerate().map(move |(vertex, &value)| (*level, vertex, value))
        })
        .collect();
    all.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let count = all.len();
    all.truncate(LISTED);
    let row = |&(level, vertex, value): &(usize, usize, f64)| {
        let name = around.map_or(vertex, |around| around.name(vertex));
        let mut row =
            vec![Cell::number(level as f64, 0), Cell::number(name as f64, 0), Cell::number(value, 6)];
        if let Some(molecule) = molecule {
            row.insert(2, Cell::text(if level == 0 { molecule.symbol(vertex) } else { "" }));
        }
        row
    };
    let caption = if count > LISTED {
        format!("The {LISTED} of {count} vertices that add or take away most")
    } else {
        "What each vertex adds, on the levels that the model reads".to_owned()
    };
    let header: &[&str] =
        if molecule.is_some() { &["level", "vertex", "atom", "adds"] } else { &["level", "vertex", "adds"] };
    Table {
        caption,
        header: header.iter().map(|name| (*name).to_owned()).collect(),
        rows: all.iter().map(row).collect(),
    }
}
