use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, FixedSizeListArray, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use stepwell::rng::Stream;
use stepwell::targets::{Labels, Targets};

use super::*;
use crate::dataset::Dataset;
use crate::error::{Place, Result};
use crate::rows::tests::*;

fn from_parquet(bytes: Vec<u8>) -> Result<Dataset> {
    let place = Place::file("in.parquet");
    Dataset::collect(Reader::new(Bytes::from(bytes), place.clone())?, &place)
}

fn to_parquet(dataset: &Dataset) -> Vec<u8> {
    write(Vec::new(), dataset, &Place::file("out.parquet")).unwrap()
}

fn check_fixture(name: &str, targets: Targets) {
    let found = read(&fixture(name)).unwrap();
    let sizes: Vec<usize> = (0..12).collect();
    let name = name.strip_suffix(".parquet").unwrap().into();
    assert_eq!(found, Dataset { name, targets, ..fixture_dataset(&sizes) });
}

#[test]
fn what_pyarrow_wrote_is_read() {
    check_fixture("plain.parquet", Targets::integers((0..12).map(|g| g % 3 - 1).collect()));
    check_fixture("wide.parquet", Targets::numbers((0..12).map(|g| f64::from(g) / 8.0).collect()));
    let words = (0..12).map(|g| if g % 2 == 0 { "even".into() } else { "odd".into() });
    check_fixture("narrow.parquet", Targets::Classes(Labels::Text(words.collect())));
}

#[test]
fn lists_of_fixed_size_and_columns_of_nulls_are_read() {
    let found = read(&fixture("fixed.parquet")).unwrap();
    let whole = fixture_dataset(&[4; 7]);
    assert_eq!(found.coordinates, whole.coordinates);
    assert_eq!(found.graphs.vertex_attributes(), whole.graphs.vertex_attributes());
    assert_eq!(found.graphs.weights(), None);
    assert_eq!((found.ids, found.targets), (None, Targets::None));
    assert_eq!(found.graphs.graph(6).neighbours(1), [0, 2]);
    assert_eq!(found.notes, ["column 'smiles' is not part of the schema and was ignored"]);
}

fn check_refused(name: &str, expected: &str) {
    let error = read(&fixture(name)).unwrap_err().to_string();
    let file = fixture(name).display().to_string();
    assert_eq!(error.strip_prefix(&file).unwrap(), expected);
}

#[test]
fn what_cannot_be_meant_is_explained() {
    check_refused(
        "null_in_list.parquet",
        ", row 1: expected a list of integers from 0 to 4294967295 in 'src', found null",
    );
    check_refused(
        "null_list.parquet",
        ", row 1: expected a list of integers from 0 to 4294967295 in 'dst', found null",
    );
    check_refused("negative.parquet", ", row 1: expected a non-negative integer in 'num_nodes', found -1");
    check_refused("nan.parquet", ", row 1: edge 0 has weight NaN; expected a finite number of at least 0");
    check_refused(
        "no_num_nodes.parquet",
        ": expected a column 'num_nodes' (the number of vertices, since those without edges appear in no list), found none",
    );
    check_refused(
        "wrong_type.parquet",
        ": expected a list of integers from 0 to 4294967295 in 'src', found a column of type List(Utf8, field: 'element')",
    );
}

#[test]
fn texts_stored_by_their_differences_are_read() {
    let dataset = read(&fixture("delta.parquet")).unwrap();
    assert_eq!((dataset.len(), dataset.ids.unwrap()), (1, vec!["a".to_owned()]));
}

#[test]
fn what_is_no_parquet_file_is_explained() {
    let error = |bytes: &[u8]| from_parquet(bytes.to_vec()).unwrap_err().to_string();
    let valid = to_parquet(&fixture_dataset(&[3, 4]));
    assert_eq!(error(b""), "in.parquet: expected a Parquet file, found 0 bytes");
    for length in 12..valid.len() {
        let cut = error(&valid[..length]);
        assert_eq!(
            cut,
            "in.parquet: expected a Parquet file, found no 'PAR1' at the end, as in a truncated file"
        );
    }
    let mut long = valid.clone();
    let size = long.len() - 8;
    long[size..size + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let length = valid.len();
    assert_eq!(
        error(&long),
        format!(
            "in.parquet: expected a Parquet file, found a footer of 4294967295 bytes in a file of {length}"
        )
    );
    assert_eq!(
        error(b"PAR1\x00\x00\x00\x00PAR1"),
        "in.parquet: expected a Parquet file, found a truncated header"
    );
}

#[test]
fn empty_datasets_keep_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.parquet");
    let empty = Dataset { name: "nothing".into(), ..Dataset::default() };
    std::fs::write(&path, to_parquet(&empty)).unwrap();
    assert_eq!(read(&path).unwrap(), empty);
}

