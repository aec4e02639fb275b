use std::fs;
use std::thread;

use sha2::{Digest, Sha256};
use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::pool::ndp::Sparsify;
use stepwell::pool::{Pool, Reduce};
use stepwell::rng::Stream;

use super::bytes::DIGEST;
use super::*;
use crate::summary::LevelSummary;

fn go_on(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Random graphs, some directed or weighted, mixed with graphs of no vertex, of one vertex and of
/// no edge.
fn graphs(seed: u64, weighted: bool) -> GraphBatch {
    let mut stream = Stream::new(seed, "cache test", [0, 0]);
    let mut builder = BatchBuilder::default();
    for (n, edges) in [(0, 0), (9, 14), (1, 0), (5, 0), (12, 30), (1, 1), (2, 1), (8, 7), (0, 0)] {
        let mut end = || stream.below(n) as u32;
        let pairs = (0..edges).map(|_| (end(), end()));
        // In one direction only, so that the weights of repeated edges add up.
        let (sources, targets): (Vec<u32>, Vec<u32>) = pairs.map(|(a, b)| (a.min(b), a.max(b))).unzip();
        let weights: Vec<f64> = sources.iter().map(|_| stream.uniform_in(0.5, 2.0)).collect();
        let edges = EdgeList { directed: stream.uniform() < 0.2, ..EdgeList::new(n, &sources, &targets) };
        builder.push(&EdgeList { weights: weighted.then_some(&weights), ..edges }).unwrap();
    }
    builder.finish()
}

fn poolings() -> Vec<Pooling> {
    let by_max = Pooling { reduce: Reduce::Max, ..Pool::Graclus.into() };
    let deferred = Pooling { sparsify: Sparsify::Deferred, ..Pool::Ndp.into() };
    Pool::ALL.map(Pooling::from).into_iter().chain([by_max, deferred]).collect()
}

fn bytes_of(key: &str, pyramid: &Pyramid) -> Vec<u8> {
    let mut bytes = Vec::new();
    layout::write(&mut bytes, key, pyramid, &Seal::known()).unwrap();
    bytes
}

fn read(bytes: &[u8], key: &str, levels: usize, graphs: &GraphBatch) -> Result<Pyramid> {
    let place = Place::file("some.pyramid");
    layout::read(bytes, bytes.len() as u64, place, key, levels, graphs, &Seal::known())
}

/// Gives changed bytes the seal they should have.
fn seal(bytes: &mut [u8], key: &str) {
    if let Some(payload) = bytes.len().checked_sub(DIGEST) {
        let digest = Sha256::digest(&bytes[..payload]).into();
        bytes[payload..].copy_from_slice(&Seal::known().on(key, &digest));
    }
}

#[test]
fn a_forged_file_with_a_right_checksum_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PyramidCache::new(folder.path());
    let (batch, pooling) = (graphs(3, true), Pooling::from(Pool::Graclus));
    let built = coarsen(Some(&cache), &batch, &pooling, 1, go_on).unwrap().0;
    let key = key(&batch, &pooling, 1);
    let path = cache.path(&key);
    let whole = fs::read(&path).unwrap();
    // Another pyramid that fits the graphs: one weight is doubled.
    let mut forged = built.clone();
    let graphs = &built.levels[0].graphs;
    let weights = graphs.weights().unwrap().iter().map(|weight| 2.0 * weight).collect();
    let (offsets, rows) = (graphs.vertex_offsets().to_vec(), graphs.row_offsets().to_vec());
    let neighbours = graphs.neighbours().to_vec();
    forged.levels[0].graphs =
        GraphBatch::from_arrays(graphs.directed().to_vec(), offsets, rows, neighbours, Some(weights))
            .unwrap();
    forged.check(&batch).unwrap();
    let mut bytes = bytes_of(&key, &forged);
    let payload = bytes.len() - DIGEST;
    let plain: [u8; DIGEST] = Sha256::digest(&bytes[..payload]).into();
    // Sealed with a plain checksum, with the secret of another cache, and for another file.
    let own = Seal::open(folder.path()).unwrap().unwrap();
    for end in [plain, Seal::known().on(&key, &plain), own.on("another key", &plain)] {
        bytes[payload..].copy_from_slice(&end);
        fs::write(&path, &bytes).unwrap();
        let (found, warnings) = coarsen(Some(&cache), &batch, &pooling, 1, go_on).unwrap();
        assert_eq!(found, built);
        assert!(matches!(&warnings[..], [one] if one.contains("its signature is wrong")), "{warnings:?}");
        assert_eq!(fs::read(&path).unwrap(), whole, "built again");
    }
    // Only the owner's seal is accepted: the forgery itself was well-formed.
    bytes[payload..].copy_from_slice(&own.on(&key, &plain));
    fs::write(&path, &bytes).unwrap();
    assert_eq!(cache.load(&key, &batch, 1).unwrap(), Some(forged));
    // Without the secret, no file is accepted.
    fs::write(&path, &whole).unwrap();
    fs::remove_file(folder.path().join("seal")).unwrap();
    assert!(cache.load(&key, &batch, 1).unwrap_err().to_string().contains("a file 'seal' next to it"));
}

