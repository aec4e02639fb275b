//! The page of `stepwell demo`.

use serde::Serialize;
use stepwell_data::{Dataset, LevelSummary};

use super::Provenance;
use crate::picture::figures::{CloudRow, Field, Spot, benchmark, clouds, frontier};
use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::run::Known;
use crate::table::{Cell, Column, Table};

/// The contents of the demonstration.
#[derive(Clone, Debug)]
pub struct Demo<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// A summary in words: graphs, blocks, units, draws.
    pub words: String,
    /// Number of blocks of all architectures.
    pub blocks: usize,
    /// The result of each architecture.
    pub architectures: &'a [Architecture],
    /// The graphs' embeddings as points.
    pub embeddings: CloudRow,
}

/// The result of one architecture. Times cover all graphs and are means over draws.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Architecture {
    /// Its pooling.
    pub pool: String,
    /// Mean accuracy on the test graphs over draws of the weights.
    pub accuracy_mean: f64,
    /// Its standard deviation.
    pub accuracy_std: f64,
    /// Seconds of pooling all graphs.
    pub coarsen_seconds: f64,
    /// Seconds of preparing all graphs.
    pub prepare_seconds: f64,
    /// Seconds of embedding them.
    pub embed_seconds: f64,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Accuracy per second of preparing, embedding and training.
    pub accuracy_per_second: f64,
    /// Mean sweeps of each reservoir.
    pub sweeps_mean: Vec<f64>,
    /// Share of graphs that converged in all blocks; `None` if the number of sweeps is fixed.
    pub converged: Option<f64>,
    /// The size of the graphs on every level.
    pub levels: Vec<LevelSummary>,
}

impl Architecture {
    /// Seconds of preparing, embedding and training.
    pub fn seconds(&self) -> f64 {
        self.prepare_seconds + self.embed_seconds + self.train_seconds
    }

    /// Formats the mean of a value on each level, joined by `arrow`.
    pub fn by_level(&self, value: fn(&LevelSummary) -> f64, arrow: &str) -> String {
        let levels: Vec<String> = self.levels.iter().map(|level| format!("{:.0}", value(level))).collect();
        levels.join(arrow)
    }
}

impl Demo<'_> {
    /// The page as HTML.
    pub fn html(&self, provenance: &Provenance) -> String {
        let mut page = Page::new(&format!("Four architectures on {}", self.dataset.name));
        page.paragraph(&self.words);
        page.table(&self.table());
        let spot = |found: &Architecture| Spot {
            pool: found.pool.clone(),
            blocks: self.blocks,
            seconds: found.seconds(),
            accuracy: 100.0 * found.accuracy_mean,
            is_papers: false,
        };
        let spots = self.architectures.iter().map(spot).collect();
        let field = Field { name: shortened(&self.dataset.name, 60), spots };
        page.section("time", "Accuracy against time");
        let caption = "Seconds of preparing, embedding and training, without pooling.";
        page.figure(&frontier("Accuracy against time", &[field], 1).svg, caption);
        page.section("embeddings", "Graphs as points");
        let caption = "The summed states of the last block, projected by linear discriminants; one point per graph, coloured by class.";
        page.figure(&clouds("Embeddings", std::slice::from_ref(&self.embeddings)).svg, caption);
        page.section("benchmark", "The graphs");
        let caption = "The positions of two moons, a split Gaussian and a blob define the class; every point is \
                       linked to its nearest neighbours.";
        page.figure(&benchmark("Points and graphs", std::slice::from_ref(self.dataset)).svg, caption);
        page.section("made", "How this was made");
        provenance.section(&mut page, &Known::default());
        page.finish()
    }

    fn table(&self) -> Table {
        fn levels(found: &Architecture, value: fn(&LevelSummary) -> f64) -> Cell {
            Cell::sorted(found.by_level(value, " → "), found.levels.last().map_or(0.0, value))
        }
        let columns: [Column<Architecture>; 7] = [
            ("pooling", |found| Cell::text(&found.pool)),
            ("accuracy (%)", |found| Cell::spread(100.0 * found.accuracy_mean, 100.0 * found.accuracy_std)),
            ("seconds", |found| Cell::number(found.seconds(), 2)),
            ("points per second", |found| Cell::number(100.0 * found.accuracy_per_second, 0)),
            ("seconds of pooling", |found| Cell::number(found.coarsen_seconds, 2)),
            ("vertices", |found| levels(found, |level| level.avg_vertices)),
            ("edges", |found| levels(found, |level| level.avg_edges)),
        ];
        let caption = "Accuracy on the test graphs; sizes are means for each level";
        Table::of(caption, self.architectures, &columns)
    }
}
