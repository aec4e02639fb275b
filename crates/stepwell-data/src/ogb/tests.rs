use std::fs;
use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::array;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::{Dataset, Part};
use stepwell::targets::Targets;

type Files = Vec<(&'static str, &'static str)>;

const TOY: [(&str, &str); 10] = [
    ("raw/num-node-list", "3\n1\n2\n"),
    ("raw/num-edge-list", "2\n0\n1\n"),
    ("raw/edge", "0,1\n1,2\n0,1\n"),
    ("raw/node-feat", "5,0\n5,1\n7,0\n6,0\n5,0\n7,0\n"),
    ("raw/edge-feat", "0,0\n1,0\n3,1\n"),
    ("raw/graph-label", "-0.77\n1.5\n2\n"),
    ("split/scaffold/train", "2\n"),
    ("split/scaffold/valid", "0\n"),
    ("split/scaffold/test", "1\n"),
    ("mapping/mol", "solubility,smiles,mol_id\n-0.77,CCO,a\n1.5,N,\"b,c\"\n2,CO,d\n"),
];

fn with(changes: &[(&'static str, &'static str)]) -> Files {
    let mut files: Files =
        TOY.into_iter().filter(|(name, _)| !changes.iter().any(|c| c.0 == *name)).collect();
    files.extend(changes.iter().filter(|(_, text)| *text != "none"));
    files
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(format!("{name}.csv.gz"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, packed(text)).unwrap();
    }
    folder
}