#[test]
fn what_is_loaded_is_what_was_stored() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PyramidCache::new(folder.path().join("new"));
    let (mut files, mut empty) = (0, GraphBatch::default());
    empty.append(&graphs(0, false).select(&[0])).unwrap();
    let batches = [graphs(1, false), graphs(2, true), GraphBatch::default(), empty];
    for batch in &batches {
        for pooling in poolings() {
            for levels in [1, 3] {
                let built = pooling.coarsen(batch, levels, go_on).unwrap();
                let key = key(batch, &pooling, levels);
                assert_eq!(cache.load(&key, batch, levels).unwrap(), None);
                cache.store(&key, &built).unwrap();
                assert_eq!(cache.load(&key, batch, levels).unwrap(), Some(built));
                files += 1;
            }
        }
    }
    assert_eq!(
        fs::read_dir(folder.path().join("new")).unwrap().count(),
        files + 1,
        "one file for each, and the seal"
    );
}

#[test]
fn the_key_is_a_hash_of_structure_and_settings() {
    // Two vertices joined by a weighted edge, in the documented layout: lengths and items.
    let edge = EdgeList { weights: Some(&[0.5]), ..EdgeList::new(2, &[0], &[1]) };
    let mut builder = BatchBuilder::default();
    builder.push(&EdgeList { vertex_labels: Some((&[7, 8], 1)), ..edge }).unwrap();
    let labelled = builder.finish();
    let pooling = Pooling::from(Pool::KMis);
    let settings = r#"{"method":"kmis","k":1,"reduce":"mean"}"#;
    let numbers = |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let mut bytes = RESULTS.to_le_bytes().to_vec();
    bytes.extend(numbers(&[settings.len() as u64]));
    bytes.extend(settings.as_bytes());
    bytes.extend(numbers(&[3, 1]));
    bytes.push(0);
    bytes.extend(numbers(&[2, 0, 2, 3, 0, 1, 2, 2]));
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend(numbers(&[2, 0.5f64.to_bits(), 0.5f64.to_bits()]));
    let expected: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(key(&labelled, &pooling, 3), expected);
    assert_eq!(key(&labelled.clone().bare(), &pooling, 3), expected, "labels do not matter");
}

#[test]
fn keys_differ_when_anything_does() {
    let one = |edges: EdgeList<'_>| {
        let mut builder = BatchBuilder::default();
        builder.push(&edges).unwrap();
        builder.finish()
    };
    let path = EdgeList::new(3, &[0, 1], &[1, 2]);
    let mut twice = one(path);
    twice.append(&one(path)).unwrap();
    let batches = [
        one(path),
        one(EdgeList { num_vertices: 4, ..path }),
        one(EdgeList::new(3, &[0, 0], &[1, 2])),
        one(EdgeList { directed: true, ..path }),
        one(EdgeList { weights: Some(&[1.0, 2.0]), ..path }),
        one(EdgeList { weights: Some(&[1.0, 2.000_000_000_000_001]), ..path }),
        twice,
        GraphBatch::default(),
    ];
    let mut poolings = poolings();
    poolings.push(Pooling { seed: 1, ..Pool::Graclus.into() });
    poolings.push(Pooling { tolerance: 1e-3, ..Pool::Nmf.into() });
    poolings.push(Pooling { delta: 0.01, ..Pool::Ndp.into() });
    let all = || {
        let pairs = batches.iter().flat_map(|batch| poolings.iter().map(move |pooling| (batch, pooling)));
        pairs.flat_map(|(batch, pooling)| [1, 2].map(|levels| key(batch, pooling, levels)))
    };
    let mut keys: Vec<String> = all().collect();
    assert!(all().eq(keys.iter().cloned()), "the same again");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), batches.len() * poolings.len() * 2);
}

