//! The published datasets, if available in `STEPWELL_TEST_DATA`, or in `../shared/data` beside the
//! checkout.

use std::path::{Path, PathBuf};

use stepwell_data::{Dataset, Part, Summary, catalog};

fn folder(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("STEPWELL_TEST_DATA").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = given.unwrap_or_else(beside).join(name);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

/// Name, graphs, classes, mean vertices and undirected edges to two decimals, self loops, distinct
/// vertex labels, attributes, isolated vertices: from the table computed when the files were
/// collected.
type Row = (&'static str, usize, usize, &'static str, &'static str, usize, usize, usize, usize);

const TABLE: [Row; 11] = [
    ("MUTAG", 188, 2, "17.93", "19.79", 0, 7, 0, 0),
    ("ENZYMES", 600, 6, "32.63", "62.14", 0, 3, 18, 106),
    ("PROTEINS", 1113, 2, "39.06", "72.82", 0, 3, 1, 5),
    ("NCI1", 4110, 2, "29.87", "32.30", 0, 37, 0, 428),
    ("Mutagenicity", 4337, 2, "30.32", "30.77", 0, 14, 0, 2401),
    ("DD", 1178, 2, "284.32", "715.66", 0, 82, 0, 0),
    ("IMDB-BINARY", 1000, 2, "19.77", "96.53", 0, 0, 0, 0),
    ("IMDB-MULTI", 1500, 3, "13.00", "65.94", 0, 0, 0, 0),
    ("COLLAB", 5000, 3, "74.49", "2457.22", 2837, 0, 0, 0),
    ("REDDIT-BINARY", 2000, 2, "429.63", "497.75", 0, 0, 0, 21),
    ("PROTEINS_full", 1113, 2, "39.06", "72.82", 0, 3, 29, 5),
];

#[test]
fn published_statistics_are_met_exactly() {
    let Some(folder) = folder("tud") else { return };
    for (name, graphs, classes, vertices, edges, loops, labels, attributes, lonely) in TABLE {
        let dataset = catalog::read(&folder.join(format!("{name}.zip"))).unwrap();
        let summary = Summary::of(&dataset);
        assert_eq!(
            (summary.dataset.as_str(), summary.graphs, summary.classes),
            (name, graphs, Some(classes))
        );
        assert_eq!(format!("{:.2}", summary.avg_vertices), vertices, "{name}");
        assert_eq!(format!("{:.2}", summary.avg_edges), edges, "{name}");
        assert_eq!(
            (summary.self_loops, summary.node_labels, summary.attributes),
            (loops, labels, attributes),
            "{name}"
        );
        let without_edges = |g: stepwell::graph::GraphRef<'_>| {
            (0..g.num_vertices()).filter(|&v| g.neighbours(v).is_empty()).count()
        };
        assert_eq!(dataset.graphs.iter().map(without_edges).sum::<usize>(), lonely, "{name}");
        assert!(dataset.notes.is_empty(), "{name}: {:?}", dataset.notes);
    }
}

#[test]
fn edge_labels_are_kept() {
    let Some(folder) = folder("tud") else { return };
    for (name, values) in [("MUTAG", 4), ("Mutagenicity", 3)] {
        let dataset = catalog::read(&folder.join(format!("{name}.zip"))).unwrap();
        let labels = dataset.graphs.edge_labels().unwrap();
        assert_eq!((labels.width, labels.len()), (1, dataset.graphs.num_entries()));
        assert_eq!(Summary::of(&dataset).carried.unwrap().edge_labels, values, "{name}");
    }
}

#[test]
fn the_benchmark_is_the_same_from_both_files() {
    let Some(folder) = folder("bench") else { return };
    for (name, split) in [("easy_small", [239, 30, 31]), ("hard_small", [245, 29, 26])] {
        let zip = catalog::read(&folder.join(format!("{name}.zip"))).unwrap();
        let npz = catalog::read(&folder.join(format!("{name}.npz"))).unwrap();
        assert_eq!((&npz.graphs, &npz.targets), (&zip.graphs, &zip.targets), "{name}");
        let count = |npz: &Dataset, part| npz.parts.iter().flatten().filter(|&&p| p == part).count();
        assert_eq!([Part::Train, Part::Validation, Part::Test].map(|part| count(&npz, part)), split);
    }
}

#[test]
fn molecules_of_ogb_come_with_their_split_and_names() {
    let Some(folder) = folder("molecules") else { return };
    // OGB's description of the archive: 1128 molecules, nine columns for atoms, three for bonds, 80
    // : 10 : 10 by scaffold.
    let dataset = catalog::read(&folder.join("ogbg_molesol.zip")).unwrap();
    let summary = Summary::of(&dataset);
    assert_eq!((dataset.name.as_str(), dataset.len()), ("ogbg_molesol", 1128));
    assert_eq!(
        (dataset.graphs.num_vertices(), dataset.graphs.iter().map(|g| g.num_edges()).sum()),
        (14991, 15428)
    );
    assert_eq!(dataset.target_names, ["measured log solubility in mols per litre"]);
    assert_eq!((dataset.id(0), dataset.id(1)), ("Amigdalin".to_owned(), "Fenfuram".to_owned()));
    assert_eq!(dataset.targets.column().unwrap()[..3], [-0.77, -3.3, -2.06]);
    assert_eq!(dataset.graphs.graph(0).vertex_labels().unwrap().1, 9);
    assert_eq!(dataset.graphs.graph(0).edge_labels().unwrap().1, 3);
    let sizes = Part::NAMES.map(|(part, _)| dataset.part(part).unwrap().len());
    assert_eq!((sizes, summary.classes), ([902, 113, 113], None));
    assert!(dataset.notes.is_empty());
}
