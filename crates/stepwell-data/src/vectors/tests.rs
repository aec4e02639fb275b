use std::io::Cursor;

use ndarray::{Array2, array};

use super::*;

fn shape(double: bool) -> Shape {
    Shape::numbered(vec!["id", "y"], "e", 3, double)
}

fn rows() -> Array2<f64> {
    array![[1.0, -2.5, 0.1], [f64::MIN_POSITIVE, 1e10, 3.0]]
}

#[test]
fn csv_has_shortest_numbers_of_its_precision() {
    for (double, expected) in [
        (false, "id,y,e0,e1,e2\nfirst,1,1,-2.5,0.1\n\"a \"\"b\"\"\",2,0,10000000000,3\n"),
        (true, "id,y,e0,e1,e2\nfirst,1,1,-2.5,0.1\n\"a \"\"b\"\"\",2,"),
    ] {
        let mut text = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut text, &shape(double)));
        let ids = ["first".to_owned(), "a \"b\"".to_owned()];
        let keys = vec![Key::Text(&ids), Key::Whole(&[1, 2])];
        writer.write(&Block { keys, rows: rows().view() }).unwrap();
        writer.finish().unwrap();
        assert!(String::from_utf8(text).unwrap().starts_with(expected));
    }
}

#[test]
fn npy_is_laid_out_as_numpy_expects() {
    let mut file = Cursor::new(Vec::new());
    let mut writer = Box::new(NpyWriter::new(&mut file, &shape(true)).unwrap());
    for _ in 0..2 {
        writer.write(&Block { keys: vec![], rows: rows().view() }).unwrap();
    }
    writer.finish().unwrap();
    let bytes = file.into_inner();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    assert_eq!(u16::from_le_bytes([bytes[8], bytes[9]]), 118, "header and preamble end on a multiple of 64");
    let header = std::str::from_utf8(&bytes[10..128]).unwrap();
    assert_eq!(header.trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }");
    assert!(header.ends_with('\n'));
    let numbers: Vec<f64> =
        bytes[128..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let expected: Vec<f64> = [rows(), rows()].iter().flatten().copied().collect();
    assert_eq!(numbers, expected);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_reads_back() {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type};

    let mut bytes = Vec::new();
    let mut writer = Box::new(ParquetWriter::new(&mut bytes, &shape(false)));
    let ids = ["a".to_owned(), "b".to_owned()];
    for _ in 0..2 {
        let keys = vec![Key::Text(&ids), Key::Real(&[0.5, 1.5])];
        writer.write(&Block { keys, rows: rows().view() }).unwrap();
    }
    writer.finish().unwrap();
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap().build().unwrap();
    let batch = reader.map(|batch| batch.unwrap()).next().unwrap();
    assert_eq!(batch.num_rows(), 4);
    assert_eq!(batch["id"].as_string::<i32>().value(3), "b");
    assert_eq!(batch["y"].as_primitive::<Float64Type>().value(1), 1.5);
    let list = batch["e"].as_list::<i32>().value(2);
    assert_eq!(list.as_primitive::<Float32Type>().values(), &[1.0, -2.5, 0.1]);

    let mut nothing = Vec::new();
    Box::new(ParquetWriter::new(&mut nothing, &shape(false))).finish().unwrap();
    assert_eq!(&nothing[..4], b"PAR1");
}
