//! Reads the one large file, `_A.txt`: parses it in parallel while the next blocks are read, checks
//! it against the graph indicator, and groups the edges by graph.

use std::io::Read;

use rayon::prelude::*;

use crate::error::{Error, Place, Result, quote};
use crate::memory;
use crate::text::{Blocks, integer};

/// The assignment of vertices to graphs, from the graph indicator.
pub(super) struct Layout {
    /// The graph of each vertex.
    graph_of: Vec<u32>,
    /// The first vertex of each graph, followed by the number of vertices.
    pub(super) first: Vec<u32>,
}

impl Layout {
    /// `graph_of` must ascend; `graphs` must exceed its last entry.
    pub(super) fn new(graph_of: Vec<u32>, graphs: usize) -> Self {
        let mut first = vec![0; graphs + 1];
        graph_of.iter().for_each(|&graph| first[graph as usize + 1] += 1);
        for graph in 0..graphs {
            first[graph + 1] += first[graph];
        }
        Self { graph_of, first }
    }

    pub(super) fn num_graphs(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn num_vertices(&self) -> usize {
        self.graph_of.len()
    }
}

/// The edges of all graphs, with vertices numbered inside their graph, grouped by graph.
pub(super) struct Edges {
    pub(super) sources: Vec<u32>,
    pub(super) targets: Vec<u32>,
    /// The first edge of each graph, followed by the number of edges.
    pub(super) first: Vec<usize>,
    /// The line of each edge, from 0; `None` if the file was already grouped.
    pub(super) line_of: Option<Vec<u32>>,
}

impl Edges {
    /// The line of an edge, from 1.
    pub(super) fn line(&self, edge: usize) -> u64 {
        self.line_of.as_ref().map_or(edge as u64, |line_of| u64::from(line_of[edge])) + 1
    }
}

/// The edges of one block.
#[derive(Default)]
struct Piece {
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// Runs of consecutive edges: the graph and the number of edges.
    runs: Vec<(u32, u32)>,
}

/// A line that is not an edge: its number in the block, the expected and the found text.
struct BadLine {
    line: u64,
    expected: String,
    found: String,
}

/// The number of blocks parsed together: enough for all threads.
const GROUP: usize = 8;

pub(super) fn read(reader: impl Read + Send, place: &Place, layout: &Layout) -> Result<Edges> {
    let mut blocks = Blocks::new(reader, place.clone());
    let mut edges = Collector::new(layout);
    let (mut group, mut next) = (vec![Vec::new(); GROUP], vec![Vec::new(); GROUP]);
    let mut count = read_group(&mut blocks, &mut group)?;
    while count > 0 {
        let (read, pieces) = rayon::join(
            || read_group(&mut blocks, &mut next),
            || group[..count].par_iter().map(|block| parse(block, layout)).collect::<Vec<_>>(),
        );
        for piece in pieces {
            edges.add(piece, place)?;
        }
        count = read?;
        std::mem::swap(&mut group, &mut next);
    }
    edges.finish(place)
}

/// Reads as many blocks as there are, at most as many as fit into `group`. Returns their number.
fn read_group<R: Read>(blocks: &mut Blocks<R>, group: &mut [Vec<u8>]) -> Result<usize> {
    for (index, block) in group.iter_mut().enumerate() {
        if !blocks.next_block(block)? {
            return Ok(index);
        }
    }
    Ok(group.len())
}

/// Joins the pieces in file order and checks whether the edges are grouped by graph.
struct Collector<'a> {
    layout: &'a Layout,
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// The graph of each edge, once the file proves not to be grouped.
    graphs: Option<Vec<u32>>,
    /// `counts[g + 1]` is the number of edges of graph g so far.
    counts: Vec<usize>,
    last_graph: u32,
    lines: u64,
    empty_line: Option<u64>,
}

