use stepwell::rng::Stream;

use super::*;
use crate::Untargeted;
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
    // A list of one label is a label; without edges, their labels do not matter.
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

/// Breaks the second of two lines and checks the error message.
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
        "expected a non-negative integer in 'num_nodes', found integer `-1`",
    );
    check(
        "{\"num_nodes\":3.0,\"src\":[],\"dst\":[]}",
        "expected a non-negative integer in 'num_nodes', found floating point `3.0`",
    );
    check(
        "{\"num_nodes\":2147483648,\"src\":[],\"dst\":[]}",
        "'num_nodes' is 2147483648, more than the limit of 268435456",
    );
    check(
        "{\"num_nodes\":268435456,\"src\":[],\"dst\":[]}",
        "'num_nodes', for the few numbers that the row lists, is 268435456, more than the limit of 1048576",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[2]}",
        "edge 0 joins vertex 2, but the graph has 2 vertices, numbered from 0",
    );
    check(
        "{\"num_nodes\":2,\"src\":[-1],\"dst\":[1]}",
        "expected a list of integers from 0 to 4294967295 in 'src', found integer `-1`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[4294967296],\"dst\":[1]}",
        "expected a list of integers from 0 to 4294967295 in 'src', found integer `4294967296`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0.0],\"dst\":[1]}",
        "expected a list of integers from 0 to 4294967295 in 'src', found floating point `0.0`",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1]}",
        "expected 2 numbers in 'dst', as many as in 'src', found 1",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":\"1\"}",
        "expected a list of integers from 0 to 4294967295 in 'dst', found string \"1\"",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[[1]]}",
        "expected a list of integers from 0 to 4294967295 in 'dst', found sequence",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[null]}",
        "expected a list of integers from 0 to 4294967295 in 'dst', found null",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[-1]}",
        "edge 0 has weight -1; expected a finite number of at least 0",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[]}",
        "expected 1 numbers in 'weight', as many as in 'src', found 0",
    );
    check(
        "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"weight\":[NaN]}",
        r#"expected valid JSON, found '"weight":[NaN]}' around column 46 (expected value)"#,
    );
    check(&format!("{none},\"x\":[1]}}"), "expected 'x_dim' together with 'x', found none");
    check(&format!("{none},\"x_dim\":1}}"), "expected 'x' together with 'x_dim', found none");
    check(
        &format!("{none},\"x\":[1,2,3],\"x_dim\":2}}"),
        "expected 4 numbers in 'x' (2 vertices of 2), found 3",
    );
    check(
        &format!("{none},\"x\":[],\"x_dim\":99999999999}}"),
        "x_dim is 99999999999, more than the limit of 16777216",
    );
    let labels = "expected a list of 32-bit integers, or of lists of them, in 'node_label'";
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
        "expected only integers, or only lists of integers, in 'node_label', found both",
    );
    check(
        &format!("{none},\"node_label\":[[1,2]]}}"),
        "expected 2 lists in 'node_label', one per vertex, found 1",
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
        "expected none in 'y', as in the rows before, found a number; give every row a class, or remove the class of every row (the commands 'train' and 'evaluate' skip rows without a class, 'embed', 'predict' and 'convert' keep them; in Rust: Untargeted::Skip, Untargeted::Keep)",
    );
    check(&format!("{none},\"y\":[1,\"a\"]}}"), "several targets must be numbers or 0/1, but 'y' holds 'a'");
    check(&format!("{none},\"y\":[]}}"), "expected at least one target in 'y', found an empty list");
    for nested in ["[[1]]", "[{}]", "[1e999]", "{}"] {
        check(
            &format!("{none},\"y\":{nested}}}"),
            &format!(
                "expected a 64-bit integer, a float, a string, a boolean or a list of numbers in 'y', found '{nested}'"
            ),
        );
    }
    let many = format!("[{}1]", "0,".repeat(1 << 14));
    check(&format!("{none},\"y\":{many}}}"), "the number of targets is 16385, more than the limit of 16384");
    check(
        &format!("{none},\"y\":99999999999999999999}}"),
        "expected a 64-bit integer, a float, a string, a boolean or a list of numbers in 'y', found '99999999999999999999'",
    );
    check(
        &format!("{none},\"y\":1e999}}"),
        "expected a 64-bit integer, a float, a string, a boolean or a list of numbers in 'y', found '1e999'",
    );
    check(
        &format!("{none},\"id\":7.5}}"),
        "expected a string or an integer in 'id', found floating point `7.5`",
    );
    check(&format!("{none},\"pos\":[1,2,3]}}"), "expected 4 numbers in 'pos', two per vertex, found 3");
    check(&format!("{none},\"directed\":1}}"), "expected true or false in 'directed', found integer `1`");
    check(&format!("{none},\"src\":[]}}"), "expected each key once, found a second 'src'");
    check(
        none,
        r#"expected one graph per line, as valid JSON, found '[],"dst":[]' around column 32 (EOF while parsing an object)"#,
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
        "in.jsonl, line 2: edges 0 and 1 of the list both join 0 and 1, with different labels; give both directions the same values, or make the graph directed"
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
        "in.jsonl, line 2: expected 2 numbers per vertex in 'x', as in the rows before, found 1 number per vertex"
    );
    assert_eq!(
        second(r#"{"num_nodes":1,"src":[],"dst":[],"split":"train","x":[1,2],"x_dim":2,"y":1}"#),
        "in.jsonl, line 2: expected a string in 'y', as in the rows before, found a number"
    );
}