#[test]
fn row_groups_are_read_one_by_one() {
    let file = std::fs::File::open(fixture("plain.parquet")).unwrap();
    let reader = Reader::new(file, Place::file("plain")).unwrap();
    assert_eq!(reader.row_groups(), 3);
    let ids: Vec<Vec<String>> = (0..4)
        .map(|group| reader.row_group(group).flat_map(|piece| piece.unwrap().ids.unwrap()).collect())
        .collect();
    let expected = fixture_dataset(&[0; 12]).ids.unwrap();
    assert_eq!(ids, [&expected[..5], &expected[5..10], &expected[10..], &[]]);

    let file = std::fs::File::open(fixture("nan.parquet")).unwrap();
    let error = Reader::new(file, Place::file("nan")).unwrap().row_group(0).next().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("nan, row 1:"), "{error}");
}

#[test]
fn large_datasets_come_in_pieces_and_row_groups() {
    let mut whole = Dataset::default();
    let part = fixture_dataset(&[30; 1000]);
    for _ in 0..25 {
        whole.append(part.clone(), &Place::file("parts")).unwrap();
    }
    let reader = Reader::new(Bytes::from(to_parquet(&whole)), Place::file("large")).unwrap();
    assert!(reader.row_groups() > 1);
    let pieces: Vec<Dataset> = reader.collect::<Result<_>>().unwrap();
    assert!(pieces.iter().all(|piece| piece.graphs.num_vertices() < 66_000));
    assert_eq!(Dataset::collect(pieces.into_iter().map(Ok), &Place::file("large")).unwrap(), whole);
}

