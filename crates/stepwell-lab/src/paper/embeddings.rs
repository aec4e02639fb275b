//! The graphs of a dataset as points in the plane (paper §6.4): embedded by each
//! architecture and projected by linear discriminants.

use std::ops::ControlFlow;

use stepwell::config::{ModelConfig, Pool};
use stepwell::features::FeatureMap;
use stepwell::model::Model;
use stepwell::projection::{ProjectionOptions, lda};
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::embed;
use stepwell_data::Dataset;

use crate::error::{Error, Result};
use crate::picture::figures::Cloud;

/// The datasets of the paper's figure: all of the paper's datasets with at least three
/// classes that are small enough to plot.
pub const DATASETS: [&str; 4] = ["b-easy", "b-hard", "ENZYMES", "IMDB-MULTI"];

/// The configuration of the paper's figure.
pub fn config(pool: Pool) -> ModelConfig {
    ModelConfig {
        pool,
        blocks: 3,
        units: 100.into(),
        spectral_radius: 0.9.into(),
        input_scaling: 0.5,
        hidden_scaling: 0.8.into(),
        ..ModelConfig::default()
    }
}

/// Embeds all graphs, with the levels that [`config`] needs, and projects them to the
/// plane that separates their classes best.
pub fn cloud(
    dataset: &Dataset,
    pyramid: &Pyramid,
    config: ModelConfig,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Cloud> {
    let Some((classes, _)) = dataset.targets.classes() else {
        let found = format!("{} without any", dataset.name);
        return Err(Error::BadOption { name: "dataset", expected: "one with classes".into(), found });
    };
    let name = config.pool.name().to_owned();
    let map = FeatureMap::fit(&dataset.graphs, &config.features())?;
    let model = Model::new(config, map)?;
    let prepared = model.prepare(&dataset.graphs, pyramid, || progress(0))?;
    let vectors = embed(&model.weights, &prepared, &model.config, progress)?.vectors;
    let points = lda(vectors.view(), &classes, &ProjectionOptions::default())?.apply(vectors.view())?;
    Ok(Cloud { name, points: points.rows().into_iter().map(|point| [point[0], point[1]]).collect() })
}
