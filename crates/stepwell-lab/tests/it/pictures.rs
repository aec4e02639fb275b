//! Pictures: bit-identical to the reviewed ones, on any number of threads, and small enough to
//! open.
//!
//! `STEPWELL_SNAPSHOTS=write cargo test -p stepwell-lab pictures` redraws the files in
//! `tests/snapshots`. Look at them before you commit them.

use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::{Path, PathBuf};

use ndarray::Array2;
use stepwell::graph::{BatchBuilder, EdgeList, Graph, GraphBatch};
use stepwell::pool::{Pool, Pooling};
use stepwell::pyramid::Pyramid;
use stepwell::rng::Stream;
use stepwell::targets::{Labels, Targets};
use stepwell_lab::picture::embedding::{Method, Vectors, plot};
use stepwell_lab::picture::explanation::{self, Shares};
use stepwell_lab::picture::page::{Cell, Page, Table};
use stepwell_lab::picture::{Format, Picture, Subject, pyramid};

pub fn check(name: &str, draw: impl Fn() -> Picture + Sync) {
    let on = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| draw().svg)
    };
    let drawn = on(1);
    assert_eq!(drawn, on(2), "{name} depends on threads");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var("STEPWELL_SNAPSHOTS").is_ok_and(|wish| wish == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &drawn).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == known, "{name} is not what was looked at; see the top of this file");
}

/// Points around as many corners as there are classes.
fn clouds(count: usize, classes: usize) -> (Array2<f64>, Vec<usize>) {
    let mut stream = Stream::new(1, "picture tests", [0, 0]);
    let of: Vec<usize> = (0..count).map(|row| row % classes).collect();
    let rows = Array2::from_shape_fn((count, 4), |(row, column)| {
        stream.normal() + if column == of[row] % 4 { 5.0 } else { 0.0 }
    });
    (rows, of)
}

fn scatter(count: usize, classes: usize, method: Method, name: impl Fn(usize) -> String) -> Picture {
    let (rows, of) = clouds(count, classes);
    let targets = Targets::Classes(Labels::Text(of.iter().map(|&class| name(class)).collect()));
    let ids: Vec<String> = (0..count).map(|graph| name(graph % 9)).collect();
    let vectors = Vectors {
        name: &name(0),
        rows: rows.view(),
        targets: &targets,
        ids: &ids,
        sizes: Some(&vec![7; count]),
    };
    plot(&vectors, method).unwrap().0
}

#[test]
fn points() {
    check("lda.svg", || scatter(45, 3, Method::Lda, |class| format!("class {class}")));
    check("two_classes.svg", || scatter(24, 2, Method::Lda, |class| format!("{class}")));
    check("regression.svg", || {
        let (rows, _) = clouds(30, 3);
        let targets = Targets::numbers((0..30).map(|graph| f64::from(graph * graph) / 10.0).collect());
        let ids: Vec<String> = (0..30).map(|graph| graph.to_string()).collect();
        let vectors =
            Vectors { name: "squares", rows: rows.view(), targets: &targets, ids: &ids, sizes: None };
        plot(&vectors, Method::Pca).unwrap().0
    });
}

/// A hostile name.
pub fn hostile(class: usize) -> String {
    [
        "\"'><script>alert(1)</script>".to_owned(),
        "x".repeat(10_000),
        "]]>&lt;\u{0}\u{7}\u{202e}".to_owned(),
        "<!-- ä中\u{1f409} -->\n\r\t".to_owned(),
    ][class % 4]
        .clone()
}

#[test]
fn hostile_names_are_text_and_short() {
    check("hostile.svg", || scatter(12, 4, Method::Pca, hostile));
    let page = scatter(12, 4, Method::Pca, hostile).html();
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    assert!(page.len() < 60_000 && !page.contains(&"x".repeat(500)));
    let mut table = Page::new(&hostile(0));
    table.subheading(&hostile(1));
    table.paragraph(&hostile(2));
    table.table(&Table {
        caption: hostile(0),
        header: vec![hostile(0), hostile(1)],
        rows: vec![vec![Cell::text(hostile(0)), Cell::text(hostile(3))]],
    });
    let page = table.finish();
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<!-- "));
}