#[test]
fn pieces_fit_into_a_joined_layout() {
    let place = Place::file("joined");
    let line = |text: &str| from_jsonl(text.as_bytes()).unwrap();
    let pieces = [
        line(r#"{"num_nodes":2,"src":[0],"dst":[1],"x":[1,2],"x_dim":1,"y":1}"#),
        line(
            r#"{"num_nodes":2,"src":[0],"dst":[1],"weight":[0.1],"x":[0.1,2],"x_dim":1,"y":1.5,"directed":true}"#,
        ),
    ];
    let layout = pieces.iter().map(Layout::of).reduce(|joined, next| joined.join(&next)).unwrap();
    let mut writer = Writer::new(Vec::new(), layout, place.clone()).unwrap();
    pieces.iter().for_each(|piece| writer.write(piece).unwrap());
    let found = from_parquet(writer.finish().unwrap()).unwrap();
    assert_eq!(found, Dataset::collect(pieces.clone().into_iter().map(Ok), &place).unwrap());

    let mut writer = Writer::new(Vec::new(), Layout::of(&pieces[0]), place).unwrap();
    assert_eq!(
        writer.write(&pieces[1]).unwrap_err().to_string(),
        "joined: 'weight' of some graphs differs in kind from the graphs before; all rows must fill the same columns with the same types"
    );
}

/// A batch with `num_nodes` 2 and the given `src`, used as `dst` too.
fn batch(lists: ArrayRef) -> RecordBatch {
    let sizes = Int32Array::from_value(2, lists.len());
    RecordBatch::try_from_iter([
        ("num_nodes", Arc::new(sizes) as ArrayRef),
        ("src", lists.clone()),
        ("dst", lists),
    ])
    .unwrap()
}

/// Reads all graphs of a batch; errors name the row.
fn from_record_batch(batch: &RecordBatch) -> std::result::Result<Dataset, BadRow> {
    Batches::new([Ok(batch.clone())], batch.schema_ref())?.whole()
}

#[test]
fn slices_of_batches_are_read() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in [&[-9, -9][..], &[0], &[], &[0, 1], &[7]] {
        lists.values().append_slice(row);
        lists.append(true);
    }
    let whole = batch(Arc::new(lists.finish()));
    let found = from_record_batch(&whole.slice(1, 3)).unwrap();
    assert_eq!(found.graphs.iter().map(|graph| graph.num_entries()).collect::<Vec<_>>(), [1, 0, 2]);
    let reason = "edge 0 joins vertex 7, but the graph has 2 vertices, numbered from 0".to_owned();
    let bad = BadRow { row: Some(3), id: None, too_large: false, reason };
    assert_eq!(from_record_batch(&whole.slice(1, 4)), Err(bad));

    // Every valid row is read, whatever is wrong with the others.
    let pieces = Batches::new([Ok(whole.slice(1, 2)), Ok(whole.clone())], whole.schema_ref()).unwrap();
    let (mut entries, mut bad) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Ok(piece) => entries.extend(piece.graphs.iter().map(|graph| graph.num_entries())),
            Err(BadRow { row, reason, .. }) => bad.push((row.unwrap(), reason.contains("found -9"))),
        }
    }
    assert_eq!((entries, bad), (vec![1, 0, 1, 0, 2], vec![(2, true), (6, false)]));

    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let values = Int64Array::from(vec![None, Some(-1), Some(0), Some(1)]);
    let fixed = |nulls: Vec<bool>| -> ArrayRef {
        Arc::new(FixedSizeListArray::new(item.clone(), 2, Arc::new(values.clone()), Some(nulls.into())))
    };
    let found = from_record_batch(&batch(fixed(vec![true, true])).slice(1, 1)).unwrap();
    assert_eq!(found.graphs.num_entries(), 2);
    let error = from_record_batch(&batch(fixed(vec![false, true]))).unwrap_err().reason;
    assert!(error.ends_with("in 'src', found null"), "{error}");
    let with_labels = |nulls| {
        let columns = batch(fixed(vec![true, true])).slice(1, 1);
        let labels = fixed(nulls);
        let mut named: Vec<(String, ArrayRef)> = columns
            .schema()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .zip(columns.columns().to_vec())
            .collect();
        named.push(("node_label".into(), labels.slice(0, 1)));
        from_record_batch(&RecordBatch::try_from_iter(named).unwrap())
    };
    assert_eq!(
        with_labels(vec![false, true]).unwrap().graphs.vertex_labels(),
        None,
        "a null may span anything"
    );
    assert!(with_labels(vec![true, true]).is_err());
}

/// Two rows of one edge each, with labels.
fn labelled(labels: ArrayRef) -> std::result::Result<Dataset, BadRow> {
    let ends = |end: i64| {
        let mut lists = ListBuilder::new(Int64Builder::new());
        for _ in 0..2 {
            lists.values().append_slice(&[end, 1]);
            lists.append(true);
        }
        Arc::new(lists.finish()) as ArrayRef
    };
    let sizes = Arc::new(Int32Array::from_value(2, 2)) as ArrayRef;
    let columns = [("num_nodes", sizes), ("src", ends(0)), ("dst", ends(1)), ("edge_label", labels)];
    from_record_batch(&RecordBatch::try_from_iter(columns).unwrap())
}

/// Lists of lists, with null for `None`.
fn nested(rows: &[Option<&[Option<&[i64]>]>]) -> ArrayRef {
    let mut lists = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    for row in rows {
        for list in row.unwrap_or_default() {
            lists.values().values().append_slice(list.unwrap_or_default());
            lists.values().append(list.is_some());
        }
        lists.append(row.is_some());
    }
    Arc::new(lists.finish())
}