#[test]
fn flipped_and_missing_bytes_are_problems() {
    let batch = graphs(3, true).select(&[1, 2, 3]);
    for pooling in poolings() {
        let pyramid = pooling.coarsen(&batch, 2, go_on).unwrap();
        let whole = bytes_of("a key", &pyramid);
        assert_eq!(read(&whole, "a key", 2, &batch).unwrap(), pyramid);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(read(&bytes, "a key", 2, &batch).is_err(), "byte {at} flipped");
            assert!(read(&whole[..at], "a key", 2, &batch).is_err(), "cut at {at}");
        }
        let longer = [&whole[..], b"x"].concat();
        assert!(read(&longer, "a key", 2, &batch).is_err(), "a byte too many");
    }
}

/// A forger can also forge the hash. The levels must then still be safe to use.
#[test]
fn mutated_files_are_problems_or_sound_pyramids() {
    let batch = graphs(4, true);
    let poolings = poolings();
    let whole: Vec<(Pyramid, Vec<u8>)> = poolings
        .iter()
        .map(|pooling| pooling.coarsen(&batch, 2, go_on).unwrap())
        .map(|pyramid| (pyramid.clone(), bytes_of("a key", &pyramid)))
        .collect();
    let mut sound = 0;
    for round in 0..2000 {
        let mut stream = Stream::new(round, "mutation", [0, 0]);
        let (pyramid, original) = &whole[stream.below(whole.len())];
        let mut bytes = original.clone();
        for _ in 0..1 + stream.below(3) {
            let at = stream.below(bytes.len());
            match stream.below(5) {
                0 => bytes[at] ^= 1 << stream.below(8),
                1 => bytes[at] = stream.bits() as u8,
                2 => drop(bytes.drain(at..(at + 1 + stream.below(16)).min(bytes.len()))),
                3 => bytes.insert(at, stream.bits() as u8),
                _ => {
                    // Some number becomes huge, or changes by one.
                    let at = at.min(bytes.len().saturating_sub(8));
                    let fill = [0xff, 0x7f, 0x00][stream.below(3)];
                    bytes[at..].iter_mut().take(8).for_each(|byte| *byte = fill);
                }
            }
        }
        if let Ok(found) = read(&bytes, "a key", 2, &batch) {
            assert_eq!(&found, pyramid, "the seal tells every change");
        }
        seal(&mut bytes, "a key");
        let Ok(found) = read(&bytes, "a key", 2, &batch) else { continue };
        sound += 1;
        found.check(&batch).unwrap();
        let _ = found.notes();
        for (number, level) in found.levels.iter().enumerate() {
            LevelSummary::of(number, &level.graphs);
            for (index, graph) in level.graphs.iter().enumerate() {
                graph.components();
                let states = vec![1.0; graph.num_vertices()];
                level.assignments.graph(index).lift(&states, 1).unwrap();
            }
            let _ = Pooling::from(Pool::Graclus).coarsen(&level.graphs, 1, go_on);
        }
    }
    assert!(sound > 50, "some only change a value, and are sound: {sound}");
}