impl<'a> Collector<'a> {
    fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            sources: Vec::new(),
            targets: Vec::new(),
            graphs: None,
            counts: vec![0; layout.num_graphs() + 1],
            last_graph: 0,
            lines: 0,
            empty_line: None,
        }
    }

    fn add(
        &mut self,
        piece: std::result::Result<(Piece, Option<u64>), BadLine>,
        place: &Place,
    ) -> Result<()> {
        let before = self.lines;
        let (piece, empty_line) = piece.map_err(|bad| match self.empty_line {
            Some(at) => Error::malformed(place.line(at), "an edge", "an empty line"),
            None => Error::malformed(place.line(before + bad.line), bad.expected, bad.found),
        })?;
        if let (Some(at), false) = (self.empty_line, piece.sources.is_empty()) {
            return Err(Error::malformed(place.line(at), "an edge", "an empty line"));
        }
        self.empty_line = self.empty_line.or(empty_line.map(|line| before + line));
        self.lines += piece.sources.len() as u64;
        let grouped = piece.runs.is_sorted_by_key(|run| run.0)
            && piece.runs.first().is_none_or(|&(graph, _)| graph >= self.last_graph);
        if !grouped && self.graphs.is_none() {
            // The edges so far were grouped by graph, so the counts give the graph of each edge.
            let so_far = self.counts[1..].iter().enumerate();
            self.graphs = Some(so_far.flat_map(|(g, &count)| std::iter::repeat_n(g as u32, count)).collect());
        }
        for &(graph, count) in &piece.runs {
            self.counts[graph as usize + 1] += count as usize;
            self.last_graph = graph;
            if let Some(graphs) = &mut self.graphs {
                graphs.extend(std::iter::repeat_n(graph, count as usize));
            }
        }
        self.sources.extend_from_slice(&piece.sources);
        self.targets.extend_from_slice(&piece.targets);
        Ok(())
    }

    fn finish(self, place: &Place) -> Result<Edges> {
        let Self { layout, sources, targets, graphs, counts: mut first, .. } = self;
        if sources.len() > u32::MAX as usize {
            let (limit, found) = (u64::from(u32::MAX), sources.len() as u64);
            return Err(Error::TooLarge { place: place.clone(), what: "the number of edges", limit, found });
        }
        for graph in 0..layout.num_graphs() {
            first[graph + 1] += first[graph];
        }
        let Some(graphs) = graphs else {
            return Ok(Edges { sources, targets, first, line_of: None });
        };
        memory::ask(place, "its edges in order", 12 * sources.len() as u64)?;
        // A stable counting sort by graph.
        let mut next = first.clone();
        let mut line_of = vec![0; sources.len()];
        for (line, graph) in graphs.into_iter().enumerate() {
            let slot = &mut next[graph as usize];
            line_of[*slot] = line as u32;
            *slot += 1;
        }
        let in_order = |ends: &[u32]| line_of.iter().map(|&line| ends[line as usize]).collect();
        Ok(Edges { sources: in_order(&sources), targets: in_order(&targets), first, line_of: Some(line_of) })
    }
}

/// Parses the edges of one block. Also returns the number of the first of the empty lines at its
/// end, if there are any.
fn parse(block: &[u8], layout: &Layout) -> std::result::Result<(Piece, Option<u64>), BadLine> {
    let expected_lines = block.len() / 12;
    let mut piece = Piece {
        sources: Vec::with_capacity(expected_lines),
        targets: Vec::with_capacity(expected_lines),
        runs: Vec::new(),
    };
    let vertices = layout.num_vertices() as u64;
    let (mut at, mut run) = (0, None::<(u32, u32)>);
    while at < block.len() {
        let begin = at;
        let pair = usual_line(block, &mut at).or_else(|| any_line(block, &mut at));
        // Missing or too long numbers are 0 and wrap around.
        let (source, target) = pair.map_or((u64::MAX, 0), |(s, t)| (s.wrapping_sub(1), t.wrapping_sub(1)));
        if source < vertices && target < vertices {
            let graph = layout.graph_of[source as usize];
            if graph == layout.graph_of[target as usize] {
                let first = layout.first[graph as usize];
                piece.sources.push(source as u32 - first);
                piece.targets.push(target as u32 - first);
                match &mut run {
                    Some((current, count)) if *current == graph => *count += 1,
                    _ => piece.runs.extend(run.replace((graph, 1))),
                }
                continue;
            }
        }
        let line = piece.sources.len() as u64 + 1;
        let text = line_at(block, begin);
        if text.trim_ascii().is_empty() {
            return match block[begin..].iter().position(|b| !b.is_ascii_whitespace()) {
                None => {
                    piece.runs.extend(run);
                    Ok((piece, Some(line)))
                }
                Some(_) => Err(BadLine { line, expected: "an edge".into(), found: "an empty line".into() }),
            };
        }
        let (expected, found) = explain(text, layout);
        return Err(BadLine { line, expected, found });
    }
    piece.runs.extend(run);
    Ok((piece, None))
}

/// Parses the usual form of a line: two numbers of at most seven digits, a comma, an optional
/// space, and the end. Advances only if the line has this form.
#[inline]
fn usual_line(block: &[u8], at: &mut usize) -> Option<(u64, u64)> {
    let word = |at: usize| block.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let (source, digits) = leading_digits(word(*at)?);
    let comma = *at + digits;
    if digits == 8 || block.get(comma) != Some(&b',') {
        return None;
    }
    let begin = comma + 1 + usize::from(block.get(comma + 1) == Some(&b' '));
    let (target, digits) = leading_digits(word(begin)?);
    if digits == 8 || block.get(begin + digits) != Some(&b'\n') {
        return None;
    }
    *at = begin + digits + 1;
    Some((source, target))
}