#[test]
fn several_labels_are_lists_of_lists() {
    let found =
        labelled(nested(&[Some(&[Some(&[1, 2]), Some(&[3, 4])]), Some(&[Some(&[5, 6]), Some(&[-7, 0])])]));
    let graphs = found.unwrap().graphs;
    assert_eq!(graphs.graph(1).edge_labels(), Some((&[5, 6, 5, 6, -7, 0][..], 2)));
    let refused = |rows: &[Option<&[Option<&[i64]>]>], row: u64, words: &str| {
        let BadRow { row: found, reason, .. } = labelled(nested(rows)).unwrap_err();
        assert!(reason.contains(words) && found == Some(row), "{found:?} {reason}");
    };
    let good: Option<&[Option<&[i64]>]> = Some(&[Some(&[1, 2]), Some(&[3, 4])]);
    refused(
        &[good, Some(&[Some(&[1, 2]), Some(&[3])])],
        1,
        "expected 2 integers in each list of 'edge_label', as in the first, found 1 in list 1, counted from 0",
    );
    refused(&[good, Some(&[Some(&[1, 2]), None])], 1, "lists of them, in 'edge_label', found null");
    refused(&[Some(&[Some(&[1, 1 << 40]), Some(&[3, 4])]), good], 0, "in 'edge_label', found 1099511627776");
    refused(
        &[good, None],
        1,
        "expected lists of 2 integers in 'edge_label', as in the rows before, found none",
    );
    refused(
        &[good, Some(&[Some(&[1, 2])])],
        1,
        "expected 2 lists in 'edge_label', as many as in 'src', found 1",
    );
    refused(
        &[good, Some(&[Some(&[1]), Some(&[2])])],
        1,
        "expected lists of 2 integers in 'edge_label', as in the rows before, found integers",
    );

    // Lists of fixed size are accepted in memory; a file could claim any number of them.
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let values = Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6, -7, 0]));
    let pairs: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, values, None));
    let pair = Arc::new(Field::new_list_field(pairs.data_type().clone(), true));
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(pair, 2, pairs, None));
    assert_eq!(labelled(fixed.clone()).unwrap().graphs, graphs);
    let columns = RecordBatch::try_from_iter([("edge_label", fixed)]).unwrap();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(Vec::new(), columns.schema(), None).unwrap();
    writer.write(&columns).unwrap();
    assert_eq!(
        from_parquet(writer.into_inner().unwrap()).unwrap_err().to_string(),
        "in.parquet: expected lists of variable size inside the lists of 'edge_label', found lists of fixed size"
    );
}

