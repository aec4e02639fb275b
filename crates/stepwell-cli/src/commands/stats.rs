use std::ops::ControlFlow;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use stepwell::graph::GraphBatch;
use stepwell::pool::{Notes, Pool, Pooling, padded_size};
use stepwell::pyramid::{Pyramid, coarsen};
use stepwell_data::{Dataset, LevelSummary, Part, Summary, TargetSummary, Untargeted, counted};
use stepwell_lab::paper::table4;

use crate::BadUsage;
use crate::args::{Caching, Input};
use crate::pooling::PoolArgs;
use crate::terminal::{Terminal, table};

/// Describe a dataset: sizes, classes, features, split
///
/// Undirected edges are counted once, without self loops; nnz counts the stored entries of the
/// adjacency matrix, self loops included. rho is the mean spectral radius of the normalised
/// adjacency matrix, and bipartite is the share of graphs with a bipartite component. For labels
/// of vertices and edges, the number of distinct values is shown; for attributes, the number of
/// columns. Each numeric or binary target has a row.
///
/// With --pool, also describes the coarse graphs, next to the figures of the paper's Table 4,
/// if the table has the dataset. Table 4 counts stored entries instead of edges. The paper's
/// Graclus pads its levels with fake vertices, which Stepwell does not make; the column
/// 'with fakes' shows the padded size.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell stats MUTAG
  stepwell stats NCI1 --pool ndp --levels 2 --self-loops
  stepwell stats graphs.parquet --json
  zcat graphs.jsonl.gz | stepwell stats -")]
pub struct Stats {
    #[command(flatten)]
    input: Input,

    /// Add a self loop to every vertex first, as in the paper's figures for TU Dortmund datasets.
    /// Changes nnz, rho, bipartite and the pooled graphs, but not the number of edges
    #[arg(long)]
    self_loops: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    pool: PoolArgs,
}

impl Stats {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let mut dataset = terminal.load(&self.input, Untargeted::Keep)?;
        let mut summary = Summary::of(&dataset);
        if self.self_loops {
            dataset.graphs = with_self_loops(&dataset.graphs)?;
            // Added loops carry no labels or attributes, so no edge can keep its own.
            summary = Summary { carried: summary.carried, ..Summary::of(&dataset) };
        }
        let oddities = Oddities::of(&dataset);
        let pooling = self.pool.pooling().context(BadUsage)?;
        if let Some(pooling) = &pooling {
            let cache = self.caching.pyramids(&self.input.sources);
            let pyramid = terminal.coarsen(cache.as_ref(), &dataset.graphs, pooling, self.pool.levels)?;
            for (level, coarse) in pyramid.levels.iter().enumerate() {
                summary.levels.push(LevelSummary::of(level + 1, &coarse.graphs));
            }
            if pooling.method == Pool::Graclus {
                pad(&mut summary.levels, &dataset.graphs, &pyramid, pooling)?;
            }
            terminal.notes("note", &describe_notes(&pyramid.notes()));
        }
        if self.json {
            return terminal.json(&DatasetStatistics { summary, oddities });
        }
        terminal.print(&describe(
            &summary,
            &oddities,
            pooling.map_or(Pool::None, |pooling| pooling.method).name(),
        ))
    }
}

#[derive(Serialize)]
struct DatasetStatistics {
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    oddities: Oddities,
}

/// Properties that only some datasets have, and that users should know.
#[derive(Serialize)]
struct Oddities {
    /// Graphs without vertices.
    empty: usize,
    /// Graphs whose edges have a direction.
    directed: usize,
    /// Whether edges have weights.
    weighted: bool,
    /// Graphs of each part of a fixed split: train, validation, test.
    split: Option<[usize; 3]>,
    /// The targets of vertices, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_targets: Option<NodeTargets>,
}

/// The targets and splits of vertices.
#[derive(Serialize)]
struct NodeTargets {
    /// The number of vertices with a target.
    known: usize,
    /// The number of classes, if the targets are classes.
    classes: Option<usize>,
    /// The number of targets per vertex.
    columns: usize,
    /// The number of vertices in each part of every split: train, validation, test.
    splits: Vec<[usize; 3]>,
}

