use anyhow::Result;
use clap::Args;
use serde::Serialize;
use stepwell_data::catalog::KNOWN;
use stepwell_data::synthetic::BenchmarkOptions;

use crate::args::Sources;
use crate::terminal::{Terminal, table};

/// List datasets that can be used by name
///
/// Lists generated datasets, those found on this machine, and well-known ones to download.
/// You can also use the name of any other dataset in the TU Dortmund collection.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell datasets
  stepwell datasets --data-dir ~/graphs --json

A name of one of these forms generates a single graph of any size: grid:100x100,
geometric:1000:0.05, barabasi-albert:1000:3, erdos-renyi:1000:0.01, star:100,
ring:1000, complete:50, path:10.")]
pub struct Datasets {
    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    sources: Sources,
}

#[derive(Serialize)]
struct Listing {
    datasets: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    graphs: Option<usize>,
    source: String,
}

impl Datasets {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let mut datasets: Vec<Entry> = Vec::new();
        for name in BenchmarkOptions::NAMES {
            let graphs = BenchmarkOptions::named(name).map(|options| 3 * options.graphs_per_class);
            datasets.push(Entry { name: name.into(), graphs, source: "generated".into() });
        }
        let known = |name: &str| KNOWN.iter().find(|(known, _)| *known == name).map(|(_, graphs)| *graphs);
        for (name, path) in self.sources.catalog().on_this_machine() {
            datasets.push(Entry { graphs: known(&name), name, source: path.display().to_string() });
        }
        for (name, graphs) in KNOWN {
            if !datasets.iter().any(|entry| entry.name == name) {
                datasets.push(Entry { name: name.into(), graphs: Some(graphs), source: "download".into() });
            }
        }
        if self.json {
            return terminal.json(&Listing { datasets });
        }
        let rows = datasets.into_iter().map(|entry| {
            let graphs = entry.graphs.map_or("?".to_owned(), |graphs| graphs.to_string());
            vec![entry.name, graphs, entry.source]
        });
        terminal.print(&table(&["name", "graphs", "from"], rows))
    }
}
