//! The paper's figures. They are drawn at the end of a run, unless they exist and show all datasets
//! of the command.

use anyhow::Result;
use stepwell_data::Dataset;
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_lab::paper::{PaperFigure, bound, charts, embeddings};
use stepwell_lab::picture::Picture;
use stepwell_lab::picture::figures::{CloudRow, benchmark, clouds};

use super::{POOLS, Work};

/// The number of graphs of each class whose sweeps are counted.
const COUNTED: usize = 20;

impl Work<'_> {
    /// Draws the missing figures, and redraws those that do not show all of this command's
    /// datasets.
    pub(super) fn figures(&self, datasets: &[String]) -> Result<()> {
        let out = &self.command.out;
        crate::report::write_figures(out, &charts(&self.known()?))?;
        let drawn = crate::report::drawn(out);
        let generated: Vec<&String> =
            datasets.iter().filter(|name| BenchmarkOptions::named(name).is_some()).collect();
        let shows = |figure: PaperFigure, names: &[&String]| {
            drawn.get(&figure).is_some_and(|svg| names.iter().all(|name| svg.contains(name.as_str())))
        };
        let is_drawn = |figure: &PaperFigure| match figure {
            PaperFigure::Benchmark => shows(*figure, &generated),
            PaperFigure::Embeddings => shows(*figure, &chosen(datasets)),
            PaperFigure::Bound => shows(*figure, &[]),
        };
        for figure in PaperFigure::ALL.into_iter().filter(|figure| !is_drawn(figure)) {
            let picture = match figure {
                PaperFigure::Benchmark if generated.is_empty() => None,
                PaperFigure::Bound if generated.is_empty() => None,
                PaperFigure::Benchmark => {
                    let examples =
                        generated.iter().filter_map(|name| few(name, 1)).collect::<Result<Vec<_>>>()?;
                    Some(benchmark(figure.title(), &examples))
                }
                PaperFigure::Bound => few("b-easy-small", COUNTED)
                    .map(|dataset| -> Result<Picture> {
                        let dataset = dataset?;
                        Ok(self.terminal.busy("counting sweeps", || bound::figure(&dataset))?)
                    })
                    .transpose()?,
                PaperFigure::Embeddings => self.embeddings(datasets)?,
            };
            if let Some(picture) = picture {
                picture.write(&out.join("figures").join(figure.file()))?;
            }
        }
        Ok(())
    }

    /// Embeddings as points, with a row of architectures for each dataset of the paper's figure.
    fn embeddings(&self, datasets: &[String]) -> Result<Option<Picture>> {
        let mut rows = Vec::new();
        for name in chosen(datasets) {
            let Some(dataset) = self.load(name)? else { continue };
            let Some((of, classes)) = dataset.targets.classes() else { continue };
            let mut row = CloudRow { name: dataset.name.clone(), classes, of, clouds: Vec::new() };
            for pool in POOLS {
                let config = embeddings::config(pool);
                let pyramid = match config.pooling() {
                    Some(pooling) => self.terminal.coarsen(
                        self.cache.as_ref(),
                        &dataset.graphs,
                        &pooling,
                        config.levels(),
                    )?,
                    None => Default::default(),
                };
                let words = format!("embedding {name}");
                row.clouds.push(
                    self.terminal.counting(&words, |progress| {
                        embeddings::cloud(&dataset, &pyramid, config, progress)
                    })?,
                );
            }
            rows.push(row);
        }
        Ok((!rows.is_empty()).then(|| clouds(PaperFigure::Embeddings.title(), &rows)))
    }
}

/// The datasets of the paper's figure of embeddings, in its order.
fn chosen(datasets: &[String]) -> Vec<&String> {
    let place =
        |name: &str| embeddings::DATASETS.iter().position(|known| *known == name.trim_end_matches("-small"));
    let mut chosen: Vec<&String> = datasets.iter().filter(|name| place(name).is_some()).collect();
    chosen.sort_by_key(|name| place(name));
    chosen
}

/// A version of the benchmark with few graphs.
fn few(name: &str, graphs_per_class: usize) -> Option<Result<Dataset>> {
    let options = BenchmarkOptions { graphs_per_class, ..BenchmarkOptions::named(name)? };
    Some(synthetic::generate(&options).map_err(Into::into))
}