fn zip(files: &[(&str, &str)], root: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(format!("{root}{name}.csv.gz"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&packed(text)).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn read_with(changes: &[(&'static str, &'static str)]) -> Dataset {
    read(folder(&with(changes)).path()).unwrap()
}

#[test]
fn every_table_ends_up_where_it_belongs() {
    let dataset = read_archive(Cursor::new(zip(&TOY, "ogbg_toy/")), "toy.zip").unwrap();
    assert_eq!((dataset.name.as_str(), dataset.len()), ("ogbg_toy", 3));
    let first = dataset.graphs.graph(0);
    assert_eq!((first.num_vertices(), first.num_edges()), (3, 2));
    assert_eq!(first.vertex_labels(), Some((&[5, 0, 5, 1, 7, 0][..], 2)));
    assert_eq!(first.edge_labels(), Some((&[0, 0, 0, 0, 1, 0, 1, 0][..], 2)), "both directions");
    assert_eq!(dataset.graphs.graph(1).num_vertices(), 1);
    assert_eq!(dataset.targets, Targets::numbers(vec![-0.77, 1.5, 2.0]));
    assert_eq!(dataset.target_names, ["solubility"]);
    assert_eq!(dataset.ids.as_deref().unwrap(), ["a", "b,c", "d"]);
    assert_eq!(dataset.parts.as_deref().unwrap(), [Part::Validation, Part::Test, Part::Train]);
    assert!(dataset.notes.is_empty());
}

#[test]
fn a_folder_and_archives_of_it_are_the_same() {
    let place = folder(&TOY);
    assert!(is_one(place.path()) && !is_one(&place.path().join("raw")));
    let dataset = read(place.path()).unwrap();
    for root in ["", "ogbg_toy/", "data/ogbg_toy/"] {
        let path = place.path().join("x.zip");
        fs::write(&path, zip(&TOY, root)).unwrap();
        assert!(is_one(&path));
        assert_eq!(Dataset { name: dataset.name.clone(), ..read(&path).unwrap() }, dataset);
    }
    let twice: Vec<_> = TOY.into_iter().chain([("b/raw/num-node-list", "1\n")]).collect();
    let error = read_archive(Cursor::new(zip(&twice, "")), "x.zip").unwrap_err();
    assert_eq!(error.to_string(), "x.zip: expected one file raw/num-node-list.csv.gz, found several");
}

#[test]
fn optional_tables_may_be_missing() {
    let bare = [
        ("raw/node-feat", "none"),
        ("raw/edge-feat", "none"),
        ("raw/graph-label", "none"),
        ("split/scaffold/train", "none"),
        ("mapping/mol", "none"),
    ];
    let dataset = read_with(&bare);
    assert_eq!((dataset.targets.is_empty(), dataset.parts, dataset.ids), (true, None, None));
    assert_eq!(dataset.graphs.graph(0).vertex_labels(), None);
    assert!(dataset.target_names.is_empty() && dataset.notes.is_empty());
}

#[test]
fn columns_with_fractions_are_attributes() {
    let dataset = read_with(&[("raw/node-feat", "1\n2\n3\n4\n5\n0.5\n"), ("raw/edge-feat", "1e0\n2\n3\n")]);
    assert_eq!(dataset.graphs.graph(0).vertex_attributes(), Some((vec![1.0, 2.0, 3.0].into(), 1)));
    assert_eq!(dataset.graphs.graph(2).vertex_attributes(), Some((vec![5.0, 0.5].into(), 1)));
    assert_eq!(dataset.graphs.graph(2).edge_attributes(), Some((&[3.0, 3.0][..], 1)));
}

#[test]
fn targets_are_classes_numbers_or_several() {
    let targets = |text: &'static str| read_with(&[("raw/graph-label", text)]).targets;
    assert_eq!(targets("0\n1\n0\n"), Targets::integers(vec![0, 1, 0]));
    assert_eq!(targets("0.0\n1\n0\n"), Targets::numbers(vec![0.0, 1.0, 0.0]));
    let Targets::Binary(rows) = targets("0,\n,1\nnan,NaN\n") else { panic!("0 and 1") };
    let shown: Vec<String> = rows.iter().map(f64::to_string).collect();
    assert_eq!(shown, ["0", "NaN", "NaN", "1", "NaN", "NaN"]);
    assert_eq!(targets("0,2\n1,1\n1,0.5\n"), Targets::Numbers(array![[0.0, 2.0], [1.0, 1.0], [1.0, 0.5]]));
}

#[test]
fn splits_that_say_too_little_or_too_much_are_not_used() {
    let dataset = read_with(&[("split/scaffold/test", "\n")]);
    assert_eq!(dataset.notes, ["ignoring the split 'scaffold', which lists only 2 of 3 graphs"]);
    let more = [("split/random/train", "0\n"), ("split/random/valid", "1\n"), ("split/random/test", "2\n")];
    let dataset = read_with(&more);
    assert_eq!(dataset.notes, ["ignoring the splits: there are several (random, scaffold)"]);
    assert_eq!(dataset.parts, None);
}

/// Replaces tables of the toy dataset and expects this error.
#[track_caller]
fn check(changes: &[(&'static str, &'static str)], sentence: &str) {
    let folder = folder(&with(changes));
    let error = read(folder.path()).unwrap_err().to_string();
    let error = error.replace(&folder.path().display().to_string(), "toy");
    assert_eq!(error, sentence);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check(&[("raw/edge", "none")], "toy: expected a file raw/edge.csv.gz, found none");
    check(
        &[("raw/edge", "0,1\n1,3\n0,1\n")],
        "toy/raw/edge.csv.gz, line 2: expected a vertex of graph 0, from 0 to 2, found '3'",
    );
    check(
        &[("raw/edge", "0,1\n1,2\n0,2\n")],
        "toy/raw/edge.csv.gz, line 3: expected a vertex of graph 2, from 0 to 1, found '2'",
    );
    check(
        &[("raw/edge", "0,1\n1\n0,1\n")],
        "toy/raw/edge.csv.gz, line 2: expected two vertex numbers, found '1'",
    );
    check(
        &[("raw/edge", "0,1\n1,2\n")],
        "toy/raw/edge.csv.gz: expected 3 lines, one for each of the edges that num-edge-list.csv.gz counts, found 2",
    );
    check(
        &[("raw/edge", "0,1\n1,2\n0,1\n0,1\n")],
        "toy/raw/edge.csv.gz, line 4: expected 3 edges, as num-edge-list.csv.gz says, found more",
    );
    check(
        &[("raw/num-edge-list", "2\n1\n")],
        "toy/raw/num-edge-list.csv.gz: expected 3 lines, one for each of the graphs, found 2",
    );
    check(
        &[("raw/num-node-list", "")],
        "toy/raw/num-node-list.csv.gz: expected a number of vertices for each graph, found an empty file",
    );
    check(
        &[("raw/num-node-list", "3\n-1\n2\n")],
        "toy/raw/num-node-list.csv.gz, line 2: expected a number of vertices, found '-1'",
    );
    check(
        &[("raw/num-node-list", "3\n4000000000\n4000000000\n")],
        "toy/raw/num-node-list.csv.gz, line 3: the sum up to this line is 8000000003, more than the limit of 4294967294",
    );
    check(
        &[("raw/num-node-list", "3\n4000000000\n2\n"), ("raw/node-feat", "none")],
        "toy: the number of vertices in a dataset with so few edges is 4000000005, more than the limit of 1048960",
    );
    check(
        &[("raw/node-feat", "5,0\n5\n7,0\n6,0\n5,0\n7,0\n")],
        "toy/raw/node-feat.csv.gz, line 2: expected 2 numbers as on line 1, found 1",
    );
    check(
        &[("raw/node-feat", "5,0\n")],
        "toy/raw/node-feat.csv.gz: expected 6 lines, one for each of the vertices, found 1",
    );
    check(
        &[("raw/edge-feat", "0\nx\n1\n")],
        "toy/raw/edge-feat.csv.gz, line 2: expected a finite number, found 'x'",
    );
    check(
        &[("raw/graph-label", "0\none\n1\n")],
        "toy/raw/graph-label.csv.gz, line 2: expected a finite number, or nan, found 'one'",
    );
    check(
        &[("split/scaffold/test", "2\n")],
        "toy/split/scaffold/test.csv.gz, line 1: expected a graph from 0 to 2, listed once, found 2 again",
    );
    check(
        &[("mapping/mol", "smiles,mol_id\nC,a\nC,b,c\nC,d\n")],
        "toy/mapping/mol.csv.gz, line 3: expected 2 values, as in the header, found 3",
    );
}

#[test]
fn damaged_and_bloated_tables_are_refused() {
    let place = folder(&TOY);
    let path = place.path().join("raw/edge.csv.gz");
    fs::write(&path, &packed("0,1\n1,2\n0,1\n")[..12]).unwrap();
    assert!(
        read(place.path()).unwrap_err().to_string().contains("raw/edge.csv.gz: expected a readable file")
    );
    // 100 MB of the same line, compressed to 100 kB.
    let mut bomb = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::best());
    let lines = "0,1\n".repeat(1 << 18);
    (0..100).for_each(|_| bomb.write_all(lines.as_bytes()).unwrap());
    bomb.finish().unwrap();
    fs::write(place.path().join("raw/num-edge-list.csv.gz"), packed("40000000\n0\n0\n")).unwrap();
    let error = read(place.path()).unwrap_err().to_string();
    assert!(error.ends_with("more than 200 bytes for every packed byte"), "{error}");
}

#[test]
fn mutated_tables_never_panic() {
    let mut random = stepwell::rng::Stream::new(0, "mutate", [0, 1]);
    for _ in 0..2000 {
        let mut files: Vec<(&str, Vec<u8>)> = TOY.iter().map(|(n, t)| (*n, t.as_bytes().to_vec())).collect();
        for _ in 0..1 + random.below(3) {
            let file = random.below(files.len());
            let text = &mut files[file].1;
            let at = random.below(text.len().max(1));
            match random.below(4) {
                0 => text.truncate(at),
                1 if !text.is_empty() => text[at] = b"0123456789,-. \n\r\"x"[random.below(18)],
                2 if !text.is_empty() => drop(text.remove(at)),
                _ => text.insert(at.min(text.len()), b"019,-\n"[random.below(6)]),
            }
        }
        let texts: Vec<(&str, String)> =
            files.into_iter().map(|(name, text)| (name, String::from_utf8(text).unwrap())).collect();
        let parts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut archive = zip(&parts, "");
        let _ = read_archive(Cursor::new(archive.clone()), "mutated.zip");
        let at = random.below(archive.len());
        archive[at] ^= 1 << random.below(8);
        let _ = read_archive(Cursor::new(archive), "flipped.zip");
    }
}