#[test]
fn other_files_are_problems_that_say_so() {
    let batch = graphs(5, false);
    let pooling = Pooling::from(Pool::Ndp);
    let pyramid = pooling.coarsen(&batch, 2, go_on).unwrap();
    let whole = bytes_of("a key", &pyramid);
    let problem =
        |bytes: &[u8], key, levels, graphs| read(bytes, key, levels, graphs).unwrap_err().to_string();
    assert!(problem(&whole, "other", 2, &batch).contains("expected the pyramid other, found 'a key'"));
    assert!(problem(&whole, "a key", 3, &batch).contains("expected 3 levels, found 2"));
    assert!(problem(b"PK", "a key", 2, &batch).contains("bytes of magic line, found 0 bytes"));
    let fewer = batch.select(&[0, 1, 2]);
    assert!(problem(&whole, "a key", 2, &fewer).contains("graphs of a level: expected 3, found 9"));
    let order = batch.select(&[0, 2, 1, 3, 4, 5, 6, 7, 8]);
    assert!(
        problem(&whole, "a key", 2, &order).contains("graph 1, pooling 1: rows of S: expected 1, found 9")
    );
    let mut newer = whole.clone();
    newer[17] += 1;
    seal(&mut newer, "a key");
    assert!(problem(&newer, "a key", 2, &batch).contains("expected format 2, found 3"));
    // A length beyond any memory is compared with the bytes available.
    let mut huge = whole.clone();
    huge[42..50].fill(0xff);
    seal(&mut huge, "a key");
    assert!(problem(&huge, "a key", 2, &batch).contains("1 bytes of directed flags, found"));
}

#[test]
fn levels_that_do_not_fit_each_other_are_problems() {
    let batch = graphs(8, true);
    let pyramid = Pooling::from(Pool::Ndp).coarsen(&batch, 2, go_on).unwrap();
    let changes: [fn(&mut Pyramid); 6] = [
        |p| p.levels.swap(0, 1),
        |p| p.levels[1].graphs = p.levels[0].graphs.clone(),
        |p| p.levels[0].assignments = p.levels[1].assignments.clone(),
        |p| p.levels[0].kept.as_mut().unwrap().truncate(1),
        |p| p.levels[0].kept.as_mut().unwrap()[0] = 9,
        |p| p.levels[1].notes.fill_dropped = usize::MAX,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = pyramid.clone();
        change(&mut changed);
        assert!(read(&bytes_of("a key", &changed), "a key", 2, &batch).is_err(), "change {number}");
    }
}

#[test]
fn a_broken_file_is_built_again_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PyramidCache::new(folder.path());
    let batch = graphs(6, true);
    let pooling = Pooling::from(Pool::Graclus);
    let again = || coarsen(Some(&cache), &batch, &pooling, 2, go_on).unwrap();
    let (built, warnings) = again();
    assert!(warnings.is_empty());
    assert_eq!(coarsen(None, &batch, &pooling, 2, go_on).unwrap(), (built.clone(), Vec::new()));

    let path = cache.path(&key(&batch, &pooling, 2));
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let (found, warnings) = again();
    assert_eq!(found, built);
    assert!(
        matches!(&warnings[..], [one] if one.contains("rebuilding a cached pyramid: ") && one.contains(".pyramid, byte"))
    );
    assert_eq!(fs::read(&path).unwrap(), whole, "repaired");
    assert_eq!(again(), (built.clone(), Vec::new()));

    let stop = coarsen(Some(&cache), &batch, &pooling, 2, |_| ControlFlow::Break(()));
    assert_eq!(stop.unwrap_err(), stepwell::Error::Cancelled);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let (found, warnings) = again();
    assert_eq!((found, warnings.len()), (built.clone(), 2), "neither read nor written, yet there");
    let nowhere = PyramidCache::new(folder.path().join("file/below"));
    fs::write(folder.path().join("file"), "in the way").unwrap();
    assert_eq!(coarsen(Some(&nowhere), &batch, &pooling, 2, go_on).unwrap().0, built);
}

#[test]
fn writers_at_the_same_time_leave_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PyramidCache::new(folder.path());
    let batch = graphs(7, true);
    let pooling = Pooling::from(Pool::Nmf);
    let pyramid = pooling.coarsen(&batch, 3, go_on).unwrap();
    let key = key(&batch, &pooling, 3);
    cache.store(&key, &pyramid).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..30 {
                    cache.store(&key, &pyramid).unwrap();
                    assert_eq!(cache.load(&key, &batch, 3).unwrap().as_ref(), Some(&pyramid));
                }
            });
        }
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing but the seal is left beside it");
}