impl NodeTargets {
    fn of(dataset: &Dataset) -> Option<Self> {
        let all = dataset.vertices.as_ref()?;
        let count =
            |split: &Vec<Option<Part>>, part| split.iter().filter(|each| **each == Some(part)).count();
        Some(Self {
            known: all.known.rows.len(),
            classes: all.known.targets.labels().map(|labels| labels.distinct().len()),
            columns: all.known.targets.width(),
            splits: all.splits.iter().map(|split| Part::NAMES.map(|(part, _)| count(split, part))).collect(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let kind = match (self.classes, self.columns) {
            (Some(classes), _) => format!(", {}", counted(classes, "class")),
            (None, columns) if columns > 1 => format!(", {columns} targets"),
            _ => String::new(),
        };
        let mut lines = vec![format!("  node targets {} known{kind}", self.known)];
        if let Some([train, validation, test]) = self.splits.first() {
            let count = if self.splits.len() > 1 {
                format!("{} of them, the first: ", self.splits.len())
            } else {
                String::new()
            };
            lines.push(format!("  node split   {count}{train} train, {validation} validation, {test} test"));
        }
        lines
    }
}

impl Oddities {
    fn of(dataset: &Dataset) -> Self {
        let count = |parts: &[Part], part| parts.iter().filter(|each| **each == part).count();
        Self {
            empty: dataset.graphs.iter().filter(|graph| graph.num_vertices() == 0).count(),
            directed: dataset.graphs.iter().filter(|graph| graph.is_directed()).count(),
            weighted: dataset.graphs.weights().is_some(),
            node_targets: NodeTargets::of(dataset),
            split: dataset.parts.as_ref().map(|parts| Part::NAMES.map(|(part, _)| count(parts, part))),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.empty > 0 {
            lines.push(format!("  empty        {}, without vertices", self.empty));
        }
        if self.directed > 0 {
            lines.push(format!("  directed     {} (rho is unknown)", self.directed));
        }
        if let Some([train, validation, test]) = self.split {
            lines.push(format!("  split        {train} train, {validation} validation, {test} test"));
        }
        lines.extend(self.node_targets.iter().flat_map(NodeTargets::lines));
        lines
    }
}

fn with_self_loops(graphs: &GraphBatch) -> Result<GraphBatch> {
    let mut looped = GraphBatch::default();
    for graph in graphs.iter() {
        looped.append(graph.with_self_loops()?.as_batch())?;
    }
    Ok(looped)
}

/// The sizes in the paper's Graclus, with fake vertices: its trees are full from the last matching
/// down, and it matches once more than the number of poolings between blocks.
fn pad(
    summaries: &mut [LevelSummary],
    graphs: &GraphBatch,
    pyramid: &Pyramid,
    pooling: &Pooling,
) -> Result<()> {
    let levels = pyramid.levels.len();
    let coarsest = pyramid.levels.last().map_or(graphs, |level| &level.graphs);
    let once_more =
        coarsen(coarsest, 1, |graph, _| pooling.pool(graph, levels), |_| ControlFlow::Continue(()))?;
    let clusters_left = once_more.levels.iter().map(|level| level.graphs.num_vertices()).sum();
    for summary in summaries.iter_mut().skip(1) {
        let padded = padded_size(clusters_left, levels as u32 + 1, summary.level as u32);
        summary.avg_padded_vertices = Some(padded as f64 / graphs.len().max(1) as f64);
    }
    Ok(())
}

/// Notes about a pooling, for the user.
pub fn describe_notes(notes: &Notes) -> Vec<String> {
    [
        (notes.symmetrized, ["directed graph was", "directed graphs were"], "made undirected"),
        (notes.vertices_lost, ["vertex is", "vertices are"], "in no cluster"),
        (notes.without_edges, ["coarse graph lost all its", "coarse graphs lost all their"], "edges"),
        (
            notes.cuts_improved,
            ["cut was below one half and was", "cuts were below one half and were"],
            "improved by moving vertices",
        ),
        (notes.fill_dropped, ["small link was", "small links were"], "dropped during elimination"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, [one, many], what)| format!("{count} {} {what}", if count == 1 { one } else { many }))
    .collect()
}

/// A count of labels, with the number per vertex or edge if there are several.
fn in_columns(labels: String, columns: usize) -> String {
    if columns > 1 { format!("{labels} in {columns} columns") } else { labels }
}

/// A table of the statistics of each target.
fn targets_in_a_table(targets: &[TargetSummary]) -> Option<String> {
    let first = targets.first()?;
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let row = |target: &TargetSummary| {
        let mut row = vec![target.name.clone(), target.known.to_string()];
        match (target.positives, target.spread) {
            (Some(positives), _) => row.push(positives.to_string()),
            (_, found) => {
                row.extend([found.map(|s| s.mean), found.map(|s| s.std)].map(figure));
                row.extend([found.map(|s| s.min), found.map(|s| s.max)].map(figure));
            }
        }
        row
    };
    let header: &[&str] = match first.positives {
        Some(_) => &["target", "known", "positives"],
        None => &["target", "known", "mean", "std", "min", "max"],
    };
    Some(table(header, targets.iter().map(row)))
}

fn carried_by_edges(summary: &Summary, weighted: bool) -> String {
    let edges = summary.carried.unwrap_or_default();
    let mut carried = Vec::new();
    if edges.edge_label_columns > 0 {
        carried.push(in_columns(counted(edges.edge_labels, "label"), edges.edge_label_columns));
    }
    if edges.edge_attributes > 0 {
        carried.push(counted(edges.edge_attributes, "attribute"));
    }
    if weighted {
        carried.push("weights".to_owned());
    }
    if carried.is_empty() { "nothing".to_owned() } else { carried.join(", ") }
}

/// The summary as text.
fn describe(summary: &Summary, oddities: &Oddities, pool: &str) -> String {
    let count = |number: usize| if number == 0 { "none".to_owned() } else { number.to_string() };
    let columns = summary.carried.map_or(0, |carried| carried.node_label_columns);
    let mut lines = vec![
        summary.dataset.clone(),
        format!("  graphs       {}", summary.graphs),
        format!(
            "  classes      {}",
            summary.classes.map_or("none".to_owned(), |classes| classes.to_string())
        ),
        format!("  node labels  {}", in_columns(count(summary.node_labels), columns)),
        format!("  attributes   {}", count(summary.attributes)),
        format!("  edges carry  {}", carried_by_edges(summary, oddities.weighted)),
        format!("  self loops   {}", count(summary.self_loops)),
    ];
    lines.extend(oddities.lines());
    if summary.untargeted > 0 {
        lines.push(format!("  no target    {}", counted(summary.untargeted, "graph")));
    }
    lines.extend(targets_in_a_table(&summary.targets));
    let printed = |level: &LevelSummary| table4(&summary.dataset, pool, level.level);
    let in_paper = pool != "none" && summary.levels.iter().skip(1).any(|level| printed(level).is_some());
    let rows = summary.levels.iter().map(|level| {
        let mut row = vec![
            level.level.to_string(),
            format!("{:.2}", level.avg_vertices),
            format!("{:.2}", level.avg_edges),
            format!("{:.2}", level.avg_nnz),
            level.rho.map_or("?".to_owned(), |rho| format!("{rho:.2}")),
            format!("{:.2}", level.bipartite),
        ];
        if pool == "graclus" {
            row.push(level.avg_padded_vertices.map_or("-".to_owned(), |size| format!("{size:.2}")));
        }
        if in_paper {
            let printed = printed(level);
            let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
            row.push(figure(printed.and_then(|row| row.vertices)));
            row.push(figure(printed.and_then(|row| row.edges)));
        }
        row
    });
    let mut header = vec!["level", "avg vertices", "avg edges", "avg nnz", "rho", "bipartite"];
    if pool == "graclus" {
        header.push("with fakes");
    }
    if in_paper {
        header.extend(["paper N", "paper M"]);
    }
    lines.push(table(&header, rows));
    lines.join("\n")
}
