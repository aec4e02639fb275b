//! Identifies everything that the records of a cell depend on, so that a run never
//! resumes with other data or options.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stepwell::config::{EdgeGate, Level, ModelConfig, Pool};
use stepwell::targets::{Labels, Targets};
use stepwell_data::{Dataset, cache, identity};

use crate::splits::Fold;

/// Everything the results of a cell depend on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Fingerprint {
    /// Checksum of data, splits, model and protocol.
    #[serde(rename = "fingerprint")]
    pub checksum: String,
    /// Model and protocol, to report what differs. Old records have none.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub settings: Value,
}

impl Fingerprint {
    /// The fingerprint of a model on a dataset. `settings` holds all options of model
    /// and protocol.
    pub(crate) fn new(
        dataset: &Dataset,
        model: &ModelConfig,
        folds: &[Fold],
        settings: impl Serialize,
    ) -> Self {
        let text = serde_json::to_string(&settings).expect("settings are structs of plain values");
        let checksum = checksum(dataset, model, folds, &text);
        Self { checksum, settings: serde_json::from_str(&text).expect("just written") }
    }

    /// The difference from this fingerprint if the checksums differ: `units = 10, not 11`.
    pub(crate) fn difference(&self, now: &Self) -> String {
        if self.settings.is_null() {
            return "another dataset, model or protocol".into();
        }
        let found = identity::differences(&self.settings, &now.settings);
        if found.is_empty() { "another dataset or other folds".into() } else { found.join(", ") }
    }
}

/// Adds all values of targets. `Debug` would abbreviate a long array.
fn update(sum: &mut Sha256, targets: &Targets) {
    match targets {
        Targets::Numbers(values) | Targets::Binary(values) => {
            sum.update(format!("{:?}", values.dim()));
            values.iter().for_each(|value| sum.update(value.to_le_bytes()));
        }
        targets => sum.update(format!("{targets:?}")),
    }
}

fn checksum(dataset: &Dataset, model: &ModelConfig, folds: &[Fold], settings: &str) -> String {
    let mut sum = Sha256::new();
    // The key of a pyramid covers structure and weights. Without pooling there is no
    // pyramid, so take the key that Graclus would have.
    let pooled = ModelConfig { pool: Pool::Graclus, ..model.clone() };
    let pooling = model.pooling().or_else(|| pooled.pooling()).expect("Graclus is a pooling");
    sum.update(cache::key(&dataset.graphs, &pooling, 0));
    let attributes = dataset.graphs.iter().filter_map(|graph| graph.vertex_attributes());
    attributes.for_each(|(values, _)| values.iter().for_each(|value| sum.update(value.to_le_bytes())));
    let labels = dataset.graphs.vertex_labels().map(|all| &all.values);
    labels.into_iter().flatten().for_each(|label| sum.update(label.to_le_bytes()));
    if model.edge_gate != EdgeGate::None {
        let labels = dataset.graphs.edge_labels().map(|all| &all.values);
        labels.into_iter().flatten().for_each(|label| sum.update(label.to_le_bytes()));
        let attributes = dataset.graphs.edge_attributes().map(|all| &all.values);
        attributes.into_iter().flatten().for_each(|value| sum.update(value.to_le_bytes()));
    }
    match &dataset.targets {
        // Keep the encoding of the first records, so that old runs can be resumed.
        Targets::None => sum.update("None"),
        Targets::Classes(Labels::Int(values)) => sum.update(format!("Classes({values:?})")),
        Targets::Classes(Labels::Text(values)) => sum.update(format!("Text({values:?})")),
        Targets::Numbers(values) if values.ncols() == 1 => {
            sum.update(format!("Real({:?})", values.column(0).to_vec()));
        }
        targets => update(&mut sum, targets),
    }
    sum.update("FeatureOptions { raw: false, structure: [] }");
    if let Some(all) = dataset.vertices.as_ref().filter(|_| model.level == Level::Vertex) {
        sum.update(format!("{:?}", all.known.rows));
        update(&mut sum, &all.known.targets);
    }
    for fold in folds {
        sum.update(format!("{fold:?}"));
    }
    sum.update(settings);
    sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn every_value_of_several_targets_counts() {
        // `Debug` prints both ends of an array this long and omits its middle.
        let dataset = |middle: f64| {
            let mut values = Array2::zeros((2000, 3));
            values[(1000, 1)] = middle;
            Dataset { targets: Targets::Binary(values), ..Dataset::default() }
        };
        let of = |middle| Fingerprint::new(&dataset(middle), &ModelConfig::default(), &[], ()).checksum;
        assert_eq!(of(1.0), of(1.0));
        assert_ne!(of(1.0), of(0.0));
    }
}
