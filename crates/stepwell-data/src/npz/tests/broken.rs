//! Each file has one fault, and reading it gives one error that names the place and the fault.

use super::*;

/// For each file in `testdata/npz/broken`, the location and the fault in its error message.
const SENTENCES: [(&str, &str, &str); 39] = [
    ("class-columns", "/val_class.npy", "expected 3 columns, as in the parts before, found 2"),
    ("class-fraction", "/tr_class.npy, byte 128", "expected a 64-bit integer, found 0.5"),
    ("column-negative", "/tr_adj.npy, byte ", "expected an index below 5, found -1"),
    ("column-too-large", "/tr_adj.npy, byte ", "expected an index below 5, found 5"),
    ("cut-archive", "", "expected a zip archive, found something else, or a damaged archive"),
    ("cut-header", "/tr_adj.npy, byte 10", "expected a header of 118 bytes, found 40 bytes"),
    ("cut-numbers", "/tr_class.npy, byte 128", "expected 36 bytes for an array of shape (3, 3), found 31"),
    ("cut-pickle", "/tr_adj.npy, byte 130", "expected a frame within the "),
    (
        "data-short",
        "/tr_adj.npy, byte ",
        "expected a matrix whose 'indices' has 5 elements, found the shape (6,)",
    ),
    (
        "data-square",
        "/tr_adj.npy, byte ",
        "'data' is an array with one index, found an array of shape (2, 3)",
    ),
    ("dense-adjacency", "/tr_adj.npy, byte ", "expected a sparse matrix, found an array of shape (4, 4)"),
    ("empty", "", "expected a zip archive, found something else"),
    (
        "empty-member",
        "/tr_adj.npy, byte 0",
        "expected a .npy file, which begins with '\\x93NUMPY', found nothing",
    ),
    ("eval", "/tr_feat.npy, byte ", "found '__builtin__.eval' (nothing was executed)"),
    ("feature-nan", "/tr_feat.npy, byte ", "attribute of vertex 0 is NaN; expected a finite number"),
    (
        "feature-rows",
        "/tr_feat.npy, byte ",
        "expected features of 4 vertices for graph 0 of this part, found the shape (5, 3)",
    ),
    (
        "fewer-classes",
        "/tr_class.npy",
        "expected the classes of 3 graphs, as many as adjacency matrices, found 2",
    ),
    ("fewer-features", "/tr_feat.npy", "expected 3 feature matrices, as many as adjacency matrices, found 2"),
    ("flipped-bit", "/tr_adj.npy", "expected an intact archive, found damaged data"),
    (
        "half-floats",
        "/tr_class.npy, byte ",
        "expected a boolean, integer, f4, f8 or object type, found '<f2'",
    ),
    (
        "indptr-beyond",
        "/tr_adj.npy, byte ",
        "expected an indptr that ends with at most 6, the number of data, found 7",
    ),
    (
        "indptr-falls",
        "/tr_adj.npy, byte ",
        "expected an indptr that never decreases (here at least 3), found 2",
    ),
    ("indptr-late", "/tr_adj.npy, byte ", "expected an indptr that begins with 0, found 1"),
    (
        "indptr-short",
        "/tr_adj.npy, byte ",
        "expected a matrix whose 'indptr' has 6 elements, found the shape (5,)",
    ),
    ("missing-member", "", "expected a member 'val_feat.npy', found 'tr_adj.npy', 'tr_feat.npy', "),
    ("negative-shape", "/tr_adj.npy, byte ", "expected the shape of a matrix, found (-5, -5)"),
    ("no-matrices", "/tr_adj.npy, byte ", "expected a sparse matrix, found None"),
    ("no-shape", "/tr_adj.npy, byte ", "expected the shape of a matrix, found None"),
    ("not-a-zip", "", "expected a zip archive, found something else"),
    (
        "not-an-array",
        "/tr_adj.npy, byte 0",
        "expected a .npy file, which begins with '\\x93NUMPY', found 'hello'",
    ),
    ("not-square", "/tr_adj.npy, byte ", "expected a square matrix, found the shape (5, 6)"),
    (
        "numbers-for-matrices",
        "/tr_adj.npy",
        "expected an array of sparse matrices, found numbers of shape (3,)",
    ),
    ("os-system", "/tr_adj.npy, byte 128", "found 'os.system' (nothing was executed)"),
    (
        "other-width",
        "/val_feat.npy, byte ",
        "the graphs before this one have 3 per vertex, this one has 2 per vertex",
    ),
    ("posix-system", "/tr_adj.npy, byte ", "found 'posix.system' (nothing was executed)"),
    (
        "structured-type",
        "/tr_class.npy, byte ",
        "expected a boolean, integer, f4, f8 or object type, found '[(",
    ),
    ("two-hot", "/tr_class.npy, row 0", "expected one 1, and zeros otherwise, found 3 ones"),
    ("weight-negative", "/tr_adj.npy, byte ", "edge 0 has weight -1; expected a finite number of at least 0"),
    (
        "weights-differ",
        "/tr_adj.npy, byte ",
        "undirected edge 0-4 has weight 1 in one direction and 4 in the other",
    ),
];

