//! What a cell's records rest on, and what differs from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stepwell::config::{ModelConfig, Pool};
use stepwell::targets::{Labels, Targets};
use stepwell_data::{Dataset, cache};

use crate::splits::Fold;

/// Everything the results of a cell depend on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Basis {
    /// Of data, splits, model and protocol, in one sum.
    pub fingerprint: String,
    /// Model and protocol, to tell what differs; records of old have none.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub settings: Value,
}

impl Basis {
    /// Of a model on a dataset; `settings` say all there is to be said of model and protocol.
    pub(crate) fn new(
        dataset: &Dataset,
        model: &ModelConfig,
        folds: &[Fold],
        settings: impl Serialize,
    ) -> Self {
        let text = serde_json::to_string(&settings).unwrap_or_default();
        let fingerprint = fingerprint(dataset, model, folds, &text);
        Self { fingerprint, settings: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// Whether anything was found on it yet.
    pub(crate) fn is_new(&self) -> bool {
        self.fingerprint.is_empty()
    }

    /// What is another now, where the sums differ: options by name, with what they were.
    pub(crate) fn difference(&self, now: &Self) -> String {
        let mut found = Vec::new();
        match (&self.settings, &now.settings) {
            (Value::Null, _) => return "the dataset, the model or the protocol".into(),
            (before, now) => differing("", before, now, &mut found),
        }
        match found.as_slice() {
            [] => "the dataset, or the folds".into(),
            options => options.join(", "),
        }
    }
}

/// Names the leaves that differ: `units (50, now 60)`.
fn differing(name: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    let entry = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
    match (before, now) {
        (before, now) if before == now => {}
        (Value::Object(fields), Value::Object(others)) => {
            let added = others.keys().filter(|key| !fields.contains_key(*key));
            fields
                .keys()
                .chain(added)
                .for_each(|key| differing(key, &entry(before, key), &entry(now, key), found));
        }
        (Value::Array(items), Value::Array(others)) if name.is_empty() => {
            items.iter().zip(others).for_each(|(before, now)| differing(name, before, now, found));
        }
        _ => {
            let told = |value: &Value| if value.is_null() { "none".to_owned() } else { value.to_string() };
            found.push(format!("{} ({}, now {})", name.replace('_', " "), told(before), told(now)));
        }
    }
}

fn fingerprint(dataset: &Dataset, model: &ModelConfig, folds: &[Fold], settings: &str) -> String {
    let mut sum = Sha256::new();
    // Structure and weights are what the key of a pyramid is made of.
    let structure =
        model.pooling().or_else(|| ModelConfig { pool: Pool::Graclus, ..model.clone() }.pooling());
    sum.update(structure.map(|pooling| cache::key(&dataset.graphs, &pooling, 0)).unwrap_or_default());
    let attributes = dataset.graphs.vertex_attributes().map(|all| &all.values);
    attributes.into_iter().flatten().for_each(|value| sum.update(value.to_le_bytes()));
    dataset.graphs.vertex_labels().into_iter().flatten().for_each(|label| sum.update(label.to_le_bytes()));
    // Written down as it was when records began.
    let targets = match &dataset.targets {
        Targets::None => "None".to_owned(),
        Targets::Classes(Labels::Int(values)) => format!("Classes({values:?})"),
        Targets::Classes(Labels::Text(values)) => format!("Text({values:?})"),
        Targets::Numbers(values) if values.ncols() == 1 => format!("Real({:?})", values.column(0).to_vec()),
        other => format!("{other:?}"),
    };
    sum.update(targets + "FeatureOptions { raw: false, structure: [] }");
    for fold in folds {
        sum.update(format!("{fold:?}"));
    }
    sum.update(settings);
    sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
