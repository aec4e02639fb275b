use stepwell::rng::Stream;

use super::*;
use crate::rows::tests::*;
use stepwell::targets::Targets;

#[test]
fn what_python_wrote_is_read() {
    let found = read(&fixture("plain.jsonl")).unwrap();
    let sizes: Vec<usize> = (0..12).collect();
    let mut expected = fixture_dataset(&sizes);
    expected.name = "plain".into();
    expected.targets = Targets::numbers(
        (0..12).map(|g| if g % 2 == 1 { f64::from(g) / 8.0 } else { f64::from(g / 8) }).collect(),
    );
    expected.notes = vec!["key 'smiles' is not part of the schema and was ignored".into()];
    assert_eq!(found, expected);
}

#[test]
fn pieces_make_the_whole() {
    let line = r#"{"num_nodes":30,"src":[0,1],"dst":[1,2],"y":1,"other":0}"#;
    let text = format!("{line}\n").repeat(10_000);
    let pieces: Vec<Dataset> =
        Reader::new(text.as_bytes(), Place::file("many")).collect::<Result<_>>().unwrap();
    assert!(pieces.len() > 3);
    assert!(pieces.iter().all(|piece| piece.graphs.num_vertices() < 66_000));
    assert_eq!(pieces.iter().map(Dataset::len).sum::<usize>(), 10_000);
    assert_eq!(pieces.iter().map(|piece| piece.notes.len()).sum::<usize>(), 1, "a key is noted once");
}

#[test]
fn odd_lines_are_accepted() {
    let read = |text: &str| from_jsonl(text.as_bytes()).unwrap();
    assert_eq!(read("").len(), 0);
    assert_eq!(read("\u{feff}\r\n \n\t\r\n").len(), 0);
    let plain = read("{\"num_nodes\":2,\"src\":[0],\"dst\":[1]}");
    assert_eq!(read(" { \"dst\" : [ 1 ] , \"src\" : [ 0 ] , \"num_nodes\" : 2 } \r\n\r\n"), plain);
    let nulls =
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"y\":null,\"x\":null,\"weight\":null,\"directed\":null}";
    assert_eq!(read(nulls), plain);
    let mixed =
        "{\"num_nodes\":0,\"src\":[],\"dst\":[],\"y\":1}\n{\"num_nodes\":0,\"src\":[],\"dst\":[],\"y\":2e0}";
    assert_eq!(read(mixed).targets, Targets::numbers(vec![1.0, 2.0]));
}

#[test]
fn labels_may_be_several() {
    let read = |text: &str| from_jsonl(text.as_bytes()).unwrap().graphs;
    let several = "{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1,1],\"edge_label\":[[1,0,7],[2,0,-1]],\"node_label\":[[4,5],[4,6]]}";
    let graphs = read(several);
    assert_eq!(graphs.graph(0).edge_labels(), Some((&[1, 0, 7, 1, 0, 7, 2, 0, -1][..], 3)));
    assert_eq!(graphs.graph(0).vertex_labels(), Some((&[4, 5, 4, 6][..], 2)));
    // A list of one is a label; where there are no edges, it does not matter what they carry.
    let single = read("{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"edge_label\":[[9]]}");
    assert_eq!(single, read("{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"edge_label\":[9]}"));
    let bare = "{\"num_nodes\":1,\"src\":[],\"dst\":[],\"node_label\":[[4,4]]";
    let lines = [
        &format!("{bare},\"edge_label\":[]}}"),
        &format!("{bare}}}"),
        several,
        &format!("{bare}}}"),
        &format!("{bare},\"edge_label\":[]}}"),
        several,
    ];
    let joined = read(&lines.join("\n"));
    assert_eq!(joined.graph(5).edge_labels(), graphs.graph(0).edge_labels());
    assert_eq!(joined.edge_labels().map(|labels| (labels.width, labels.len())), Some((3, 6)));
    assert_eq!(
        from_jsonl(&to_jsonl(&from_jsonl(lines.join("\n").as_bytes()).unwrap())).unwrap().graphs,
        joined
    );
    let nothing = read("{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"edge_label\":[[]]}");
    assert_eq!(nothing, read("{\"num_nodes\":2,\"src\":[0],\"dst\":[1]}"));
}

