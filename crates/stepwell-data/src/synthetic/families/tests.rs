use super::*;

fn generate(text: &str, seed: u64) -> Generated {
    Family::parse(text).unwrap().generate(seed).unwrap()
}

/// The number of vertices and edges, and the sorted degrees.
fn shape(text: &str) -> (usize, usize, Vec<usize>) {
    let generated = generate(text, 0);
    let graph = generated.graph.view();
    assert_eq!(graph.num_self_loops(), 0, "{text}");
    let mut degrees: Vec<usize> = (0..graph.num_vertices()).map(|v| graph.neighbours(v).len()).collect();
    degrees.sort_unstable();
    (graph.num_vertices(), graph.num_edges(), degrees)
}

#[test]
fn regular_families_have_their_counts_and_degrees() {
    assert_eq!(shape("grid:3x3"), (9, 12, vec![2, 2, 2, 2, 3, 3, 3, 3, 4]));
    assert_eq!(shape("grid:4x1"), shape("path:4"));
    assert_eq!(shape("grid:1x4"), shape("path:4"));
    assert_eq!(shape("star:4"), (5, 4, vec![1, 1, 1, 1, 4]));
    assert_eq!(shape("ring:5"), (5, 5, vec![2; 5]));
    assert_eq!(shape("complete:6"), (6, 15, vec![5; 6]));
    assert_eq!(shape("path:5"), (5, 4, vec![1, 1, 2, 2, 2]));
    for (width, height) in [(7, 5), (1, 9), (20, 30)] {
        let (vertices, edges, _) = shape(&format!("grid:{width}x{height}"));
        assert_eq!((vertices, edges), (width * height, width * (height - 1) + height * (width - 1)));
    }
}

#[test]
fn the_smallest_members_work() {
    let empty = (0, 0, vec![]);
    for text in ["grid:0x0", "grid:0x5", "grid:5x0", "ring:0", "complete:0", "path:0", "geometric:0:0.1"] {
        assert_eq!(shape(text), empty, "{text}");
    }
    assert_eq!(shape("erdos-renyi:0:0.5"), empty);
    assert_eq!(shape(&format!("grid:0x{}", usize::MAX)), empty, "rows without vertices cost nothing");
    assert_eq!(shape(&format!("grid:{}x0", usize::MAX)), empty);
    let lone = (1, 0, vec![0]);
    for text in ["grid:1x1", "star:0", "ring:1", "complete:1", "path:1", "geometric:1:9", "erdos-renyi:1:1"] {
        assert_eq!(shape(text), lone, "{text}");
    }
    let pair = (2, 1, vec![1, 1]);
    for text in ["grid:2x1", "star:1", "ring:2", "complete:2", "path:2", "geometric:2:2", "erdos-renyi:2:1"] {
        assert_eq!(shape(text), pair, "{text}");
    }
    assert_eq!(shape("barabasi-albert:2:1"), pair);
    assert_eq!(shape("ring:3"), shape("complete:3"));
}

#[test]
fn regular_edges_join_neighbours() {
    let grid = generate("grid:3x2", 0);
    let (graph, places) = (grid.graph.view(), grid.coordinates.unwrap());
    assert_eq!(places[4], [1.0, 1.0]);
    for u in 0..6 {
        for v in 0..6 {
            let apart = (places[u][0] - places[v][0]).abs() + (places[u][1] - places[v][1]).abs();
            assert_eq!(graph.neighbours(u).contains(&(v as u32)), apart == 1.0);
        }
    }
    let ring = generate("ring:7", 0).graph;
    assert!((0..7).all(|v| ring.view().neighbours(v).contains(&(((v + 1) % 7) as u32))));
}

#[test]
fn barabasi_albert_has_its_number_of_edges_in_one_component() {
    for (vertices, links) in [(2, 1), (10, 9), (50, 1), (500, 3), (300, 120)] {
        let (n, edges, degrees) = shape(&format!("barabasi-albert:{vertices}:{links}"));
        assert_eq!((n, edges), (vertices, links * (vertices - links)), "no link is repeated");
        assert!(degrees[0] >= 1 && degrees.iter().filter(|&&d| d < links).count() <= links);
        let family = Family::BarabasiAlbert { vertices, links };
        assert_eq!(family.generate(1).unwrap().graph.view().components().count(), 1);
    }
}

