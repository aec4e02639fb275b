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
        "npz" => drop(npz::read_from(Cursor::new(data), "fuzz.npz")),
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
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (file, text) in files.iter().zip(data.split(|&byte| byte == 0xFF)) {
        // An empty piece stands for a file that is not there, except for the edges.
        if *file == "A" || !text.is_empty() {
            zip.start_file(format!("X_{file}.txt"), stored).expect("in memory");
            zip.write_all(text).expect("in memory");
        }
    }
    let archive = zip.finish().expect("in memory").into_inner();
    drop(tud::read_archive(Cursor::new(archive), "fuzz.zip"));
}

fn read_parquet(data: &[u8]) {
    let place = Place::file("fuzz.parquet");
    if let Ok(reader) = parquet::Reader::new(bytes::Bytes::copy_from_slice(data), place.clone()) {
        drop(Dataset::collect(reader, &place));
    }
}