/// The second of two lines is broken; what is said about it.
fn check(line: &str, expected: &str) {
    let first = r#"{"num_nodes":2,"src":[0],"dst":[1]}"#;
    let error = from_jsonl(format!("{first}\n{line}\n").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), format!("in.jsonl, line 2: {expected}"), "{line}");
}

#[test]
fn broken_lines_are_explained() {
    let none = "{\"num_nodes\":2,\"src\":[],\"dst\":[]";
    check(
        "{\"src\":[],\"dst\":[]}",
        "expected a key 'num_nodes' (the number of vertices, since those without edges appear in no list), found none",
    );
    check("{\"num_nodes\":1,\"dst\":[]}", "expected a key 'src' (where each edge begins), found none");
    check(
        "{\"num_nodes\":1,\"src\":[],\"dst\":null}",
        "expected a key 'dst' (where each edge ends), found none",
    );
    check(
        "{\"num_nodes\":-1,\"src\":[],\"dst\":[]}",
        "expected a whole number that is not negative in 'num_nodes', found integer `-1`",
    );
    check(
        "{\"num_nodes\":3.0,\"src\":[],\"dst\":[]}",
        "expected a whole number that is not negative in 'num_nodes', found floating point `3.0`",
    );
    check(
        "{\"num_nodes\":2147483648,\"src\":[],\"dst\":[]}",
        "'num_nodes' is 2147483648, more than the limit of 268435456",
    );
    check(
        "{\"num_nodes\":268435456,\"src\":[],\"dst\":[]}",
        "'num_nodes', beside the few numbers listed, is 268435456, more than the limit of 1048576",
    );
    check("{\"num_nodes\":2,\"src\":[0],\"dst\":[2]}", "edge 0 joins vertex 2, but the graph has 2 vertices");
    check(
        "{\"num_nodes\":2,\"src\":[-1],\"dst\":[1]}",
        "expected a list of whole numbers from 0 to 4294967295 in 'src', found integer `-1`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[4294967296],\"dst\":[1]}",
        "expected a list of whole numbers from 0 to 4294967295 in 'src', found integer `4294967296`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0.0],\"dst\":[1]}",
        "expected a list of whole numbers from 0 to 4294967295 in 'src', found floating point `0.0`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1]}",
        "expected 2 numbers in 'dst', as many as in 'src', found 1",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":\"1\"}",
        "expected a list of whole numbers from 0 to 4294967295 in 'dst', found string \"1\"",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[[1]]}",
        "expected a list of whole numbers from 0 to 4294967295 in 'dst', found sequence",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[null]}",
        "expected a list of whole numbers from 0 to 4294967295 in 'dst', found null",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[-1]}",
        "edge 0 has weight -1; expected a finite number that is not negative",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[]}",
        "expected 1 numbers in 'weight', as many as in 'src', found 0",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[NaN]}",
        r#"expected valid JSON, found '\"weight\":[NaN]}' around column 46 (expected value)"#,
    );
    check(&format!("{none},\"x\":[1]}}"), "expected 'x_dim' beside 'x', found none");
    check(&format!("{none},\"x_dim\":1}}"), "expected 'x' beside 'x_dim', found none");
    check(
        &format!("{none},\"x\":[1,2,3],\"x_dim\":2}}"),
        "expected 4 numbers in 'x' (2 vertices of 2), found 3",
    );
    check(
        &format!("{none},\"x\":[],\"x_dim\":99999999999}}"),
        "x_dim is 99999999999, more than the limit of 16777216",
    );
    let labels = "expected a list of integers of 32 bits, or of lists of them, in 'node_label'";
    for (found, told) in [
        ("[1,2147483648]", "integer `2147483648`"),
        ("[-2147483649]", "integer `-2147483649`"),
        ("[1.5]", "floating point `1.5`"),
        ("[\"C\"]", "string \"C\""),
        ("[[1],[null]]", "null"),
        ("[[[1]]]", "sequence"),
        ("7", "integer `7`"),
    ] {
        check(&format!("{none},\"node_label\":{found}}}"), &format!("{labels}, found {told}"));
    }
    check(
        &format!("{none},\"node_label\":[[1,2],[3]]}}"),
        "expected 2 integers in each list of 'node_label', as in the first, found 1 in list 1, counted from 0",
    );
    check(
        &format!("{none},\"node_label\":[1,[2]]}}"),
        "expected integers alone, or lists of integers alone, in 'node_label', found both",
    );
    check(
        &format!("{none},\"node_label\":[[1,2]]}}"),
        "expected 2 lists in 'node_label', as many as vertices, found 1",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0,0],\"dst\":[1,1],\"edge_label\":[1,2]}",
        "expected none in 'edge_label', as in the rows before, found a value",
    );
    check(
        &format!("{none},\"node_label\":[1,2]}}"),
        "expected none in 'node_label', as in the rows before, found a value",
    );
    check(
        &format!("{none},\"y\":1}}"),
        "expected none in 'y', as in the rows before, found a number; rows without a target can be predicted and embedded, but not stand beside others here",
    );
    check(
        &format!("{none},\"y\":[1]}}"),
        "expected a whole number of 64 bits, a real number or a text in 'y', found '[1]'",
    );
    check(
        &format!("{none},\"y\":99999999999999999999}}"),
        "expected a whole number of 64 bits, a real number or a text in 'y', found '99999999999999999999'",
    );
    check(
        &format!("{none},\"y\":1e999}}"),
        "expected a whole number of 64 bits, a real number or a text in 'y', found '1e999'",
    );
    check(
        &format!("{none},\"id\":7.5}}"),
        "expected a text or a whole number in 'id', found floating point `7.5`",
    );
    check(
        &format!("{none},\"pos\":[1,2,3]}}"),
        "expected 4 numbers in 'pos', as many as two per vertex, found 3",
    );
    check(&format!("{none},\"directed\":1}}"), "expected true or false in 'directed', found integer `1`");
    check(&format!("{none},\"src\":[]}}"), "expected every key once, found a second 'src'");
    check(
        none,
        r#"expected valid JSON, found '[],\"dst\":[]' around column 32 (EOF while parsing an object)"#,
    );
    check("[1,2]", "expected a JSON object, found sequence");
    check("{} {}", "expected valid JSON, found '{} {}' around column 4 (trailing characters)");
    check("\u{0}\u{1}", r"expected valid JSON, found '\0\u{1}' around column 1 (expected value)");
}

