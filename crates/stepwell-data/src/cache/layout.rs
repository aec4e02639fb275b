//! The layout of a pyramid file, from the first byte to the last.
//!
//! A magic line, the format, the key and the number of levels come first. Each level follows: the
//! arrays of the graphs, of the matrices and of the kept vertices, and the notes. The file ends
//! with the [`Seal`] on everything before it. An array is its length and its items, all
//! little-endian; sizes and offsets take 64 bits.

use std::io::{self, Read, Write};

use stepwell::graph::GraphBatch;
use stepwell::pool::{Assignments, Notes};
use stepwell::pyramid::{Level, Pyramid};

use super::FORMAT;
use super::bytes::{Sink, Source};
use super::seal::Seal;
use crate::error::{Place, Result, quote};

const MAGIC: &[u8] = b"stepwell pyramid\n";

pub(super) fn write(out: impl Write, key: &str, pyramid: &Pyramid, seal: &Seal) -> io::Result<()> {
    let mut sink = Sink::new(out);
    sink.words(MAGIC)?;
    sink.words(&[FORMAT])?;
    sink.array(key.as_bytes())?;
    sink.words(&[pyramid.levels.len()])?;
    pyramid.levels.iter().try_for_each(|level| write_level(&mut sink, level))?;
    let (digest, mut out) = sink.finish();
    out.write_all(&seal.on(key, &digest))
}

fn write_level(sink: &mut Sink<impl Write>, level: &Level) -> io::Result<()> {
    let Level { graphs, assignments, kept, notes } = level;
    write_graphs(sink, graphs)?;
    sink.array(assignments.fine_offsets())?;
    sink.array(assignments.coarse_offsets())?;
    sink.array(assignments.row_starts())?;
    sink.array(assignments.columns())?;
    sink.array(assignments.values())?;
    sink.words(&[u8::from(assignments.takes_max())])?;
    sink.optional(kept.as_deref())?;
    let Notes { cuts_improved, vertices_lost, without_edges, fill_dropped, symmetrized } = *notes;
    sink.words(&[cuts_improved, vertices_lost, without_edges, fill_dropped, symmetrized])
}

/// Writes the structure of graphs, without labels and attributes.
pub(super) fn write_graphs(sink: &mut Sink<impl Write>, graphs: &GraphBatch) -> io::Result<()> {
    let directed: Vec<u8> = graphs.directed().iter().map(|&directed| u8::from(directed)).collect();
    sink.array(&directed)?;
    sink.array(graphs.vertex_offsets())?;
    sink.array(graphs.row_offsets())?;
    sink.array(graphs.neighbours())?;
    sink.optional(graphs.weights())
}

/// Reads `length` bytes and trusts none of them.
pub(super) fn read(
    input: impl Read,
    length: u64,
    place: Place,
    key: &str,
    levels: usize,
    graphs: &GraphBatch,
    seal: &Seal,
) -> Result<Pyramid> {
    let mut source = Source::new(input, length, place);
    let magic: Vec<u8> = source.words(MAGIC.len(), "magic line")?;
    if magic != MAGIC {
        return Err(source.malformed(quote(MAGIC), quote(&magic)));
    }
    let format: u32 = source.word("format")?;
    if format != FORMAT {
        return Err(source.malformed(format!("format {FORMAT}"), format.to_string()));
    }
    let found: Vec<u8> = source.array("key")?;
    if found != key.as_bytes() {
        return Err(source.malformed(format!("the pyramid {key}"), quote(&found)));
    }
    let count: usize = source.word("number of levels")?;
    if count != levels {
        return Err(source.malformed(format!("{levels} levels"), count.to_string()));
    }
    let mut pyramid = Pyramid::default();
    for _ in 0..levels {
        pyramid.levels.push(read_level(&mut source, levels)?);
    }
    pyramid.check(graphs).map_err(|error| source.refused(error))?;
    source.finish(|hash| seal.on(key, hash))?;
    Ok(pyramid)
}

fn read_level(source: &mut Source<impl Read>, levels: usize) -> Result<Level> {
    let graphs = read_graphs(source)?;
    let fine_offsets = source.array("fine offsets")?;
    let coarse_offsets = source.array("coarse offsets")?;
    let row_starts = source.array("row starts")?;
    let columns = source.array("columns")?;
    let values = source.array("values")?;
    let by_max = source.flag("largest states")?;
    let assignments =
        Assignments::from_arrays(fine_offsets, coarse_offsets, row_starts, columns, values, by_max)
            .map_err(|error| source.refused(error))?;
    let kept = source.optional("kept vertices")?;
    let mut note = || {
        // Notes are summed over the levels, so the sum must not overflow.
        let (count, limit): (usize, usize) = (source.word("notes")?, usize::MAX / levels.max(1));
        if count <= limit {
            Ok(count)
        } else {
            Err(source.malformed(format!("a note of at most {limit}"), count.to_string()))
        }
    };
    let notes = Notes {
        cuts_improved: note()?,
        vertices_lost: note()?,
        without_edges: note()?,
        fill_dropped: note()?,
        symmetrized: note()?,
    };
    Ok(Level { graphs, assignments, kept, notes })
}

fn read_graphs(source: &mut Source<impl Read>) -> Result<GraphBatch> {
    let flags: Vec<u8> = source.array("directed flags")?;
    if let Some(other) = flags.iter().find(|&&flag| flag > 1) {
        return Err(source.malformed("0 or 1 as the directed flag of each graph", other.to_string()));
    }
    let directed = flags.iter().map(|&flag| flag == 1).collect();
    let vertex_offsets = source.array("vertex offsets")?;
    let row_offsets = source.array("row offsets")?;
    let neighbours = source.array("neighbours")?;
    let weights = source.optional("weights")?;
    GraphBatch::from_arrays(directed, vertex_offsets, row_offsets, neighbours, weights)
        .map_err(|error| source.refused(error))
}
