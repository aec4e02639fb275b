use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use ndarray::Array2;
use serde::Serialize;
use stepwell::model::Model;
use stepwell::targets::Targets;
use stepwell_data::{Expected, Untargeted, models};
use stepwell_lab::picture::embedding::{Method, Vectors, plot};

use crate::BadUsage;
use crate::args::{Caching, Input, PartArg};
use crate::embedding::{Embedder, ids};
use crate::model::{ModelArgs, ReadoutArgs};
use crate::picture::PictureArgs;
use crate::terminal::Terminal;

/// Draw all graphs as points in a plane
///
/// Embeds the graphs and projects their vectors onto a plane, by linear discriminants (lda,
/// which separates classes) or principal components (pca). Colours show classes, or
/// quintiles of a numeric target. In a page (.html), you can zoom, see the name of the graph under
/// the pointer, and hide a class by clicking it in the legend.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell plot MUTAG -o mutag.html
  stepwell plot b-easy --method pca --pool ndp -o b-easy.svg
  stepwell plot b-hard --part test -m model.safetensors -o test.html")]
pub struct Plot {
    #[command(flatten)]
    input: Input,

    /// The projection: 'lda' (needs classes) or 'pca' [lda if there are classes, otherwise pca]
    #[arg(long, value_parser = method)]
    method: Option<Method>,

    /// Embed with the options, weights and feature scales of a saved model
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    picture: PictureArgs,

    #[command(flatten)]
    part: PartArg,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    options: ModelArgs,
}

#[derive(Serialize)]
struct PlottedPoints {
    dataset: String,
    method: &'static str,
    graphs: usize,
    /// For each axis, its share of the variance: between classes for discriminants, otherwise of
    /// all variance.
    explained: Vec<f64>,
    /// The position of each graph.
    points: Vec<[f64; 2]>,
}

impl Plot {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let config = self.options.config().context(BadUsage)?;
        self.picture.check()?;
        let saved = self.model.as_deref().map(models::read).transpose()?;
        let mut source = terminal.open(&self.input, Untargeted::Keep)?;
        source.part = self.part.get();
        let model = match saved {
            Some(saved) => {
                source.expected = Some(Expected::from(saved.model()));
                saved.into_model()
            }
            None => {
                terminal.notes("note", &self.options.without_effect(&config, &ReadoutArgs::default()));
                Model::new(config.clone(), terminal.survey(&source, true, &config)?.features)?
            }
        };
        model.expect_graphs("be plotted").context(BadUsage)?;
        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let mut embedder = Embedder::new(&model, cache, terminal);
        let (mut numbers, mut targets) = (Vec::new(), Targets::None);
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        terminal.counting("embedding", |progress| {
            source.visit(|piece| {
                let before = embedder.tally.graphs;
                numbers.extend(embedder.embed_piece(piece, before, None, progress)?.vectors.iter());
                names.extend(ids(piece, before));
                sizes.extend(piece.graphs.iter().map(|graph| graph.num_vertices()));
                Ok::<(), anyhow::Error>(targets.append(piece.targets.clone())?)
            })
        })?;
        embedder.note("");
        if targets.len() != names.len() {
            targets = Targets::None;
        }
        let rows = Array2::from_shape_vec((names.len(), model.width()), numbers)?;
        let method = self.method.unwrap_or(match targets {
            Targets::Classes(_) => Method::Lda,
            _ => Method::Pca,
        });
        if method == Method::Lda && 2 * rows.ncols() > rows.nrows() {
            terminal.note(&format!(
                "note: with {} columns for {} graphs, discriminants separate almost any classes; try --method pca or fewer --units",
                rows.ncols(),
                rows.nrows()
            ));
        }
        let vectors = Vectors {
            name: &source.name,
            rows: rows.view(),
            targets: &targets,
            ids: &names,
            sizes: Some(&sizes),
        };
        let (picture, projection, points) = terminal.busy("drawing", || plot(&vectors, method))?;
        self.picture.write(&picture, terminal, || PlottedPoints {
            dataset: source.name.clone(),
            method: match method {
                Method::Lda => "lda",
                Method::Pca => "pca",
            },
            graphs: names.len(),
            explained: projection.explained,
            points: points.rows().into_iter().map(|point| [point[0], point[1]]).collect(),
        })
    }
}

fn method(name: &str) -> Result<Method, String> {
    match name {
        "lda" => Ok(Method::Lda),
        "pca" => Ok(Method::Pca),
        _ => Err("expected lda or pca".to_owned()),
    }
}
