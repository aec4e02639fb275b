//! Identifies everything that the records of a cell depend on, so that a run never
//! resumes with other data or options.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stepwell::config::{EdgeGate, Level, ModelConfig, Pool};
use stepwell::graph::VertexAttributes;
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

/// Adds all values of attributes. Sparse rows are added as the dense rows that they stand for,
/// without building these: they may not fit in memory.
fn update_attributes(sum: &mut Sha256, attributes: &VertexAttributes) {
    let rows = match attributes {
        VertexAttributes::Dense(rows) => {
            return rows.values.iter().for_each(|value| sum.update(value.to_le_bytes()));
        }
        VertexAttributes::Sparse(rows) => rows,
    };
    let skip = |sum: &mut Sha256, columns: usize| {
        let zeros = [[0; size_of::<f64>()]; 512];
        for start in (0..columns).step_by(zeros.len()) {
            sum.update(zeros[..zeros.len().min(columns - start)].as_flattened());
        }
    };
    for row in 0..rows.len() {
        let (columns, values) = rows.row(row);
        let mut next = 0;
        for (&column, value) in columns.iter().zip(values) {
            skip(sum, column as usize - next);
            sum.update(value.to_le_bytes());
            next = column as usize + 1;
        }
        skip(sum, rows.width() - next);
    }
}

fn checksum(dataset: &Dataset, model: &ModelConfig, folds: &[Fold], settings: &str) -> String {
    let mut sum = Sha256::new();
    // The key of a pyramid covers structure and weights. Without pooling there is no
    // pyramid, so take the key that Graclus would have.
    let pooled = ModelConfig { pool: Pool::Graclus, ..model.clone() };
    let pooling = model.pooling().or_else(|| pooled.pooling()).expect("Graclus is a pooling");
    sum.update(cache::key(&dataset.graphs, &pooling, 0));
    if let Some(attributes) = dataset.graphs.vertex_attributes() {
        update_attributes(&mut sum, attributes);
    }
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
    use stepwell::graph::{EdgeList, Graph, GraphBatch, SparseRows};

    use super::*;

    /// Two graphs with a row of attributes for each of their three vertices.
    fn attributed(list: impl Fn(usize) -> Graph) -> Dataset {
        let mut graphs = GraphBatch::default();
        (0..2).for_each(|graph| graphs.append(list(graph).as_batch()).unwrap());
        Dataset { graphs, targets: Targets::integers(vec![0, 1]), ..Dataset::default() }
    }

    fn of(dataset: &Dataset) -> String {
        Fingerprint::new(dataset, &ModelConfig::default(), &[], ()).checksum
    }

    #[test]
    fn sparse_rows_have_the_checksum_of_dense_rows() {
        const WIDTH: usize = 1500;
        let entries = [[(0, 1.0), (700, -2.5)], [(3, 4.0), (1499, 0.5)]];
        let edges = || EdgeList::new(3, &[0, 1], &[1, 2]);
        let sparse = attributed(|graph| {
            // The vertex in the middle has no entries.
            let (columns, values) = entries[graph].into_iter().unzip();
            let rows = SparseRows::new(WIDTH, vec![0, 1, 1, 2], columns, values).unwrap();
            Graph::new(&EdgeList { sparse_attributes: Some(&rows), ..edges() }).unwrap()
        });
        let dense = attributed(|graph| {
            let mut rows = vec![0.0; 3 * WIDTH];
            for (row, (column, value)) in [0, 2].into_iter().zip(entries[graph]) {
                rows[row * WIDTH + column as usize] = value;
            }
            Graph::new(&EdgeList { vertex_attributes: Some((&rows, WIDTH)), ..edges() }).unwrap()
        });
        assert!(matches!(sparse.graphs.vertex_attributes(), Some(VertexAttributes::Sparse(_))));
        assert!(matches!(dense.graphs.vertex_attributes(), Some(VertexAttributes::Dense(_))));
        assert_eq!(of(&sparse), of(&dense));
        let other = attributed(|_| Graph::new(&edges()).unwrap());
        assert_ne!(of(&sparse), of(&other));
    }

    /// Sparse rows that take 1 GB as dense rows.
    #[test]
    #[ignore = "run by the next test, with little memory"]
    fn wide_sparse_rows() {
        let rows = SparseRows::new(1 << 26, vec![0, 1, 2], vec![5, 0], vec![1.0, 1.0]).unwrap();
        let edges = EdgeList { sparse_attributes: Some(&rows), ..EdgeList::new(2, &[0], &[1]) };
        let graphs = Graph::new(&edges).unwrap().as_batch().clone();
        assert_eq!(of(&Dataset { graphs, ..Dataset::default() }).len(), 32);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sparse_rows_are_never_held_as_dense_rows() {
        let limited = "ulimit -v 800000; exec \"$0\" --exact fingerprint::tests::wide_sparse_rows --ignored";
        let program = std::env::current_exe().unwrap();
        let done = std::process::Command::new("sh").args(["-c", limited]).arg(program).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn every_value_of_several_targets_counts() {
        // `Debug` prints both ends of an array this long and omits its middle.
        let dataset = |middle: f64| {
            let mut values = Array2::zeros((2000, 3));
            values[(1000, 1)] = middle;
            Dataset { targets: Targets::Binary(values), ..Dataset::default() }
        };
        assert_eq!(of(&dataset(1.0)), of(&dataset(1.0)));
        assert_ne!(of(&dataset(1.0)), of(&dataset(0.0)));
    }
}
