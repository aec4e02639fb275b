use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::Dataset;
use stepwell::targets::Targets;

const TOY: [(&str, &str); 7] = [
    ("A", "1, 2\n2, 1\n2,3\n3 , 2\n5, 5\n"),
    ("graph_indicator", "1\n1\n1\n3\n3\n"),
    ("graph_labels", "-1\n1\n7\n"),
    ("node_labels", "4\n4\n-2\n0\n9\n"),
    ("node_attributes", "  0.5,  1\n  1.5,  2\n 2.5, 3\n3.5,4\n4.5,5e-1\n"),
    ("edge_labels", "1\n1\n3\n3\n0\n"),
    ("edge_attributes", "1.5\n1.5\n2.5\n2.5\n3.5\n"),
];

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (suffix, text) in files {
        fs::write(folder.path().join(format!("TOY_{suffix}.txt")), text).unwrap();
    }
    folder
}

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let mut files: Vec<_> =
        TOY.into_iter().filter(|(name, _)| !changes.iter().any(|c| c.0 == *name)).collect();
    files.extend(changes);
    files
}

#[test]
fn every_file_ends_up_where_it_belongs() {
    let dataset = read(folder(&TOY).path()).unwrap();
    assert_eq!((dataset.name.as_str(), dataset.len()), ("TOY", 3));
    assert_eq!(dataset.targets, Targets::integers(vec![-1, 1, 7]));
    let first = dataset.graphs.graph(0);
    assert_eq!((first.num_vertices(), first.num_edges()), (3, 2));
    assert_eq!(first.neighbours(1), [0, 2]);
    assert_eq!(first.vertex_labels().unwrap(), (&[4, 4, -2][..], 1));
    assert_eq!(first.vertex_attributes().unwrap(), (vec![0.5, 1.0, 1.5, 2.0, 2.5, 3.0].into(), 2));
    assert_eq!(first.edge_labels().unwrap(), (&[1, 1, 3, 3][..], 1));
    assert_eq!(dataset.graphs.graph(1).num_vertices(), 0, "a number the indicator leaves out");
    let last = dataset.graphs.graph(2);
    assert_eq!((last.num_vertices(), last.num_edges(), last.num_self_loops()), (2, 0, 1));
    assert_eq!(last.edge_attributes().unwrap(), (&[3.5][..], 1));
}

#[test]
fn edges_in_any_order_with_their_labels() {
    let changes = [
        ("A", "5, 5\n2, 1\n3, 2\n1, 2\n2, 3\n"),
        ("edge_labels", "0\n1\n3\n1\n3\n"),
        ("edge_attributes", "3.5\n1.5\n2.5\n1.5\n2.5\n"),
    ];
    assert_eq!(read(folder(&with(&changes)).path()).unwrap(), read(folder(&TOY).path()).unwrap());
}

#[test]
fn labels_may_be_several() {
    let changes =
        [("node_labels", "4,1\n4, 2\n-2 ,1\n0,1\n9,1\n"), ("edge_labels", "1,0\n1,0\n3,0\n3,0\n0,8\n")];
    let dataset = read(folder(&with(&changes)).path()).unwrap();
    assert_eq!(dataset.graphs.graph(0).vertex_labels(), Some((&[4, 1, 4, 2, -2, 1][..], 2)));
    assert_eq!(dataset.graphs.graph(2).edge_labels(), Some((&[0, 8][..], 2)));
    let place = tempfile::tempdir().unwrap();
    assert_eq!(round_trip(&dataset, &place.path().join("out")), dataset);
    assert!(dataset.notes.is_empty());
}

#[test]
fn directions_that_carry_something_else_make_graphs_directed() {
    let note = |what| {
        format!("the two directions of an edge carry different {what}: reading the graphs as directed")
    };
    let dataset = read(folder(&with(&[("edge_labels", "1\n2\n3\n3\n0\n")])).path()).unwrap();
    assert_eq!(dataset.notes, [note("labels")]);
    assert!(dataset.graphs.iter().all(|graph| graph.is_directed()));
    assert_eq!(dataset.graphs.graph(0).edge_labels(), Some((&[1, 2, 3, 3][..], 1)));
    assert_eq!(dataset.graphs.graph(0).neighbours(1), [0, 2]);
    let dataset = read(folder(&with(&[("edge_attributes", "1\n1\n2.5\n3\n0\n")])).path()).unwrap();
    assert_eq!(dataset.notes, [note("attributes")]);
    check(
        &[("A", "1, 2\n2, 1\n5, 5\n2, 3\n2, 3\n"), ("edge_labels", "1\n1\n0\n3\n4\n")],
        "TOY_A.txt, line 5: edges 2 and 3 of the list both join 1 and 2, with different labels; list the edge once",
    );
}