/// Two numbers separated by a comma or blanks, with any blanks around them.
fn any_line(block: &[u8], at: &mut usize) -> Option<(u64, u64)> {
    let source = number(block, at);
    let separated = separator(block, at);
    let target = number(block, at);
    skip_blanks(block, at);
    let ended = block.get(*at) == Some(&b'\n');
    *at += 1;
    (separated && ended).then_some((source, target))
}

fn skip_blanks(block: &[u8], at: &mut usize) {
    while matches!(block.get(*at), Some(b' ' | b'\t' | b'\r')) {
        *at += 1;
    }
}

/// A number of at most 18 digits after any blanks; 0 if there is none.
fn number(block: &[u8], at: &mut usize) -> u64 {
    skip_blanks(block, at);
    let begin = *at;
    let mut value = 0u64;
    while let Some(digit) = block.get(*at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        *at += 1;
    }
    if *at - begin > 18 { 0 } else { value }
}

/// The number spelled by the first bytes of a word (low bytes first) and its number of digits,
/// computed for all digits at once.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    let values = word ^ 0x3030_3030_3030_3030;
    // A byte above 9 sets its high bit; a carry only reaches bytes after the first such byte.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let digits = others.trailing_zeros() as usize / 8;
    if digits == 0 {
        return (0, 0);
    }
    // Shift zeros to the front, then combine pairs, fours and eights of digits.
    let values = values << (64 - 8 * digits);
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff, digits)
}

/// A comma between blanks, or blanks alone.
fn separator(block: &[u8], at: &mut usize) -> bool {
    let begin = *at;
    skip_blanks(block, at);
    if block.get(*at) == Some(&b',') {
        *at += 1;
    }
    *at > begin
}

fn line_at(block: &[u8], begin: usize) -> &[u8] {
    let end = memchr::memchr(b'\n', &block[begin..]).map_or(block.len(), |length| begin + length);
    &block[begin..end]
}

/// Explains why a line is not an edge.
fn explain(line: &[u8], layout: &Layout) -> (String, String) {
    let vertices = layout.num_vertices() as i64;
    let tokens: Vec<&[u8]> = line.split(|&b| b == b',').map(<[u8]>::trim_ascii).collect();
    let tokens: Vec<&[u8]> = match tokens[..] {
        [one] => one.split(|b| b.is_ascii_whitespace()).filter(|t| !t.is_empty()).collect(),
        _ => tokens,
    };
    if tokens.len() != 2 {
        return ("two vertex numbers".into(), quote(line));
    }
    let known = |token: &&[u8]| integer(token).is_some_and(|v| (1..=vertices).contains(&v));
    if let Some(bad) = tokens.iter().find(|token| !known(token)) {
        return (format!("a vertex number from 1 to {vertices}"), quote(bad));
    }
    let graph = |token| {
        let vertex = integer(token).unwrap_or(1);
        layout.graph_of[vertex as usize - 1] + 1
    };
    let (a, b) = (graph(tokens[0]), graph(tokens[1]));
    if a != b {
        return ("two vertices of one graph".into(), format!("vertices of graphs {a} and {b}"));
    }
    ("two vertex numbers".into(), quote(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_at_once() {
        for text in [
            "1,      ",
            "12345678",
            "90\n77777",
            "0000042 ",
            "1234567\r",
            "x2345678",
            "99999999",
            "5\u{7f}123456",
        ] {
            let expected: String = text.chars().take_while(char::is_ascii_digit).collect();
            let word = u64::from_le_bytes(text.as_bytes().try_into().unwrap());
            assert_eq!(leading_digits(word), (expected.parse().unwrap_or(0), expected.len()), "{text:?}");
        }
        assert_eq!(leading_digits(u64::from_le_bytes(*b"7\xff\xff\xff1234")), (7, 1));
    }

    #[test]
    fn numbers_of_any_length() {
        for text in ["3\n", " 123456789,", "123456789012345678 ", "1234567", "\t12"] {
            let mut at = 0;
            let expected: u64 = text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            assert_eq!(number(text.as_bytes(), &mut at), expected, "{text:?}");
            assert_eq!(at, text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
        }
        assert_eq!(number(b"1234567890123456789", &mut 0), 0, "too long for a vertex");
    }
}