/// Two rings that share an edge, with tails: like a molecule.
fn molecule() -> Graph {
    let from = [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 2, 10, 11];
    let to = [1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 4, 10, 11, 12];
    let labels = [6, 6, 6, 6, 6, 6, 6, 7, 6, 6, 7, 8, 8];
    Graph::new(&EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(13, &from, &to) }).unwrap()
}

fn pooling(name: &str) -> Pooling {
    Pool::ALL.into_iter().find(|pool| pool.name() == name).unwrap().into()
}

fn pooled(graph: &Graph, name: &str, levels: usize) -> Pyramid {
    pooling(name).coarsen(graph.as_batch(), levels, |_| Continue(())).unwrap()
}

fn drawn(graph: &Graph, pyramid: &Pyramid, name: &str) -> Picture {
    let subject =
        Subject { name, graph: graph.view(), coordinates: None, molecules: None, pyramid, index: 0 };
    pyramid::draw(&subject).unwrap().0
}

#[test]
fn pyramids() {
    for name in ["graclus", "ndp", "nmf", "kmis"] {
        let graph = molecule();
        check(&format!("{name}.svg"), || drawn(&graph, &pooled(&graph, name, 2), name));
    }
    // Directed and weighted, with several components, an isolated vertex and attributes.
    let edges = EdgeList {
        weights: Some(&[1.0, 0.2, 0.02, 3.0]),
        vertex_attributes: Some((&[0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], 1)),
        directed: true,
        ..EdgeList::new(8, &[0, 1, 2, 5], &[1, 2, 0, 6])
    };
    let graph = Graph::new(&edges).unwrap();
    check("parts.svg", || drawn(&graph, &Pyramid::default(), "parts"));
}

#[test]
fn explanations() {
    let graph = molecule();
    let pyramid = pooled(&graph, "ndp", 1);
    let coarse = pyramid.levels[0].graphs.num_vertices();
    let levels = vec![
        (0, (0..13).map(|vertex| f64::from(vertex) / 10.0 - 0.5).collect()),
        (1, (0..coarse).map(|vertex| 0.3 - vertex as f64 / 7.0).collect::<Vec<f64>>()),
    ];
    let vertices: Vec<f64> = (0..13).map(|vertex| f64::from(vertex % 5) / 4.0 - 0.4).collect();
    let shares = Shares { intercept: 0.25, decision: 1.5, levels, vertices };
    let subject = Subject {
        name: "molecule",
        graph: graph.view(),
        coordinates: None,
        molecules: None,
        pyramid: &pyramid,
        index: 0,
    };
    check("explanation.svg", || explanation::draw(&subject, &shares, "toward class bitter").unwrap());
    let wrong = Shares { vertices: vec![0.0; 3], ..shares.clone() };
    let error = explanation::draw(&subject, &wrong, "x").unwrap_err().to_string();
    assert_eq!(error, "contributions of a level: expected 13, found 3");
}

#[test]
fn explanations_of_a_vertex() {
    let drawn = |vertices: usize, vertex: usize| {
        let (from, to): (Vec<u32>, Vec<u32>) = (1..vertices as u32).map(|v| (v - 1, v)).unzip();
        let path = Graph::new(&EdgeList::new(vertices, &from, &to)).unwrap();
        let values: Vec<f64> =
            (0..vertices).map(|v| if v.abs_diff(vertex) < 4 { 0.5 } else { 0.0 }).collect();
        let decision = 1.0 + values.iter().sum::<f64>();
        let shares = Shares { intercept: 1.0, decision, levels: vec![(0, values.clone())], vertices: values };
        let pyramid = Pyramid::default();
        let (name, graph) = ("a path", path.view());
        let subject =
            Subject { name, graph, coordinates: None, molecules: None, pyramid: &pyramid, index: 0 };
        explanation::draw_vertex(&subject, &shares, vertex, "toward class odd").unwrap()
    };
    let whole = drawn(20, 7);
    assert_eq!(whole.svg.matches("<circle").count(), 20);
    assert!(whole.svg.contains("vertex 7, which is explained") && whole.notes.len() == 1);
    // Of a large graph, only the neighbourhood is drawn, with the original vertex numbers.
    let near = drawn(1000, 600);
    assert_eq!(near.svg.matches("<circle").count(), 250);
    assert!(near.svg.contains("vertex 600, which is explained") && near.svg.contains("vertex 724\n"));
    assert!(near.svg.contains("4.5000 = 1.0000 (intercept) + 3.5000 (vertices)"));
    assert_eq!(near.notes[1], "Of 1000 vertices the 250 nearest are drawn; the other 750 add 0 together.");
}

