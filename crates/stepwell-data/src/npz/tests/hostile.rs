//! Input crafted to crash, hang or fill the memory.

use stepwell::rng::Stream;

use super::*;

/// Pickles written by hand.
#[derive(Clone, Default)]
struct Pickle(Vec<u8>);

impl Pickle {
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn repeat(mut self, bytes: &[u8], times: usize) -> Self {
        self.0.extend_from_slice(&bytes.repeat(times));
        self
    }

    fn text(self, text: &str) -> Self {
        self.raw(&[0x8c, text.len() as u8]).raw(text.as_bytes())
    }

    fn integer(self, n: usize) -> Self {
        self.raw(&[0x8a, 8]).raw(&n.to_le_bytes())
    }

    fn shape(self, shape: &[usize]) -> Self {
        shape.iter().fold(self.raw(b"("), |pickle, &n| pickle.integer(n)).raw(b"t")
    }

    fn dtype(self, name: &str) -> Self {
        self.raw(b"cnumpy\ndtype\n").text(name).raw(b"\x85R")
    }

    /// An array to fill, without its data.
    fn array_up_to_data(self, dtype: &str, shape: &[usize]) -> Self {
        self.raw(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85R(K\x01")
            .shape(shape)
            .dtype(dtype)
            .raw(b"\x89")
    }

    fn array(self, dtype: &str, shape: &[usize], data: &[u8]) -> Self {
        let length = (data.len() as u32).to_le_bytes();
        self.array_up_to_data(dtype, shape).raw(b"B").raw(&length).raw(data).raw(b"tb")
    }

    /// An array of the `count` objects that `list` pushes.
    fn objects(self, count: usize, list: impl FnOnce(Self) -> Self) -> Self {
        list(self.array_up_to_data("O8", &[count]).raw(b"]")).raw(b"tb.")
    }

    /// A matrix without entries; in compressed formats it has `n + 1` starts.
    fn matrix(self, format: &str, n: usize) -> Self {
        let mut pickle =
            self.raw(format!("cscipy.sparse.{format}\n{format}_matrix\n").as_bytes()).raw(b")\x81}(");
        if format == "coo" {
            for key in ["row", "col"] {
                pickle = pickle.text(key).array("i4", &[0], &[]);
            }
        } else {
            pickle = pickle.text("indices").array("i4", &[0], &[]);
            pickle = pickle.text("indptr").array("i4", &[n + 1], &vec![0; 4 * (n + 1)]);
        }
        pickle.text("_shape").shape(&[n, n]).text("data").array("f4", &[0], &[]).raw(b"ub")
    }

    fn member(&self, count: usize) -> Vec<u8> {
        npy("|O", &format!("({count},)"), &[b"\x80\x04", &self.0[..]].concat())
    }
}

fn load(bytes: &[u8]) -> Result<Dataset> {
    read_from(Cursor::new(bytes), "x.npz")
}

/// Reads the valid file with these matrices and returns the error message.
fn refuse(pickle: &Pickle) -> String {
    load(&with(&[("tr_adj.npy", pickle.member(3))])).unwrap_err().to_string()
}

#[test]
fn handmade_pickles_work() {
    let matrices = Pickle::default()
        .objects(3, |list| list.raw(b"(").matrix("csr", 4).matrix("csc", 3).matrix("coo", 5).raw(b"e"));
    let dataset = load(&with(&[("tr_adj.npy", matrices.member(3))])).unwrap();
    assert_eq!(dataset.graphs.graph(2).num_vertices(), 5);
    assert_eq!(dataset.graphs.graph(0).num_entries(), 0);
}

#[test]
fn nesting_is_limited() {
    let million = 1_000_000;
    for opcode in [b"(", b"]", b"}", b")", b"N"] {
        let message = refuse(&Pickle::default().repeat(opcode, million));
        assert!(message.contains("expected at most 10000 values and marks nested"), "{message}");
    }
    let message = refuse(&Pickle::default().repeat(b"(]", million));
    assert!(message.contains("expected at most 10000 values and marks nested"), "{message}");
    let message = refuse(&Pickle::default().raw(b")").repeat(b"\x85", million).raw(b"."));
    assert!(message.contains("the memory for its objects is"), "{message}");
    // Deep, but small enough to be read to the end and dropped again.
    let message = refuse(&Pickle::default().raw(b")").repeat(b"\x85", 20_000).raw(b"."));
    assert!(message.contains("expected an array of objects, found a tuple of 1"), "{message}");
}

#[test]
fn sharing_and_circles_cost_nothing() {
    // Thirty lists, each holding the previous one ten times.
    let laughs = (0..30u8).fold(Pickle::default().raw(b"]q\0"), |pickle, level| {
        pickle.raw(b"](").repeat(&[b'h', level], 10).raw(&[b'e', b'q', level + 1])
    });
    assert!(refuse(&laughs.raw(b".")).contains("expected an array of objects, found a list of 10"));
    assert!(refuse(&Pickle::default().raw(b"]q\0h\0a.")).contains("found a list of 1"));
    let circle = Pickle::default().objects(3, |list| list.raw(b"q\0(h\0h\0h\0e"));
    assert!(refuse(&circle).contains("expected a sparse matrix, found a list of 3"));
    let noted = Pickle::default().raw(b"N").repeat(b"\x94", 1_000_000).raw(b".");
    assert!(refuse(&noted).contains("expected an array of objects, found None"));
    let message = refuse(&Pickle::default().raw(b"Nr\xff\xff\xff\xff."));
    assert!(message.contains("expected a memo index up to 0, found 4294967295"), "{message}");
    let message = refuse(&Pickle::default().raw(b"h\x07."));
    assert!(message.contains("expected one of the 0 values noted so far, found number 7"), "{message}");
}

#[test]
fn one_matrix_named_a_million_times_is_refused() {
    let million = 1_000_000;
    let adjacency = Pickle::default()
        .objects(million, |list| list.matrix("csr", 1000).raw(b"q\0a").repeat(b"h\0a", million - 1));
    let features = Pickle::default().objects(million, |list| {
        list.array("f4", &[1000, 1], &[0; 4000]).raw(b"q\0a").repeat(b"h\0a", million - 1)
    });
    let bytes = with(&[("tr_adj.npy", adjacency.member(million)), ("tr_feat.npy", features.member(million))]);
    let message = load(&bytes).unwrap_err().to_string();
    assert!(message.contains("the size of its graphs is"), "{message}");
}

#[test]
fn one_text_behind_many_arrays_is_not_decoded_many_times() {
    // This megabyte of text would take minutes if every array decoded it.
    let length = 1u32 << 20;
    let text = Pickle::default()
        .raw(b"c_codecs\nencode\nX")
        .raw(&length.to_le_bytes())
        .repeat(b"a", length as usize)
        .text("latin1")
        .raw(b"\x86Rq\0")
        .raw(b"cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x01\x85q\x03")
        .dtype("f4")
        .raw(b"q\x04");
    let many = text.objects(3, |list| list.repeat(b"h\x01h\x02\x85R(K\x01h\x03h\x04\x89h\0tba", 100_000));
    let message = refuse(&many);
    assert!(message.contains("as many objects as the shape (3,) says, found a list of 100000"), "{message}");
}

#[test]
fn vertices_without_a_byte_are_limited() {
    let n = 1 << 31;
    let adjacency = Pickle::default().objects(1, |list| list.matrix("coo", n).raw(b"a"));
    let features = Pickle::default().objects(1, |list| list.array("f4", &[n, 0], &[]).raw(b"a"));
    let classes = npy("<f8", "(1,)", &[0; 8]);
    let bytes = with(&[
        ("tr_adj.npy", adjacency.member(1)),
        ("tr_feat.npy", features.member(1)),
        ("tr_class.npy", classes),
    ]);
    let message = load(&bytes).unwrap_err().to_string();
    assert!(message.contains("the size of its graphs is"), "{message}");
}

#[test]
fn graphs_without_a_vertex_are_limited() {
    let count = 1_100_000;
    let shared = |list: Pickle| list.raw(b"q\0a").repeat(b"h\0a", count - 1);
    let adjacency = Pickle::default().objects(count, |list| shared(list.matrix("csr", 0)));
    let features = Pickle::default().objects(count, |list| shared(list.array("f4", &[0, 1], &[])));
    let classes = npy("|u1", &format!("({count},)"), &vec![0; count]);
    let bytes = with(&[
        ("tr_adj.npy", adjacency.member(count)),
        ("tr_feat.npy", features.member(count)),
        ("tr_class.npy", classes),
    ]);
    let message = load(&bytes).unwrap_err().to_string();
    assert!(message.contains("the size of its graphs is"), "{message}");
}

#[test]
fn sizes_are_compared_with_what_is_there() {
    let max = u64::MAX.to_le_bytes();
    let half = (1u64 << 63).to_le_bytes();
    for (opcode, size) in [
        (0x8du8, &max[..]),
        (0x8e, &half[..]),
        (0x96, &half[..]),
        (b'X', &max[..4]),
        (b'B', &max[..4]),
        (b'T', &max[..4]),
        (b'C', &max[..1]),
        (b'U', &max[..1]),
        (0x8c, &max[..1]),
        (0x8a, &max[..1]),
    ] {
        let message = refuse(&Pickle::default().raw(&[opcode]).raw(size).raw(b"abc"));
        assert!(message.contains(" more bytes, found 3"), "{opcode:#x}: {message}");
    }
    let message = refuse(&Pickle::default().raw(b"\x95").raw(&half));
    assert!(
        message.contains("expected a frame within the 0 bytes left, found 9223372036854775808"),
        "{message}"
    );
    for shape in [&[usize::MAX][..], &[usize::MAX / 2 + 1, 2], &[1 << 62; 30]] {
        let array = |list: Pickle| list.raw(b"(").repeat(b"N", 2).array("f8", shape, &[1, 2]).raw(b"e");
        assert!(!refuse(&Pickle::default().objects(3, array)).is_empty());
    }
    let message = refuse(&Pickle::default().shape(&[1; 33]).raw(b"0."));
    assert!(message.contains("found 0x30 '0' (nothing was executed)"), "{message}");
}

#[test]
fn what_is_no_pickle_of_arrays_is_refused() {
    fn check(opcodes: &[u8], expected: &str) {
        let message = refuse(&Pickle::default().raw(opcodes));
        assert!(message.contains(expected), "{opcodes:?}: {message}");
    }
    check(b"", "expected 1 more bytes, found 0");
    check(b".", "expected a value on the stack, found none");
    check(b"N.", "expected an array of objects, found None");
    check(b"N.N", "expected the end of the pickle to be the end of the file, found 1 more bytes");
    check(b"\x80\x06", "expected protocol 2, 3, 4 or 5, found 6");
    check(b"N(\x85", "expected a value on the stack, found none");
    check(b"Nt", "expected a mark on the stack, found none");
    check(b"NNa", "expected a list to append to, found None");
    check(b"}(Nu", "expected a value for every key, found a key alone");
    check(b"cnumpy\n", "expected a name that ends with its line, found nothing");
    check(b"cnumpy\nload\n", "found 'numpy.load' (nothing was executed)");
    check(b"\x8c\x05numpy\x8c\x04load\x93", "found 'numpy.load' (nothing was executed)");
    check(b"NN\x93", "expected the name of a module and a name in it, found None");
    check(b"cnumpy\nndarray\n)R", "expected the arguments of numpy.ndarray, found ()");
    check(
        b"cnumpy\ndtype\n\x8c\x02f2\x85R",
        "expected a boolean, integer, f4, f8 or object type, found 'f2'",
    );
    check(b"cnumpy\nndarray\n)\x81", "expected a class of sparse matrices, found 'numpy.ndarray'");
    check(b"N)R", "expected a function of NumPy, found None");
    check(b"NNb", "expected an array or a matrix to be filled, found None");
    check(
        b"cscipy.sparse.csr\ncsr_matrix\n)\x81Nb",
        "expected the state of an array or a matrix, found None",
    );
    check(b"X\x01\0\0\0\xff", "expected a string in UTF-8");
    check(b"S'x'\n", "found 0x53 'S' (nothing was executed)");
    check(b"\x8a\x09123456789", "expected an integer of at most 8 bytes, found 9");
    let attributes =
        Pickle::default().raw(b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(").repeat(b"NN", 65).raw(b"ub");
    check(&attributes.0, "expected the attributes of a matrix, found a dict of 65");
}

#[test]
fn archives_that_unfold_too_far_are_refused() {
    let bomb = with(&[("tr_adj.npy", vec![0; (64 << 20) + 1])]);
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    let error = load(&bomb).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "its unpacked size", .. }), "{error}");
    // The same with a small declared size, in the local header and in the directory.
    let size = ((64u32 << 20) + 1).to_le_bytes();
    let mut liar = bomb.clone();
    let places: Vec<usize> = (0..liar.len() - 4).filter(|&at| liar[at..at + 4] == size).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| liar[at..at + 4].copy_from_slice(&100u32.to_le_bytes()));
    assert!(load(&liar).is_err());
}