/// One line for each target, or for other keys after the graph.
fn lines(more: &[&str]) -> String {
    more.iter()
        .map(|more| {
            let comma = if more.is_empty() { "" } else { "," };
            format!("{{\"num_nodes\":1,\"src\":[],\"dst\":[]{comma}{more}}}\n")
        })
        .collect()
}

fn read_with(more: &[&str], options: &ReadOptions) -> Result<Dataset> {
    let (text, place) = (lines(more), Place::file("in.jsonl"));
    Dataset::collect(Reader::with_options(text.as_bytes(), place.clone(), options)?, &place)
}

/// Rows of numbers as text, so that NaN equals NaN.
fn shown(targets: &Targets) -> String {
    match targets {
        Targets::Binary(rows) => format!("binary {rows:?}"),
        Targets::Numbers(rows) => format!("numbers {rows:?}"),
        other => format!("{other:?}"),
    }
}

fn rows(kind: &str, rows: &[&str]) -> String {
    let rows: Vec<Vec<f64>> =
        rows.iter().map(|row| row.split(' ').map(|value| value.parse().unwrap()).collect()).collect();
    let values = ndarray::Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap();
    shown(&if kind == "binary" { Targets::Binary(values) } else { Targets::Numbers(values) })
}

#[test]
fn lists_of_targets_are_binary_labels_or_numbers() {
    let read = |more: &[&str]| shown(&read_with(more, &ReadOptions::default()).unwrap().targets);
    let binary = ["\"y\":[0,null,1]", "\"y\":[true,false,1.0]", "\"y\":null", "", "\"y\":[null,null,null]"];
    assert_eq!(
        read(&binary),
        rows("binary", &["0 NaN 1", "1 0 1", "NaN NaN NaN", "NaN NaN NaN", "NaN NaN NaN"])
    );
    assert_eq!(read(&["", "\"y\":[2,null]"]), rows("numbers", &["NaN NaN", "2 NaN"]));
    assert_eq!(read(&["\"y\":[1]", "\"y\":[0]"]), rows("binary", &["1", "0"]));
    assert_eq!(read(&["\"y\":1.5", "", "\"y\":2"]), rows("numbers", &["1.5", "NaN", "2"]));
    let error = |more: &[&str]| read_with(more, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error(&["\"y\":[1,0]", "\"y\":[1]"]),
        "in.jsonl, line 2: expected a list of 2 targets in 'y', as in the rows before, found a list of one target"
    );
    assert_eq!(
        error(&["\"y\":1", "\"y\":[1]"]),
        "in.jsonl, line 2: expected a number in 'y', as in the rows before, found a list of one target"
    );
}

#[test]
fn binary_pieces_give_way_to_numbers() {
    let line = r#"{"num_nodes":30,"src":[],"dst":[],"y":[0,null]}"#;
    let text = format!("{line}\n").repeat(5_000) + &line.replace("[0,null]", "[0.5,1]");
    let pieces: Vec<Dataset> = Reader::new(text.as_bytes(), Place::file("f")).collect::<Result<_>>().unwrap();
    assert!(matches!(pieces[0].targets, Targets::Binary(_)));
    let whole = Dataset::collect(pieces.into_iter().map(Ok), &Place::file("f")).unwrap();
    let Targets::Numbers(found) = whole.targets else { panic!("{:?}", whole.targets) };
    assert_eq!((found.dim(), found[(5_000, 0)], found[(4_999, 0)]), ((5_001, 2), 0.5, 0.0));
}

