//! The fuzz targets. `./test` includes this file and replays the corpus through the same functions.

use std::io::{Cursor, Write};

use flate2::Crc;
use sha2::{Digest, Sha256};
use stepwell::graph::{EdgeList, Graph};
use stepwell::model::Saved;
use stepwell::pool::{Pool, Pooling};
use stepwell_data::cache::{self, PyramidCache};
use stepwell_data::identity::Identity;
use stepwell_data::vectors::Partial;
use stepwell_data::{Dataset, Error, Place, jsonl, npz, ogb, parquet, tud};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Runs the target with that name.
pub fn run(target: &str, data: &[u8]) {
    match target {
        "tud" => read_tud(data),
        "ogb" => read_ogb(data),
        "npz" => read_npz(data),
        "jsonl" => drop(Dataset::collect(
            jsonl::Reader::new(data, Place::file("fuzz.jsonl")),
            &Place::file("fuzz.jsonl"),
        )),
        "parquet" => read_parquet(data),
        "model" => drop(Saved::from_bytes(data)),
        "cache" => read_cache(data),
        "partial" => read_partial(data),
        "arrow" => read_arrow(data),
        other => panic!("no fuzz target is called {other}"),
    }
}

/// Reads a zip archive unchanged; any other bytes are the text files, split at 0xFF.
fn read_tud(data: &[u8]) {
    if data.starts_with(b"PK") {
        return drop(tud::read_archive(Cursor::new(data), "fuzz.zip"));
    }
    let files = [
        "A",
        "graph_indicator",
        "graph_labels",
        "node_labels",
        "node_attributes",
        "edge_labels",
        "edge_attributes",
        "graph_attributes",
    ];
    let texts = files.iter().zip(data.split(|&byte| byte == 0xFF));
    // An empty piece means that the file is missing, except for the edges.
    let there = texts.filter(|(file, text)| **file == "A" || !text.is_empty());
    let archive = stored(there.map(|(file, text)| (format!("X_{file}.txt"), text)));
    drop(tud::read_archive(archive, "fuzz.zip"));
}

/// A gzip file of uncompressed blocks. (An encoder would spend most of a run on its tables.)
fn packed(text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = text.chunks(0xFFFF).peekable();
    loop {
        let block = blocks.next().unwrap_or_default();
        let is_last = blocks.peek().is_none();
        let length = block.len() as u16;
        bytes.push(is_last.into());
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(block);
        if is_last {
            break;
        }
    }
    let mut sum = Crc::new();
    sum.update(text);
    bytes.extend(sum.sum().to_le_bytes());
    bytes.extend(sum.amount().to_le_bytes());
    bytes
}

/// Reads a zip archive unchanged; a gzip file is the list of edges of one graph; any other bytes
/// are the tables, split at 0xFF.
fn read_ogb(data: &[u8]) {
    if data.starts_with(b"PK") {
        return drop(ogb::read_archive(Cursor::new(data), "fuzz.zip"));
    }
    if data.starts_with(b"\x1f\x8b") {
        let (vertices, edges) = (packed(b"9\n"), packed(b"3\n"));
        let tables = [("num-node-list", &vertices[..]), ("num-edge-list", &edges), ("edge", data)];
        let archive = stored(tables.into_iter().map(|(file, bytes)| (format!("raw/{file}.csv.gz"), bytes)));
        return drop(ogb::read_archive(archive, "fuzz.zip"));
    }
    let files = [
        "raw/num-node-list",
        "raw/num-edge-list",
        "raw/edge",
        "raw/node-feat",
        "raw/edge-feat",
        "raw/graph-label",
        "split/scaffold/train",
        "split/scaffold/valid",
        "split/scaffold/test",
        "mapping/mol",
    ];
    let texts = files.iter().zip(data.split(|&byte| byte == 0xFF));
    // An empty piece means that the file is missing, except for the first three.
    let there = texts.enumerate().filter(|(at, (_, text))| *at < 3 || !text.is_empty());
    let tables: Vec<_> = there.map(|(_, (file, text))| (format!("{file}.csv.gz"), packed(text))).collect();
    let archive = stored(tables.iter().map(|(file, bytes)| (file.clone(), &bytes[..])));
    drop(ogb::read_archive(archive, "fuzz.zip"));
}

/// Reads a zip archive unchanged; any other bytes are the three arrays of each part, split at four
/// 0xFF.
fn read_npz(data: &[u8]) {
    if data.starts_with(b"PK") {
        return drop(npz::read_from(Cursor::new(data), "fuzz.npz"));
    }
    let mut pieces = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(4).position(|window| window == [0xFF; 4]) {
        pieces.push(&rest[..at]);
        rest = &rest[at + 4..];
    }
    pieces.push(rest);
    let parts = ["tr", "val", "te"].into_iter().flat_map(|part| {
        let members = ["adj", "feat", "class"].into_iter().zip(pieces.clone());
        members.map(move |(member, bytes)| (format!("{part}_{member}.npy"), bytes))
    });
    drop(npz::read_from(stored(parts), "fuzz.npz"));
}

/// An archive of uncompressed parts, so that a changed byte reaches the parser.
fn stored<'a>(parts: impl Iterator<Item = (String, &'a [u8])>) -> Cursor<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in parts {
        zip.start_file(name, options).expect("in memory");
        zip.write_all(bytes).expect("in memory");
    }
    zip.finish().expect("in memory")
}

fn read_parquet(data: &[u8]) {
    let place = Place::file("fuzz.parquet");
    if let Ok(reader) = parquet::Reader::new(bytes::Bytes::copy_from_slice(data), place.clone()) {
        drop(Dataset::collect(reader, &place));
    }
}

/// Reads a pyramid of a path of four vertices. The data are sealed again with the secret of the
/// folder, so that mutations reach the parser.
fn read_cache(data: &[u8]) {
    let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3])).expect("a path");
    let key = cache::key(path.as_batch(), &Pooling::from(Pool::Graclus), 1);
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("seal");
    std::fs::write(&secret, [7; 32]).expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    }
    let inner = Sha256::digest([key.as_bytes(), Sha256::digest(data).as_slice()].concat());
    let seal = Sha256::digest([&[7; 32], inner.as_slice()].concat());
    let sealed = [data, seal.as_slice()].concat();
    std::fs::write(folder.path().join(format!("{key}.pyramid")), sealed).expect("a file");
    drop(PyramidCache::new(folder.path()).load(&key, path.as_batch(), 1));
}

/// Reads the blocks of a table, split at four 0xFF; each gets a valid checksum, after the line that
/// identifies them.
fn read_partial(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.partial");
    let made_of = Identity { settings: "fuzz".into(), checksums: Default::default() };
    let mut bytes = serde_json::to_vec(&made_of).expect("plain values");
    bytes.push(b'\n');
    let mut rest = data;
    while !rest.is_empty() {
        let end = rest.windows(4).position(|window| window == [0xFF; 4]).unwrap_or(rest.len());
        let block = &rest[..end];
        bytes.extend((block.len() as u64).to_le_bytes());
        bytes.extend(Sha256::digest(block));
        bytes.extend(block);
        rest = rest.get(end + 4..).unwrap_or_default();
    }
    std::fs::write(&path, bytes).expect("a file");
    drop(Partial::open(&path, &made_of, false, |_| Ok::<(), Error>(())));
}

fn read_arrow(data: &[u8]) {
    let Ok(stream) = parquet::Stream::new(data.to_vec()) else { return };
    let schema = stream.schema().clone();
    if let Ok(batches) = parquet::Batches::new(stream, &schema) {
        batches.for_each(drop);
    }
}
