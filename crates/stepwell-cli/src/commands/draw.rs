use std::ops::ControlFlow::Continue;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use serde::Serialize;
use stepwell::config::Level;
use stepwell::pool::Pool;
use stepwell::pyramid::Pyramid;
use stepwell_lab::picture::Subject;
use stepwell_lab::picture::predicted::{self, Compared, Predicted};
use stepwell_lab::picture::pyramid::{LevelFigures, draw};

use super::stats::describe_notes;
use crate::BadUsage;
use crate::args::Input;
use crate::model::read_model;
use crate::picture::{GraphArg, PictureArgs};
use crate::pooling::PoolArgs;
use crate::terminal::Terminal;

/// Draw one graph and its coarse levels side by side
///
/// Positions come from the dataset or from a force-directed layout; molecules are drawn as
/// structural formulas. Colours show labels, attributes or degrees. If a pooling selects
/// vertices, dropped vertices are hollow; if it merges vertices, vertices that are merged lie on
/// one patch. The picture states the size of every level. For a level that is pooled, it also states
/// which share of the edge weight lies on edges between kept and dropped vertices (the cut value),
/// or, if the pooling merges vertices, on edges whose two ends are merged into one vertex.
///
/// With a model trained with --level vertex (-m), draws the graph twice: coloured by the model's
/// predictions, and by the known targets.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell draw MUTAG --graph 7 -o graph.svg
  stepwell draw b-easy --graph 0 --pool ndp --levels 2 -o pyramid.html
  stepwell draw texas.npz -m texas.safetensors -o predicted.svg
  stepwell draw grid:12x12 --pool graclus -o grid.svg
  stepwell draw mols.csv --smiles smiles --graph 3 -o molecule.svg")]
pub struct Draw {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    graph: GraphArg,

    /// Draw the predictions of this model, trained with 'stepwell train --level vertex'
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    picture: PictureArgs,

    #[command(flatten)]
    pool: PoolArgs,
}

#[derive(Serialize)]
struct DrawnPredictions {
    dataset: String,
    graph: String,
    #[serde(flatten)]
    compared: Compared,
}

#[derive(Serialize)]
struct DrawnLevels {
    dataset: String,
    graph: String,
    pool: &'static str,
    levels: Vec<LevelFigures>,
}

impl Draw {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        self.picture.check()?;
        let pooling = self.pool.pooling().context(BadUsage)?;
        if let Some(path) = &self.model {
            ensure!(
                pooling.is_none(),
                anyhow!("--pool: a model's predictions are drawn on the graph itself; remove --pool or -m")
                    .context(BadUsage)
            );
            return self.draw_predictions(path, terminal);
        }
        let chosen = self.graph.load(&self.input, terminal)?;
        let (name, dataset) = (chosen.id(0), &chosen);
        let pyramid = match &pooling {
            Some(pooling) => terminal.coarsen(None, &dataset.graphs, pooling, self.pool.levels)?,
            None => Pyramid::default(),
        };
        terminal.notes("note", &describe_notes(&pyramid.notes()));
        let pool = pooling.map_or(Pool::None, |pooling| pooling.method).name();
        let title = match pool {
            "none" => format!("graph {name} of {}", dataset.name),
            pool => format!("graph {name} of {}: {pool}", dataset.name),
        };
        let places = terminal.places(dataset);
        let subject = Subject {
            name: &title,
            graph: dataset.graphs.graph(0),
            coordinates: places.as_deref(),
            molecules: dataset.molecules.as_deref(),
            pyramid: &pyramid,
            index: 0,
        };
        let (picture, levels) = terminal.busy("drawing", || draw(&subject))?;
        self.picture.write(&picture, terminal, || DrawnLevels {
            dataset: dataset.name.clone(),
            graph: name,
            pool,
            levels,
        })
    }

    fn draw_predictions(&self, path: &Path, terminal: &Terminal) -> Result<()> {
        let model = read_model(path)?;
        if model.model.config.level != Level::Vertex {
            let refusal =
                "--model: expected a model of vertices, found one of graphs; 'plot' draws its vectors";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        self.input.molecules.fit(&model.model)?;
        let dataset = self.graph.load(&self.input, terminal)?;
        let name = dataset.id(0);
        let predictions = terminal.busy("predicting", || model.predict(&dataset.graphs, |_| Continue(())))?;
        let known = dataset.vertices.as_ref().map(|all| all.known.clone()).unwrap_or_default();
        let said = Predicted::of(&model, &predictions, &known);
        let title = format!("predictions for graph {name} of {}", dataset.name);
        let places = terminal.places(&dataset);
        let pyramid = Pyramid::default();
        let subject = Subject {
            name: &title,
            graph: dataset.graphs.graph(0),
            coordinates: places.as_deref(),
            molecules: None,
            pyramid: &pyramid,
            index: 0,
        };
        let picture = terminal.busy("drawing", || predicted::draw(&subject, &said))?;
        self.picture.write(&picture, terminal, || DrawnPredictions {
            dataset: dataset.name.clone(),
            graph: name,
            compared: said.compared(),
        })
    }
}