#[test]
fn every_fault_has_its_sentence() {
    let mut listed: Vec<String> = SENTENCES.iter().map(|(name, ..)| format!("{name}.npz")).collect();
    listed.sort();
    assert_eq!(names_in("broken"), listed);
    for (name, place, sentence) in SENTENCES {
        let path = fixture("broken").join(format!("{name}.npz"));
        let message = read(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}{place}", path.display())), "{name}: {message}");
        assert!(message.contains(sentence), "{name}: {message}");
        assert!(!message.contains('\n'), "{name}: {message}");
    }
}

#[test]
fn a_file_that_is_not_there_or_a_folder_is_the_systems_refusal() {
    for path in ["nowhere.npz", "good"] {
        assert!(matches!(read(&fixture(path)), Err(Error::Io { .. })), "{path}");
    }
}

#[test]
fn headers_follow_the_grammar() {
    fn check(header: &str, expected: &str) {
        let length = (header.len() as u16).to_le_bytes();
        let member = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
        let message = match npy::read(&member, &Place::file("x"), 64 << 20) {
            Ok(Content::Numbers(array)) => shown(&array.shape),
            Ok(Content::Objects(_)) => "objects".into(),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(expected), "{header}: {message}");
    }
    check("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "(2, 3)");
    check("{\"shape\":(7L,),\"descr\":\">i8\" , 'fortran_order':True}  \n", "(7,)");
    check("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "()");
    check("", "byte 10: expected '{', found nothing");
    check("{", "byte 11: expected a quoted name, found nothing");
    check("{'descr", "byte 11: expected a closing quote");
    check("{'descr' '<f4'}", "byte 19: expected ':', found '\\'<f4\\'}'");
    check("{'size': 3}", "byte 11: expected one of the keys 'descr', 'fortran_order', 'shape', found 'size'");
    check("{'descr': '<f4', 'fortran_order': None}", "expected True or False, found 'None}'");
    check(
        "{'descr': '<f4', 'fortran_order': False}",
        "expected the keys 'descr', 'fortran_order' and 'shape'",
    );
    check("{'shape': (-1,)}", "expected a length below 2⁶⁴, found '-1,)}'");
    check("{'shape': (99999999999999999999,)}", "expected a length below 2⁶⁴");
    check("{'shape': (1 2)}", "expected ')', found '2)}'");
    check(&format!("{{'shape': ({})}}", "1,".repeat(33)), "at most 32 dimensions");
    check(
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "expected the end of the header, found 'x'",
    );
    for (bytes, expected) in [
        (b"\x93NUMPY".as_slice(), "byte 6: expected a header, found nothing"),
        (b"\x93NUMPY\x01\x00\x05", "expected a header, found nothing"),
        (b"\x93NUMPY\x04\x00\x05\x00", "byte 6: expected version 1, 2 or 3 of the .npy format, found 4"),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            "byte 12: expected a header of 4294967295 bytes, found 0 bytes",
        ),
    ] {
        let message = npy::read(bytes, &Place::file("x"), 64 << 20).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
