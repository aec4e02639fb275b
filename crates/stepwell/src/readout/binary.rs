//! Serialises lists of numbers as bytes instead of one by one.
//!
//! Moments are matrices of millions of numbers. Binary formats get the bytes of a list, little
//! endian; human-readable formats get the numbers.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number with a fixed number of bytes.
pub(super) trait Number: Copy + DeserializeOwned + Serialize {
    const SIZE: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            const SIZE: usize = size_of::<$kind>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("a chunk of that size"))
            }
        }
    )*};
}

number!(f32, f64, u32, u64);

fn to_bytes<T: Number>(numbers: impl Iterator<Item = T>, count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * T::SIZE);
    numbers.for_each(|number| number.put(&mut bytes));
    bytes
}

/// Visitor that reads a list.
struct Listed<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for Listed<T> {
    type Value = Vec<T>;

    fn expecting(&self, told: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(told, "numbers of {} bytes each", T::SIZE)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        if !bytes.len().is_multiple_of(T::SIZE) {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(number) = numbers.next_element()? {
            all.push(number);
        }
        Ok(all)
    }
}

/// Lists: `#[serde(with = "binary::list")]`.
pub(super) mod list {
    use super::*;

    pub fn serialize<T: Number, S: Serializer>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            numbers.serialize(serializer)
        } else {
            serializer.serialize_bytes(&to_bytes(numbers.iter().copied(), numbers.len()))
        }
    }

    pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_seq(Listed(PhantomData))
        } else {
            deserializer.deserialize_byte_buf(Listed(PhantomData))
        }
    }
}

/// Matrices: `#[serde(with = "binary::matrix")]`.
pub(super) mod matrix {
    use ndarray::Array2;

    use super::*;

    #[derive(Deserialize, Serialize)]
    #[serde(bound = "T: Number")]
    struct Sent<T: Number> {
        rows: usize,
        columns: usize,
        #[serde(with = "list")]
        numbers: Vec<T>,
    }

    pub fn serialize<T: Number, S: Serializer>(matrix: &Array2<T>, serializer: S) -> Result<S::Ok, S::Error> {
        let (rows, columns) = matrix.dim();
        Sent { rows, columns, numbers: matrix.iter().copied().collect() }.serialize(serializer)
    }

    pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Array2<T>, D::Error> {
        let Sent { rows, columns, numbers } = Sent::deserialize(deserializer)?;
        let count = numbers.len();
        Array2::from_shape_vec((rows, columns), numbers)
            .map_err(|_| D::Error::invalid_length(count, &"rows x columns numbers"))
    }
}

/// A matrix that may be missing: `#[serde(with = "binary::maybe_matrix")]`.
pub(super) mod maybe_matrix {
    use ndarray::Array2;

    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Sent(#[serde(with = "matrix")] Array2<f64>);

    pub fn serialize<S: Serializer>(matrix: &Option<Array2<f64>>, serializer: S) -> Result<S::Ok, S::Error> {
        matrix.clone().map(Sent).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Array2<f64>>, D::Error> {
        Ok(Option::<Sent>::deserialize(deserializer)?.map(|Sent(matrix)| matrix))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Sent {
        #[serde(with = "super::list")]
        numbers: Vec<u32>,
        #[serde(with = "super::matrix")]
        matrix: Array2<f64>,
        #[serde(with = "super::maybe_matrix")]
        maybe: Option<Array2<f64>>,
    }

    #[test]
    fn people_get_numbers() {
        let sent = Sent { numbers: vec![1, 70_000], matrix: array![[1.5, -2.0]], maybe: None };
        let text = serde_json::to_string(&sent).unwrap();
        assert!(
            text.starts_with(r#"{"numbers":[1,70000],"matrix":{"rows":1,"columns":2,"numbers":[1.5,-2.0]}"#)
        );
        assert_eq!(serde_json::from_str::<Sent>(&text).unwrap(), sent);
        let refused = serde_json::from_str::<Sent>(&text.replace("\"rows\":1", "\"rows\":3")).unwrap_err();
        assert!(refused.to_string().contains("rows x columns numbers"), "{refused}");
    }

    #[test]
    fn machines_get_bytes() {
        let matrix = Array2::from_shape_fn((100, 30), |(i, j)| f64::from_bits((i * 7919 + j) as u64 * 12345));
        let sent = Sent { numbers: vec![7; 5000], maybe: Some(matrix.clone()), matrix };
        let mut bytes = Vec::new();
        ciborium::into_writer(&sent, &mut bytes).unwrap();
        assert!(bytes.len() < 5000 * 4 + 2 * 3000 * 8 + 200, "{}", bytes.len());
        assert_eq!(ciborium::from_reader::<Sent, _>(&bytes[..]).unwrap(), sent);
        let broken: Result<Sent, _> = ciborium::from_reader(&bytes[..bytes.len() / 2]);
        assert!(broken.is_err());
    }
}