#[test]
fn pickles_of_tiny_graphs_stay_within_the_limits() {
    let count = 20_000;
    let graph = Pickle::default().matrix("csr", 1);
    let adjacency = Pickle::default().objects(count, |list| list.repeat(&graph.raw(b"a").0, count));
    let rows = Pickle::default().array("f4", &[1, 3], &[0; 12]).raw(b"a");
    let features = Pickle::default().objects(count, |list| list.repeat(&rows.0, count));
    let bytes = with(&[
        ("tr_adj.npy", adjacency.member(count)),
        ("tr_feat.npy", features.member(count)),
        ("tr_class.npy", npy("|u1", &format!("({count}, 3)"), &[1, 0, 0].repeat(count))),
    ]);
    assert_eq!(load(&bytes).unwrap().len(), count + 3);
}

/// Changes some bytes.
fn mutate(bytes: &mut Vec<u8>, stream: &mut Stream) {
    for _ in 0..=stream.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = stream.below(bytes.len());
        let end = (at + 1 + stream.below(16)).min(bytes.len());
        match stream.below(6) {
            0 => bytes[at] ^= 1 << stream.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'('][stream.below(6)],
            2 => bytes[at] = stream.bits() as u8,
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = stream.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at.max(bytes.len() / 2)),
        }
    }
}

#[test]
fn mutated_files_end_in_a_dataset_or_in_a_sentence() {
    let names = names_in("good");
    let (mut read, mut refused) = (0, 0);
    for round in 0..2000 {
        let mut stream = Stream::new(round, "mutation", [0, 0]);
        let name = format!("good/{}", names[stream.below(names.len())]);
        let mut members = members(&name);
        let bytes = if stream.below(4) == 0 {
            let mut bytes = fs::read(fixture(&name)).unwrap();
            mutate(&mut bytes, &mut stream);
            bytes
        } else {
            // With valid checksums, so that the mutations reach the arrays themselves.
            let member = stream.below(members.len());
            mutate(&mut members[member].1, &mut stream);
            pack(&members, CompressionMethod::Stored)
        };
        match load(&bytes) {
            Ok(dataset) => {
                assert_eq!(dataset.parts.as_ref().map(Vec::len), Some(dataset.len()));
                assert_eq!(dataset.targets.len(), dataset.len());
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("x.npz"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > 0 && refused > 1000, "{read} read, {refused} refused");
}