#[test]
fn repeats_line_ends_and_marks_do_not_matter() {
    let files = [
        ("A", "\u{feff}1, 2\r\n2, 1\r\n1 2\r\n\r\n"),
        ("graph_indicator", "1\r\n1\r\n"),
        ("graph_labels", "0"),
    ];
    let dataset = read(folder(&files).path()).unwrap();
    assert_eq!(dataset.graphs.graph(0).num_edges(), 1);
}

#[test]
fn real_targets_and_none() {
    let files = [("A", ""), ("graph_indicator", "1\n2\n"), ("graph_attributes", "0.25\n-3\n")];
    assert_eq!(read(folder(&files).path()).unwrap().targets, Targets::numbers(vec![0.25, -3.0]));
    assert_eq!(read(folder(&files[..2]).path()).unwrap().targets, Targets::None);
}

/// Replaces files of the toy dataset and expects this error.
#[track_caller]
fn check(changes: &[(&'static str, &'static str)], sentence: &str) {
    let folder = folder(&with(changes));
    let error = read(folder.path()).unwrap_err().to_string();
    let error = error.replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(error, sentence);
}

#[test]
fn broken_files_are_explained() {
    check(&[("A", "1, 2\nx, 2\n")], "TOY_A.txt, line 2: expected a vertex number from 1 to 5, found 'x'");
    check(&[("A", "1, 6\n")], "TOY_A.txt, line 1: expected a vertex number from 1 to 5, found '6'");
    check(&[("A", "0, 1\n")], "TOY_A.txt, line 1: expected a vertex number from 1 to 5, found '0'");
    check(
        &[("A", "1, 99999999999999999999999\n")],
        "TOY_A.txt, line 1: expected a vertex number from 1 to 5, found '99999999999999999999999'",
    );
    check(&[("A", "1, 2, 3\n")], "TOY_A.txt, line 1: expected two vertex numbers, found '1, 2, 3'");
    check(&[("A", "1\n")], "TOY_A.txt, line 1: expected two vertex numbers, found '1'");
    check(&[("A", "1, 2\n\n2, 1\n")], "TOY_A.txt, line 2: expected an edge, found an empty line");
    check(
        &[("A", "1, 4\n")],
        "TOY_A.txt, line 1: expected two vertices of one graph, found vertices of graphs 1 and 3",
    );
    check(
        &[("graph_indicator", "1\n2\n1\n3\n3\n")],
        "TOY_graph_indicator.txt, line 3: expected a graph number not below 2, as on the line before, found 1",
    );
    check(
        &[("graph_indicator", "0\n")],
        "TOY_graph_indicator.txt, line 1: expected a graph number from 1, found '0'",
    );
    check(
        &[("graph_indicator", "")],
        "TOY_graph_indicator.txt: expected a graph number for each vertex, found an empty file",
    );
    check(
        &[("graph_labels", "1\n2\n")],
        "TOY_graph_labels.txt: expected 3 lines, one for each of the graphs, found 2",
    );
    check(
        &[("graph_labels", "")],
        "TOY_graph_labels.txt: expected 3 lines, one for each of the graphs, found 0",
    );
    check(&[("graph_labels", "1\na\n3\n")], "TOY_graph_labels.txt, line 2: expected an integer, found 'a'");
    check(
        &[("node_labels", "1\n2\n3\n4\n99999999999\n")],
        "TOY_node_labels.txt, line 5: expected a 32-bit integer, found '99999999999'",
    );
    check(
        &[("node_labels", "1,2\n2,3\n3\n4,4\n5,5\n")],
        "TOY_node_labels.txt, line 3: expected 2 numbers as on line 1, found 1",
    );
    check(
        &[("edge_labels", "1\n")],
        "TOY_edge_labels.txt: expected 5 lines, one for each of the lines of _A.txt, found 1",
    );
}

#[test]
fn a_huge_jump_in_the_indicator_asks_for_no_memory() {
    let files = [("A", ""), ("graph_indicator", "1\n4000000000\n")];
    let error = read(folder(&files).path()).unwrap_err().to_string();
    assert!(
        error.contains("line 2: expected a graph number of at most") && error.ends_with("found 4000000000"),
        "{error}"
    );
}

#[test]
fn missing_files_are_named() {
    let folder = folder(&[("A", "1, 2\n")]);
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("expected a file TOY_graph_indicator.txt, found none"), "{error}");
    fs::write(folder.path().join("OTHER_A.txt"), "").unwrap();
    assert!(read(folder.path()).unwrap_err().to_string().contains("one file ending in _A.txt"));
    let empty = tempfile::tempdir().unwrap();
    assert!(read(empty.path()).unwrap_err().to_string().contains("a file ending in _A.txt, found none"));
}