#[test]
fn erdos_renyi_has_its_mean_number_of_edges() {
    for (vertices, probability) in [(1000, 0.01), (1000, 0.5), (200, 0.9), (100_000, 0.00002)] {
        let family = Family::ErdosRenyi { vertices, probability };
        let pairs = (vertices * (vertices - 1) / 2) as f64;
        let found = family.generate(3).unwrap().graph.view().num_edges() as f64;
        let sigma = (pairs * probability * (1.0 - probability)).sqrt();
        assert!((found - pairs * probability).abs() < 5.0 * sigma, "{family}: {found}");
    }
    assert_eq!(shape("erdos-renyi:30:1"), shape("complete:30"));
    assert_eq!(shape("erdos-renyi:30:0").1, 0);
    assert_eq!(shape("erdos-renyi:30:1e-300").1, 0);
}

#[test]
fn geometric_has_its_mean_number_of_edges() {
    // Two points of the unit square are within r with probability πr² - 8r³/3 + r⁴/2.
    for radius in [0.02, 0.1, 0.4] {
        let family = Family::Geometric { vertices: 3000, radius };
        let expected = 3000.0 * 2999.0 / 2.0
            * (std::f64::consts::PI * radius.powi(2) - 8.0 / 3.0 * radius.powi(3) + radius.powi(4) / 2.0);
        let found: Vec<f64> =
            (0..8).map(|seed| family.generate(seed).unwrap().graph.view().num_edges() as f64).collect();
        let mean = found.iter().sum::<f64>() / 8.0;
        let variance = found.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / 7.0;
        // With eight values the standard error is rough: Student's t with 7 degrees of freedom.
        assert!((mean - expected).abs() < 8.0 * (variance / 8.0).sqrt(), "{family}: {mean}, not {expected}");
    }
    let spread = generate("geometric:3000:0.05", 0).coordinates.unwrap();
    let mean = spread.iter().flatten().sum::<f64>() / 6000.0;
    assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0f64).sqrt() / 6000f64.sqrt(), "{mean}");
    assert!(spread.iter().flatten().all(|c| (0.0..1.0).contains(c)));
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    for text in ["geometric:500:0.1", "barabasi-albert:500:3", "erdos-renyi:500:0.02"] {
        let on = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate(text, seed))
        };
        assert_eq!(on(1, 5), on(2, 5), "{text}");
        assert_ne!(on(1, 5), on(1, 6), "{text}");
    }
    assert_eq!(generate("grid:3x4", 0), generate("grid:3x4", 1));
}

#[test]
fn the_textual_form_is_read_back() {
    for text in [
        "grid:100x100",
        "geometric:1000:0.05",
        "barabasi-albert:1000:3",
        "erdos-renyi:1000:0.01",
        "star:100",
        "ring:100",
        "complete:50",
        "path:10",
    ] {
        assert_eq!(Family::parse(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "grid",
        "grid:",
        "grid:3",
        "grid:3x",
        "grid:3:4",
        "grid:3x4x5",
        "star:-1",
        "ring:2.5",
        "tree:5",
        "path:1:2",
    ] {
        let error = Family::parse(text).unwrap_err().to_string();
        assert!(
            error.contains("barabasi-albert:VERTICES:LINKS") && error.contains("path:VERTICES"),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_before_it_is_tried() {
    let huge = usize::MAX;
    for (text, expected) in [
        (format!("grid:{huge}x{huge}"), "the number of vertices is 18446744073709551615, more than"),
        ("grid:60000x60000".into(), "the number of edges is 7199880000, more than the limit of 2147483646"),
        (format!("star:{huge}"), "the number of vertices is"),
        (format!("ring:{huge}"), "the number of vertices is"),
        ("complete:70000".into(), "the number of edges is 2449965000"),
        (format!("path:{huge}"), "the number of vertices is"),
        ("erdos-renyi:1000000:0.5".into(), "the number of edges is"),
        (format!("erdos-renyi:{huge}:0"), "the number of vertices is"),
        ("erdos-renyi:10:1.5".into(), "expected a probability from 0 to 1, found 1.5"),
        ("erdos-renyi:10:nan".into(), "expected a probability from 0 to 1, found NaN"),
        ("geometric:1000000:2".into(), "the number of edges is"),
        ("geometric:10:-1".into(), "expected a finite radius of at least 0, found -1"),
        ("geometric:10:inf".into(), "expected a finite radius of at least 0, found inf"),
        ("barabasi-albert:10:0".into(), "expected at least 1 link and more vertices than links, found 0"),
        ("barabasi-albert:10:10".into(), "more vertices than links, found 10"),
        ("barabasi-albert:0:1".into(), "more vertices than links, found 1"),
        (format!("barabasi-albert:{huge}:2"), "the number of vertices is"),
        ("barabasi-albert:4000000000:2000000000".into(), "the number of edges is"),
    ] {
        let error = Family::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