/// 4-nitrobenzonitrile with a sodium ion, in the feature set `default`.
fn atoms_and_bonds() -> Graph {
    let from = [0, 1, 2, 3, 4, 5, 0, 6, 3, 8, 8];
    let to = [1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10];
    let kinds = [4, 4, 4, 4, 4, 4, 1, 3, 1, 2, 1];
    // Element, charge, hydrogens.
    let atoms = [
        (6, 0, 0),
        (6, 0, 1),
        (6, 0, 1),
        (6, 0, 0),
        (6, 0, 1),
        (6, 0, 1),
        (6, 0, 0),
        (7, 0, 0),
        (7, 1, 0),
        (8, 0, 0),
        (8, -1, 0),
        (11, 1, 0),
    ];
    let labels: Vec<i32> = atoms
        .iter()
        .flat_map(|&(element, charge, hydrogens)| [element, 0, charge, hydrogens, 0, 0, 0, 0])
        .collect();
    let bonds: Vec<i32> = kinds.iter().flat_map(|&kind| [kind, 0, 0, 0]).collect();
    let edges = EdgeList::new(12, &from, &to);
    let (vertex_labels, edge_labels) = (Some((&labels[..], 8)), Some((&bonds[..], 4)));
    Graph::new(&EdgeList { vertex_labels, edge_labels, ..edges }).unwrap()
}

#[test]
fn molecules() {
    let graph = atoms_and_bonds();
    let flat = Pyramid::default();
    let (name, molecules) = ("nitrobenzonitrile", Some("default"));
    let view = graph.view();
    let subject = Subject { name, graph: view, coordinates: None, molecules, pyramid: &flat, index: 0 };
    let check = |svg: &str| {
        // Carbon is where lines meet; other atoms are written, over a halo.
        let mut written: Vec<&str> = svg
            .lines()
            .filter(|line| line.contains("atom halo"))
            .filter_map(|line| line.split_once('>')?.1.strip_suffix("</text>"))
            .collect();
        written.sort_unstable();
        assert_eq!(written, ["N", "Na⁺", "N⁺", "O", "O⁻"]);
        let lines = |class: &str| {
            let path = svg.lines().find(|line| line.contains(&format!("class=\"{class}\"")));
            path.map_or(0, |path| path.matches('M').count())
        };
        // Six aromatic bonds, three single, one double and one triple.
        assert_eq!((lines("edge bond"), lines("edge bond dashed")), (6 + 3 + 2 + 3, 6));
    };
    check(&pyramid::draw(&subject).unwrap().0.svg);
    let vertices: Vec<f64> = (0..12).map(|vertex| f64::from(vertex % 5) / 4.0 - 0.4).collect();
    let shares = Shares { intercept: 0.25, decision: 1.5, levels: vec![(0, vertices.clone())], vertices };
    let picture = explanation::draw(&subject, &shares, "prediction").unwrap();
    check(&picture.svg);
    // A long name stays inside the picture and does not hide the question.
    let long = "CC(C)".repeat(40) + "Br";
    let named = Subject { name: &long, ..subject };
    let picture = explanation::draw(&named, &shares, "toward class active").unwrap();
    let titles: Vec<&str> = picture.svg.lines().filter(|line| line.contains("class=\"title\"")).collect();
    assert!(titles.len() == 1 && titles[0].contains("…") && titles[0].contains("Br</text>"), "{titles:?}");
    assert!(picture.svg.contains(">toward class active</text>"));
    assert_eq!(picture.table.unwrap().header, ["level", "vertex", "atom", "adds"]);
    // Labels that do not fit the feature set are drawn as labels.
    let other = molecule();
    let named = Subject { name: "x", graph: other.view(), ..subject };
    assert_eq!(pyramid::draw(&named).unwrap().0, drawn(&other, &flat, "x"));
}

