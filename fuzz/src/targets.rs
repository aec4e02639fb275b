//! What each fuzz target does with its bytes. `./test` includes this file and
//! replays the corpus through the same functions.

use std::io::{Cursor, Write};

use stepwell_data::{Dataset, Place, jsonl, npz, parquet, tud};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The target of that name.
pub fn run(target: &str, data: &[u8]) {
    match target {
        "tud" => read_tud(data),
        "npz" => read_npz(data),
        "jsonl" => drop(Dataset::collect(
            jsonl::Reader::new(data, Place::file("fuzz.jsonl")),
            &Place::file("fuzz.jsonl"),
        )),
        "parquet" => read_parquet(data),
        other => panic!("no fuzz target is called {other}"),
    }
}

/// A zip archive as it is; any other bytes are the text files, cut at 0xFF.
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
    // An empty piece stands for a file that is not there, except for the edges.
    let there = texts.filter(|(file, text)| **file == "A" || !text.is_empty());
    let archive = stored(there.map(|(file, text)| (format!("X_{file}.txt"), text)));
    drop(tud::read_archive(archive, "fuzz.zip"));
}

/// A zip archive as it is; any other bytes are the three arrays of each part, cut at four 0xFF.
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
