//! The page of `stepwell demo`.

use stepwell_data::{Dataset, LevelSummary};

use super::Facts;
use crate::picture::figures::{CloudRow, Field, Spot, benchmark, clouds, frontier};
use crate::picture::page::{Cell, Page, Table};
use crate::picture::svg::shortened;
use crate::run::Known;

/// What the demonstration found.
#[derive(Clone, Debug)]
pub struct Demo<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// In words: graphs, blocks, units, draws.
    pub words: String,
    /// What came of each architecture.
    pub architectures: Vec<Architecture>,
    /// The graphs' embeddings as points.
    pub embeddings: CloudRow,
}

/// What came of an architecture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Architecture {
    /// Its pooling.
    pub pool: String,
    /// Its blocks.
    pub blocks: usize,
    /// Mean share of the test graphs that are right.
    pub accuracy: f64,
    /// Its standard deviation over draws of the weights.
    pub std: f64,
    /// Seconds of pooling all graphs.
    pub coarsen_seconds: f64,
    /// Seconds of preparing and embedding all graphs and training.
    pub seconds: f64,
    /// The graphs on every level.
    pub levels: Vec<LevelSummary>,
}

impl Demo<'_> {
    /// The page.
    pub fn html(&self, facts: &Facts) -> String {
        let mut page = Page::new(&format!("Four architectures on {}", self.dataset.name));
        page.paragraph(&self.words);
        page.table(&self.table());
        let spot = |found: &Architecture| Spot {
            pool: found.pool.clone(),
            blocks: found.blocks,
            seconds: found.seconds,
            accuracy: 100.0 * found.accuracy,
            is_papers: false,
        };
        let spots = self.architectures.iter().map(spot).collect();
        let field = Field { name: shortened(&self.dataset.name, 60), spots };
        page.section("time", "Accuracy against time");
        let caption = "Seconds of preparing, embedding and training, pooling apart.";
        page.figure(&frontier("Accuracy against time", &[field], 1).svg, caption);
        page.section("embeddings", "Graphs as points");
        let caption = "The sums of the last states of all graphs, projected by linear discriminants; colours are classes.";
        page.figure(&clouds("Embeddings", std::slice::from_ref(&self.embeddings)).svg, caption);
        page.section("benchmark", "What the graphs are");
        let caption = "A class is where two moons, a split Gaussian and a blob lie; every point is joined to its \
                       nearest ones.";
        page.figure(&benchmark("Points and graphs", std::slice::from_ref(self.dataset)).svg, caption);
        page.section("made", "How this was made");
        facts.section(&mut page, &Known::default());
        page.finish()
    }

    fn table(&self) -> Table {
        let row = |found: &Architecture| {
            let kept = |value: fn(&LevelSummary) -> f64| {
                let levels: Vec<String> =
                    found.levels.iter().map(|level| format!("{:.0}", value(level))).collect();
                let last = found.levels.last().map_or(0.0, value);
                Cell::sorted(levels.join(" → "), last)
            };
            let right = format!("{:.1} ± {:.1}", 100.0 * found.accuracy, 100.0 * found.std);
            vec![
                Cell::text(&found.pool),
                Cell::sorted(right, found.accuracy),
                Cell::number(found.seconds, 2),
                Cell::number(100.0 * found.accuracy / found.seconds, 0),
                Cell::number(found.coarsen_seconds, 2),
                kept(|level| level.avg_vertices),
                kept(|level| level.avg_edges),
            ]
        };
        let header =
            ["pooling", "% right", "seconds", "points per second", "seconds of pooling", "vertices", "edges"];
        Table {
            caption: "Test graphs that are right; sizes are means, level by level".to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: self.architectures.iter().map(row).collect(),
        }
    }
}