#[test]
fn an_edge_has_the_same_labels_wherever_it_is_listed() {
    let line =
        |labels: &str| format!("{{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1,0],\"edge_label\":{labels}}}");
    let second = |text: &str| {
        let text = format!("{}\n{text}", line("[[1,2],[1,2]]"));
        from_jsonl(text.as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(
        second(&line("[[1,2],[1,3]]")),
        "in.jsonl, line 2: edges 0 and 1 of the list both join 0 and 1, with different labels; give both directions the same, or make the graph directed"
    );
    assert_eq!(
        second(&line("[1,1]")),
        "in.jsonl, line 2: expected lists of 2 integers in 'edge_label', as in the rows before, found integers"
    );
    assert_eq!(
        second(&line("[[1],[1]]")),
        "in.jsonl, line 2: expected lists of 2 integers in 'edge_label', as in the rows before, found integers"
    );
    assert_eq!(
        second("{\"num_nodes\":2,\"src\":[0],\"dst\":[1]}"),
        "in.jsonl, line 2: expected lists of 2 integers in 'edge_label', as in the rows before, found none"
    );
}

#[test]
fn a_split_must_be_known_and_columns_alike() {
    let first = r#"{"num_nodes":1,"src":[],"dst":[],"split":"train","x":[1,2],"x_dim":2,"y":"a"}"#;
    let second = |text: &str| from_jsonl(format!("{first}\n{text}").as_bytes()).unwrap_err().to_string();
    assert_eq!(
        second(&first.replace("train", "dev")),
        "in.jsonl, line 2: expected one of 'train', 'validation', 'test' in 'split', found 'dev'"
    );
    assert_eq!(
        second(r#"{"num_nodes":1,"src":[],"dst":[],"split":"train","x":[1],"x_dim":1,"y":"a"}"#),
        "in.jsonl, line 2: expected 2 per row in 'x', as in the rows before, found 1 per row"
    );
    assert_eq!(
        second(r#"{"num_nodes":1,"src":[],"dst":[],"split":"train","x":[1,2],"x_dim":2,"y":1}"#),
        "in.jsonl, line 2: expected a string in 'y', as in the rows before, found a number"
    );
}

#[test]
fn lines_have_a_longest() {
    let mut bytes = Vec::new();
    let mut input = &b"12345\n123456789"[..];
    assert!(read_line(&mut input, &mut bytes, 6).unwrap());
    assert_eq!(bytes, b"12345\n");
    let error = read_line(&mut input, &mut bytes, 6).unwrap_err().at(Place::file("f").line(2));
    assert_eq!(error.to_string(), "f, line 2: the length of a line in bytes is 7, more than the limit of 6");
}

#[test]
fn hostile_lines_end_in_an_error() {
    for open in ["[", "{\"a\":", "{\"src\":["] {
        let error = from_jsonl(open.repeat(1 << 18).as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("in.jsonl, line 1: expected"), "{error}");
    }
    let nested = format!(
        "{{\"num_nodes\":1,\"src\":[],\"dst\":[],\"other\":{}{}}}",
        "[".repeat(9999),
        "]".repeat(9999)
    );
    assert_eq!(from_jsonl(nested.as_bytes()).unwrap().len(), 1, "what is ignored may be deep");
    let text = from_jsonl(b"{\"num_nodes\":1,\"src\":[],\"dst\":[],\"id\":\"\xff\"}").unwrap_err();
    assert_eq!(text.to_string(), "in.jsonl, line 1: expected UTF-8 text, found '\u{fffd}\\\"}'");
}

#[test]
fn reading_goes_on_behind_a_bad_line() {
    let good = "{\"num_nodes\":2,\"src\":[0],\"dst\":[1]}";
    let text = format!("{good}\n{{}}\n{good}\n\nno json\n{good}\n");
    let mut reader = Reader::new(text.as_bytes(), Place::file("x"));
    let mut errors = Vec::new();
    let mut graphs = Dataset::default();
    for piece in &mut reader {
        match piece {
            Ok(piece) => graphs.append(piece, &Place::file("x")).unwrap(),
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!(graphs.ids.unwrap(), ["0", "2", "4"], "positions among all rows");
    assert_eq!(errors.len(), 2);
    assert!(errors[0].starts_with("x, line 2") && errors[1].starts_with("x, line 5"), "{errors:?}");
}

#[test]
fn mutations_never_panic() {
    let valid = to_jsonl(&fixture_dataset(&[0, 1, 2, 5, 9]));
    let mut accepted = 0;
    for seed in 0..2000 {
        let bytes = mutate(&valid, &mut Stream::new(seed, "mutate lines", [0, 0]));
        accepted += usize::from(from_jsonl(&bytes).is_ok());
    }
    assert!((1..1900).contains(&accepted), "{accepted} of 2000 were accepted");
}