#[test]
fn odd_graphs_are_drawn_too() {
    let empty = Graph::new(&EdgeList::new(0, &[], &[])).unwrap();
    let loops = Graph::new(&EdgeList::new(1, &[0], &[0])).unwrap();
    let lonely = Graph::new(&EdgeList::new(5, &[], &[])).unwrap();
    for graph in [&empty, &loops, &lonely] {
        for name in Pool::ALL.map(Pool::name) {
            let picture = drawn(graph, &pooled(graph, name, 2), name);
            assert!(!picture.svg.contains("NaN") && !picture.svg.contains("inf"), "{name}");
        }
    }
    let graph = molecule();
    let pyramid = Pyramid::default();
    let subject = |coordinates| Subject {
        name: "",
        graph: graph.view(),
        coordinates,
        molecules: None,
        pyramid: &pyramid,
        index: 0,
    };
    let error = pyramid::draw(&subject(Some(&[[0.0; 2]; 4]))).unwrap_err().to_string();
    assert_eq!(error, "coordinates: expected 13, found 4");
    // Coordinates that contain NaN are not used.
    let unknown = [[f64::NAN; 2]; 13];
    assert_eq!(pyramid::draw(&subject(Some(&unknown))).unwrap(), pyramid::draw(&subject(None)).unwrap());
}

/// A grid with diagonals, some of them missing.
fn large(vertices: u32) -> GraphBatch {
    let side = vertices.isqrt();
    let mut stream = Stream::new(5, "large graph", [0, 0]);
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for vertex in 0..vertices {
        for step in [1, side, side + 1] {
            if vertex + step < vertices && stream.uniform() < 0.9 {
                from.push(vertex);
                to.push(vertex + step);
            }
        }
    }
    let mut builder = BatchBuilder::default();
    builder.push(&EdgeList::new(vertices as usize, &from, &to)).unwrap();
    builder.finish()
}

#[test]
fn many_points_and_vertices_stay_below_five_megabytes() {
    let page = scatter(5000, 6, Method::Lda, |class| format!("a class of graphs, {class}")).html();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    // NMF's levels are dense.
    for (name, vertices) in [("graclus", 3000), ("nmf", 600)] {
        let graphs = large(vertices);
        let pyramid = pooling(name).coarsen(&graphs, 2, |_| Continue(())).unwrap();
        let subject = Subject {
            name,
            graph: graphs.graph(0),
            coordinates: None,
            molecules: None,
            pyramid: &pyramid,
            index: 0,
        };
        let page = pyramid::draw(&subject).unwrap().0.html();
        assert!(page.len() < 5_000_000, "{name}: {} bytes", page.len());
    }
    let graphs = large(20_001);
    let pyramid = Pyramid::default();
    let subject = Subject {
        name: "",
        graph: graphs.graph(0),
        coordinates: None,
        molecules: None,
        pyramid: &pyramid,
        index: 0,
    };
    let error = pyramid::draw(&subject).unwrap_err().to_string();
    assert_eq!(error, "graph: expected at most 20000 vertices, found 20001");
}

#[test]
fn files_are_what_their_ending_says() {
    let folder = tempfile::tempdir().unwrap();
    let picture = scatter(12, 3, Method::Lda, |class| class.to_string());
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    picture.write(&at("a.svg")).unwrap();
    picture.write(&at("a.html")).unwrap();
    assert_eq!(fs::read_to_string(at("a.svg")).unwrap(), picture.svg);
    assert!(fs::read_to_string(at("a.html")).unwrap().starts_with("<!DOCTYPE html>"));
    let error = picture.write(&at("a.png")).unwrap_err().to_string();
    assert!(error.starts_with("out: expected a file that ends in .svg or .html, found "), "{error}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    assert!(matches!(Format::of(Path::new("x.html")), Ok(Format::Html)));
}

#[test]
fn a_plane_needs_what_it_shows() {
    let (rows, _) = clouds(9, 3);
    let ids: Vec<String> = (0..9).map(|graph| graph.to_string()).collect();
    let refused = |targets: &Targets, ids: &[String]| {
        let vectors = Vectors { name: "x", rows: rows.view(), targets, ids, sizes: None };
        plot(&vectors, Method::Lda).unwrap_err().to_string()
    };
    let real = Targets::numbers(vec![0.0; 9]);
    assert_eq!(
        refused(&real, &ids),
        "method: expected pca (lda needs classes), found lda with targets that are floats"
    );
    assert!(refused(&Targets::None, &ids).ends_with("found lda without targets"));
    assert_eq!(refused(&Targets::integers(vec![1; 4]), &ids), "targets: expected 9, found 4");
    assert_eq!(refused(&Targets::None, &ids[1..]), "ids: expected 9, found 8");
}