fn zipped(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn an_archive_may_be_called_anything_and_hold_anything_else() {
    let parts: [(&str, &[u8]); 5] = [
        ("deep/down/X_A.txt", b"1,2\n2,1\n"),
        ("deep/down/X_graph_indicator.txt", b"1\n1\n"),
        ("deep/down/X_graph_labels.txt", b"5\n"),
        ("__MACOSX/deep/down/._X_A.txt", b"\x00\x05"),
        ("README.txt", b"hello"),
    ];
    let dataset = read_archive(Cursor::new(zipped(&parts)), "some.zip").unwrap();
    assert_eq!((dataset.name.as_str(), dataset.len()), ("X", 1));
}

#[test]
fn truncated_archives_and_bombs_are_refused() {
    let bytes = zipped(&[("X_A.txt", b"1,2\n"), ("X_graph_indicator.txt", b"1\n1\n")]);
    for length in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        let error = read_archive(Cursor::new(&bytes[..length]), "cut.zip").unwrap_err().to_string();
        assert!(error.starts_with("cut.zip: expected a zip archive"), "{error}");
    }
    let bomb = zipped(&[("X_A.txt", b""), ("X_graph_indicator.txt", &b"1\n".repeat(40 << 20))]);
    assert!(bomb.len() < 1 << 20);
    let error = read_archive(Cursor::new(bomb), "bomb.zip").unwrap_err().to_string();
    assert!(error.starts_with("bomb.zip/X_graph_indicator.txt: its unpacked size"), "{error}");
}

fn round_trip(dataset: &Dataset, path: &Path) -> Dataset {
    write(dataset, path, path.extension().is_some()).unwrap();
    read(path).unwrap()
}

#[test]
fn what_is_written_reads_back_equal() {
    let dataset = read(folder(&TOY).path()).unwrap();
    let place = tempfile::tempdir().unwrap();
    assert_eq!(round_trip(&dataset, &place.path().join("out")), dataset);
    assert_eq!(round_trip(&dataset, &place.path().join("out.zip")), dataset);
    assert!(lost(&dataset).is_empty());
}

#[test]
fn mutated_archives_never_panic() {
    let files: Vec<(String, &[u8])> =
        TOY.iter().map(|(suffix, text)| (format!("TOY_{suffix}.txt"), text.as_bytes())).collect();
    let mut random = stepwell::rng::Stream::new(0, "mutate", [0, 0]);
    for _ in 0..2000 {
        let mut files: Vec<(&str, Vec<u8>)> = files.iter().map(|(n, b)| (n.as_str(), b.to_vec())).collect();
        for _ in 0..1 + random.below(3) {
            let file = random.below(files.len());
            let text = &mut files[file].1;
            let at = random.below(text.len().max(1));
            match random.below(4) {
                0 => text.truncate(at),
                1 if !text.is_empty() => text[at] = b"0123456789,-. \n\r\0x"[random.below(18)],
                2 if !text.is_empty() => drop(text.remove(at)),
                _ => text.insert(at.min(text.len()), b"019,-\n"[random.below(6)]),
            }
        }
        let parts: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        let _ = read_archive(Cursor::new(zipped(&parts)), "mutated.zip");
        let mut raw = zipped(&parts);
        let at = random.below(raw.len());
        raw[at] ^= 1 << random.below(8);
        let _ = read_archive(Cursor::new(raw), "flipped.zip");
    }
}

#[cfg(unix)]
#[test]
fn what_is_there_but_cannot_be_read_is_no_reason_to_go_on_without_it() {
    let files = with(&[]);
    let files: Vec<_> = files.into_iter().filter(|(name, _)| *name != "node_labels").collect();
    for kind in ["a link to nothing", "a folder", "a pipe"] {
        let folder = folder(&files);
        let path = folder.path().join("TOY_node_labels.txt");
        match kind {
            "a folder" => fs::create_dir(&path).unwrap(),
            "a pipe" => {
                assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            }
            _ => std::os::unix::fs::symlink("nowhere", &path).unwrap(),
        }
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("TOY_node_labels.txt"), "{kind}: {error}");
    }
}

#[test]
fn files_that_are_not_read_are_told_of() {
    let more = [("node_label", "1\n"), ("README", "for people"), ("graph_attributes", "1\n")];
    let folder = folder(&[&TOY[..], &more].concat());
    fs::write(folder.path().join("README.txt"), "for people").unwrap();
    let notes = read(folder.path()).unwrap().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("'TOY_node_label.txt'") && notes[0].contains("'TOY_graph_attributes.txt'"),
        "{notes:?}"
    );
    assert!(notes[0].contains("were ignored"), "{notes:?}");
}