#[test]
fn pieces_without_edges_fit_into_any_layout() {
    let place = Place::file("joined");
    let line = |text: &str| from_jsonl(text.as_bytes()).unwrap();
    let pieces = [
        line(r#"{"num_nodes":1,"src":[],"dst":[],"edge_label":[]}"#),
        line(
            r#"{"num_nodes":2,"src":[0],"dst":[1],"edge_label":[[1,2]],"edge_attr":[0.5],"edge_attr_dim":1}"#,
        ),
        line(r#"{"num_nodes":1,"src":[],"dst":[]}"#),
    ];
    let layout = pieces.iter().map(Layout::of).reduce(|joined, next| joined.join(&next)).unwrap();
    let mut writer = Writer::new(Vec::new(), layout, place.clone()).unwrap();
    pieces.iter().for_each(|piece| writer.write(piece).unwrap());
    let found = from_parquet(writer.finish().unwrap()).unwrap();
    assert_eq!(found.graphs, Dataset::collect(pieces.into_iter().map(Ok), &place).unwrap().graphs);
}

/// A batch of graphs of one vertex, with more columns.
fn with_columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let rows = columns[0].1.len();
    let mut lists = ListBuilder::new(Int64Builder::new());
    (0..rows).for_each(|_| lists.append(true));
    let lists = Arc::new(lists.finish()) as ArrayRef;
    let sizes = Arc::new(Int32Array::from_value(1, rows)) as ArrayRef;
    let graph = [("num_nodes", sizes), ("src", lists.clone()), ("dst", lists)];
    RecordBatch::try_from_iter_with_nullable(
        graph.into_iter().chain(columns).map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// Reads a batch, and a Parquet file of the same batch.
fn both(batch: &RecordBatch, options: &crate::ReadOptions) -> std::result::Result<Dataset, String> {
    let read = || Batches::with_options([Ok(batch.clone())], batch.schema_ref(), options)?.whole();
    let found = read().map_err(|bad| bad.reason);
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    let (bytes, place) = (Bytes::from(writer.into_inner().unwrap()), Place::file("f"));
    let filed = Reader::with_options(bytes, place.clone(), options);
    let filed = filed.and_then(|reader| Dataset::collect(reader, &place));
    match (&found, &filed) {
        (Ok(found), Ok(filed)) => assert_eq!(format!("{found:?}"), format!("{filed:?}")),
        (Err(reason), Err(error)) => {
            let error = error.to_string();
            assert!(error.ends_with(reason), "{error} {reason}");
        }
        _ => panic!("{found:?} {filed:?}"),
    }
    found
}

fn rows_of(dataset: &Dataset) -> (bool, Vec<String>) {
    let (Targets::Numbers(values) | Targets::Binary(values)) = &dataset.targets else {
        panic!("{:?}", dataset.targets)
    };
    let row = |row: ndarray::ArrayView1<'_, f64>| {
        row.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
    };
    (matches!(dataset.targets, Targets::Binary(_)), values.rows().into_iter().map(row).collect())
}

#[test]
fn lists_of_targets_are_read() {
    use arrow_array::builder::{BooleanBuilder, Float32Builder, StringBuilder};
    let plain = crate::ReadOptions::default();
    let strings = |rows: &[&str]| rows.iter().map(|&row| row.to_owned()).collect::<Vec<_>>();
    let mut integers = ListBuilder::new(Int64Builder::new());
    integers.append_value([Some(0), None]);
    integers.append_null();
    integers.append_value([Some(1), Some(1)]);
    let batch = with_columns(vec![("y", Arc::new(integers.finish()))]);
    let found = both(&batch, &plain).unwrap();
    assert_eq!(rows_of(&found), (true, strings(&["0 NaN", "NaN NaN", "1 1"])));
    let skip = crate::ReadOptions { untargeted: crate::Untargeted::Skip, ..plain.clone() };
    let found = both(&batch, &skip).unwrap();
    assert_eq!((rows_of(&found).1, found.left_out), (strings(&["0 NaN", "1 1"]), 1));

    let mut reals = ListBuilder::new(Float32Builder::new());
    reals.append_value([Some(0.5), Some(f32::NAN)]);
    reals.append_value([None, Some(2.0)]);
    let found = both(&with_columns(vec![("y", Arc::new(reals.finish()))]), &plain).unwrap();
    assert_eq!(rows_of(&found), (false, strings(&["0.5 NaN", "NaN 2"])));
    let mut truths = ListBuilder::new(BooleanBuilder::new());
    truths.append_value([Some(true), None, Some(false)]);
    let found = both(&with_columns(vec![("y", Arc::new(truths.finish()))]), &plain).unwrap();
    assert_eq!(rows_of(&found), (true, strings(&["1 NaN 0"])));

    let mut infinite = ListBuilder::new(Float32Builder::new());
    infinite.append_value([Some(f32::INFINITY)]);
    let said = both(&with_columns(vec![("y", Arc::new(infinite.finish()))]), &plain).unwrap_err();
    assert_eq!(said, "expected a finite number in 'y', found inf");
    let mut texts = ListBuilder::new(StringBuilder::new());
    texts.append_value([Some("a")]);
    let said = both(&with_columns(vec![("y", Arc::new(texts.finish()))]), &plain).unwrap_err();
    assert_eq!(said, "several targets must be numbers or 0/1, but 'y' holds strings");
    let said = both(&with_columns(vec![("y", nested(&[Some(&[Some(&[1])])]))]), &plain).unwrap_err();
    assert!(said.starts_with("expected numbers or booleans in 'y', found a column of type List"), "{said}");
}

#[test]
fn columns_are_named_for_targets_and_groups() {
    use arrow_array::{BooleanArray, Float64Array, StringArray};
    let batch = with_columns(vec![
        ("a", Arc::new(Int64Array::from(vec![Some(3), None]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("c", Arc::new(StringArray::from(vec!["x", "z"]))),
        ("d", Arc::new(Float64Array::from(vec![f64::NAN, 1.5]))),
        ("y", Arc::new(Int64Array::from(vec![1, 2]))),
    ]);
    let options = |names: &[&str], groups: Option<&str>| crate::ReadOptions {
        targets: names.iter().map(|&name| name.to_owned()).collect(),
        groups: groups.map(str::to_owned),
        ..crate::ReadOptions::default()
    };
    let found = both(&batch, &options(&["b", "a"], Some("c"))).unwrap();
    assert_eq!(rows_of(&found), (false, vec!["1 3".to_owned(), "NaN NaN".to_owned()]));
    assert_eq!(
        (found.target_names.clone(), found.groups.unwrap()),
        (vec!["b".to_owned(), "a".into()], vec!["x".to_owned(), "z".into()])
    );
    assert_eq!(found.notes, ["column 'd' is not part of the schema and was ignored"]);
    let found = both(&batch, &options(&["d"], None)).unwrap();
    assert_eq!(rows_of(&found), (false, vec!["NaN".to_owned(), "1.5".to_owned()]));
    let found = both(&batch, &options(&["c"], Some("y"))).unwrap();
    assert_eq!(found.targets, Targets::Classes(["x", "z"].into_iter().collect()));
    assert_eq!(found.groups.unwrap(), ["1", "2"]);
    let said = |names: &[&str], groups| both(&batch, &options(names, groups)).unwrap_err();
    assert_eq!(said(&["e"], None), "expected a column 'e', found 'a', 'b', 'c', 'd', 'y'");
    assert_eq!(said(&["a"], Some("g")), "expected a column 'g', found 'a', 'b', 'c', 'd', 'y'");
    assert_eq!(
        said(&["a", "c"], None),
        "several targets must be numbers or 0/1, but 'c' holds strings; pass one target to predict classes by name"
    );
    assert_eq!(said(&["d"], Some("a")), "expected a group in 'a', found none");
    assert_eq!(
        said(&["a"], Some("d")),
        "expected strings or integers in 'd', found a column of type Float64"
    );
}

#[test]
fn several_targets_and_their_names_come_back() {
    let nan = f64::NAN;
    for targets in [
        Targets::Binary(ndarray::array![[0.0, nan], [1.0, 1.0]]),
        Targets::Numbers(ndarray::array![[0.0, nan], [1.5, 1.0]]),
        Targets::numbers(vec![nan, 1.5]),
        Targets::Binary(ndarray::array![[nan], [1.0]]),
    ] {
        let names: Vec<String> = ["toxic", "soluble"][..targets.width()].iter().map(|&n| n.into()).collect();
        let dataset = Dataset { targets, target_names: names.clone(), ..fixture_dataset(&[2, 3]) };
        let found = from_parquet(to_parquet(&dataset)).unwrap();
        assert_eq!(format!("{:?}", found.targets), format!("{:?}", dataset.targets));
        assert_eq!(found.target_names, names);
        let lines = from_jsonl(&to_jsonl(&dataset)).unwrap();
        assert_eq!(format!("{:?}", lines.targets), format!("{:?}", dataset.targets));
    }
}

#[test]
fn pieces_of_binary_labels_fit_into_a_layout_of_numbers() {
    let line = |y: &str| {
        from_jsonl(format!("{{\"num_nodes\":1,\"src\":[],\"dst\":[],\"y\":{y}}}").as_bytes()).unwrap()
    };
    let pieces = [line("[0,1]"), line("[0.5,7]")];
    let layout = Layout::of(&pieces[0]).join(&Layout::of(&pieces[1]));
    let mut writer = Writer::new(Vec::new(), layout, Place::file("f")).unwrap();
    pieces.iter().for_each(|piece| writer.write(piece).unwrap());
    let found = from_parquet(writer.finish().unwrap()).unwrap();
    assert_eq!(found.targets, Targets::Numbers(ndarray::array![[0.0, 1.0], [0.5, 7.0]]));
}

#[test]
fn mutations_never_panic() {
    let sources = [
        to_parquet(&fixture_dataset(&[0, 1, 2, 5, 9])),
        std::fs::read(fixture("plain.parquet")).unwrap(),
        std::fs::read(fixture("narrow.parquet")).unwrap(),
        std::fs::read(fixture("wide.parquet")).unwrap(),
        to_parquet(
            &from_jsonl(
                b"{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1,1],\"edge_label\":[[1,0],[2,1]],\"y\":[0,null]}",
            )
            .unwrap(),
        ),
    ];
    let mut accepted = 0;
    for seed in 0..2000 {
        let valid = &sources[seed as usize % sources.len()];
        let bytes = mutate(valid, &mut Stream::new(seed, "mutate parquet", [0, 0]));
        accepted += usize::from(from_parquet(bytes).is_ok());
    }
    assert!((1..1900).contains(&accepted), "{accepted} of 2000 were accepted");
}
