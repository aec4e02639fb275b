use anyhow::Result;
use clap::Args;
use stepwell_data::Summary;

use crate::args::Input;
use crate::terminal::{Terminal, table};

/// Print what a dataset looks like in numbers
///
/// Edges are undirected and counted once, self loops aside; nnz counts the
/// stored entries of the adjacency matrix. rho is the mean spectral radius of
/// the normalised adjacency, bipartite the share of graphs with a bipartite
/// component.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell stats MUTAG
  stepwell stats graphs.parquet --json
  zcat graphs.jsonl.gz | stepwell stats -")]
pub struct Stats {
    #[command(flatten)]
    input: Input,

    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let dataset = terminal.load(&self.input)?;
        let summary = Summary::of(&dataset);
        if self.json {
            return terminal.json(&summary);
        }
        terminal.print(&describe(&summary))
    }
}

/// The summary as text.
pub fn describe(summary: &Summary) -> String {
    let count = |number: usize| if number == 0 { "none".to_owned() } else { number.to_string() };
    let mut lines = vec![
        summary.dataset.clone(),
        format!("  graphs       {}", summary.graphs),
        format!(
            "  classes      {}",
            summary.classes.map_or("none".to_owned(), |classes| classes.to_string())
        ),
        format!("  node labels  {}", count(summary.node_labels)),
        format!("  attributes   {}", count(summary.attributes)),
        format!("  self loops   {}", count(summary.self_loops)),
    ];
    let rows = summary.levels.iter().map(|level| {
        vec![
            level.level.to_string(),
            format!("{:.2}", level.avg_vertices),
            format!("{:.2}", level.avg_edges),
            format!("{:.2}", level.avg_nnz),
            level.rho.map_or("?".to_owned(), |rho| format!("{rho:.2}")),
            format!("{:.2}", level.bipartite),
        ]
    });
    let header = ["level", "avg vertices", "avg edges", "avg nnz", "rho", "bipartite"];
    lines.push(table(&header, rows));
    lines.join("\n")
}