#[test]
fn columns_are_named() {
    let named = |names: &[&str]| ReadOptions {
        targets: names.iter().map(|&name| name.to_owned()).collect(),
        ..ReadOptions::default()
    };
    let more = [
        "\"a\":1,\"b\":true,\"c\":\"x\",\"y\":{}",
        "\"a\":null,\"c\":\"z\"",
        "\"b\":false,\"c\":\"x\",\"a\":2",
    ];
    let found = read_with(&more, &named(&["b", "a"])).unwrap();
    assert_eq!(shown(&found.targets), rows("numbers", &["1 1", "NaN NaN", "0 2"]));
    assert_eq!(found.target_names, ["b", "a"]);
    assert_eq!(found.notes, ["key 'c' is not part of the schema and was ignored"]);
    let found = read_with(&more, &named(&["c"])).unwrap();
    assert_eq!(found.targets, Targets::Classes(["x", "z", "x"].into_iter().collect()));
    assert_eq!(found.target_names, ["c"]);
    let error = |names: &[&str]| read_with(&more, &named(names)).unwrap_err().to_string();
    assert_eq!(
        error(&["a", "c"]),
        "in.jsonl, line 1: several targets must be numbers or 0/1, but 'c' holds 'x'; pass one target to predict classes by name"
    );
    assert_eq!(error(&["A"]), "in.jsonl: expected a key 'A', found 'a', 'b', 'c'");
    assert!(
        error(&["a"])
            .starts_with("in.jsonl, line 2: expected a number in 'a', as in the rows before, found none")
    );
    assert_eq!(error(&["x"]), "in.jsonl: expected a target column, found 'x', which describes the graph");
    assert_eq!(read_with(&[], &named(&["a"])).unwrap().len(), 0);
}

#[test]
fn rows_without_a_target_are_refused_left_out_or_kept() {
    let read =
        |more: &[&str], untargeted| read_with(more, &ReadOptions { untargeted, ..ReadOptions::default() });
    let more = ["", "\"y\":7", "\"y\":null", "\"y\":8", ""];
    let refused = read(&more, Untargeted::Refuse).unwrap_err().to_string();
    assert!(
        refused.starts_with("in.jsonl, line 2: expected none in 'y', as in the rows before, found a number")
    );
    let left = read(&more, Untargeted::Skip).unwrap();
    assert_eq!((left.targets, left.left_out), (Targets::integers(vec![7, 8]), 3));
    assert_eq!(left.ids.unwrap(), ["1", "3"], "positions among all rows");
    let kept = read(&more, Untargeted::Keep).unwrap();
    assert_eq!((&kept.targets, kept.len(), kept.untargeted()), (&Targets::None, 5, 3));
    let known = kept.some_classes.unwrap();
    assert_eq!((known.rows, known.targets), (vec![1, 3], Targets::integers(vec![7, 8])));
    let nothing = read(&["", ""], Untargeted::Skip).unwrap();
    assert_eq!((nothing.len(), nothing.left_out), (0, 2));
    let several = ["\"y\":[1,0]", "\"y\":[null,null]", "\"y\":[null,1]"];
    assert_eq!(shown(&read(&several, Untargeted::Skip).unwrap().targets), rows("binary", &["1 0", "NaN 1"]));
    let all = rows("binary", &["1 0", "NaN NaN", "NaN 1"]);
    for untargeted in [Untargeted::Refuse, Untargeted::Keep] {
        assert_eq!(shown(&read(&several, untargeted).unwrap().targets), all);
    }
}

#[test]
fn groups_are_read() {
    let grouped = |name: &str| ReadOptions { groups: Some(name.into()), ..ReadOptions::default() };
    let more = ["\"g\":\"a\",\"id\":\"p\"", "\"g\":7,\"id\":\"p\""];
    assert_eq!(read_with(&more, &grouped("g")).unwrap().groups.unwrap(), ["a", "7"]);
    assert_eq!(read_with(&more, &grouped("id")).unwrap().groups.unwrap(), ["p", "p"]);
    let error = |more: &[&str]| read_with(more, &grouped("g")).unwrap_err().to_string();
    assert_eq!(error(&["\"g\":1", ""]), "in.jsonl, line 2: expected a group in 'g', found none");
    assert_eq!(
        error(&["\"g\":1.5"]),
        "in.jsonl, line 1: expected a string or an integer in 'g', found '1.5'"
    );
    assert_eq!(error(&["\"g\":1,\"g\":2"]), "in.jsonl, line 1: expected each key once, found a second 'g'");
}

#[test]
fn unknown_targets_are_written_as_null() {
    let text = lines(&["\"y\":[0,null]", "\"y\":[1,1]"]);
    assert_eq!(to_jsonl(&from_jsonl(text.as_bytes()).unwrap()), text.as_bytes());
    let text = lines(&["\"y\":[0.0,null]", "\"y\":[1.5,1.0]"]);
    assert_eq!(to_jsonl(&from_jsonl(text.as_bytes()).unwrap()), text.as_bytes());
    let text = lines(&["\"y\":1.5", "\"y\":null"]);
    assert_eq!(to_jsonl(&from_jsonl(text.as_bytes()).unwrap()), text.as_bytes());
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
    assert_eq!(text.to_string(), "in.jsonl, line 1: expected UTF-8 text, found '\u{fffd}\"}'");
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
