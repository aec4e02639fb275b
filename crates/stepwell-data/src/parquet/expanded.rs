//! The size of a column once the values it refers to are copied.
//!
//! List views, string views and dictionaries may refer to the same bytes in every row, so a small
//! buffer can stand for a large column.

use arrow_array::cast::{AsArray, as_string_array};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::memory;
use crate::rows::Fault;

/// The most bytes a number of a list takes.
const NUMBER: u64 = 8;

/// Requests the memory that a column takes once it is copied, if that may be more than now.
pub(super) fn ask(array: &ArrayRef) -> Result<(), Fault> {
    let bytes = match array.data_type() {
        DataType::ListView(_) => {
            let sizes = array.as_list_view::<i32>().sizes().iter();
            sizes.map(|&size| NUMBER * u64::try_from(size).unwrap_or(0)).sum()
        }
        DataType::LargeListView(_) => {
            let sizes = array.as_list_view::<i64>().sizes().iter();
            sizes
                .map(|&size| NUMBER.saturating_mul(u64::try_from(size).unwrap_or(0)))
                .fold(0, u64::saturating_add)
        }
        // The length is the lowest 32 bits of a view.
        DataType::Utf8View => array.as_string_view().views().iter().map(|&view| u64::from(view as u32)).sum(),
        DataType::Dictionary(_, values) if values.is_string() => of_dictionary(array),
        _ => return Ok(()),
    };
    memory::ask_for("a column that refers to the same bytes again and again", bytes).map_err(Fault::Graph)
}

fn of_dictionary(array: &ArrayRef) -> u64 {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return 0;
    }
    let Ok(texts) = cast(dictionary.values(), &DataType::Utf8) else { return 0 };
    let texts = as_string_array(&texts);
    let lengths: Vec<u64> = (0..texts.len()).map(|at| texts.value_length(at).max(0) as u64).collect();
    let keys = dictionary.normalized_keys().into_iter();
    keys.map(|key| lengths.get(key).copied().unwrap_or(0)).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int32Array, ListViewArray, StringArray, StringViewArray};
    use arrow_schema::Field;

    use super::*;

    fn needed(array: ArrayRef) -> Option<u64> {
        match ask(&array) {
            Ok(()) => None,
            Err(Fault::Graph(stepwell::Error::Memory { needed, .. })) => Some(needed),
            Err(fault) => panic!("{fault}"),
        }
    }

    #[test]
    fn what_is_named_again_and_again_is_counted_again_and_again() {
        let text = "x".repeat(1 << 20);
        let dictionary = |rows: usize| -> ArrayRef {
            let values = Arc::new(StringArray::from(vec!["a", text.as_str()]));
            let keys = Int32Array::from_iter((0..rows).map(|row| if row == 1 { None } else { Some(1) }));
            Arc::new(DictionaryArray::<Int32Type>::new(keys, values))
        };
        assert_eq!(needed(dictionary(2)), None);
        // Four terabytes.
        let rows = 1 << 22;
        let found = needed(dictionary(rows)).unwrap();
        assert!(found >= (rows as u64 - 1) << 20 && found <= (rows as u64) << 20, "{found}");
        let field = Arc::new(Field::new("item", DataType::Int32, true));
        let values: ArrayRef = Arc::new(Int32Array::from(vec![0; 1 << 16]));
        let (offsets, sizes) = (vec![0i32; 1 << 22], vec![1i32 << 16; 1 << 22]);
        let lists = ListViewArray::new(field, offsets.into(), sizes.into(), values, None);
        assert_eq!(needed(Arc::new(lists)), Some(2 << 40));
        assert_eq!(needed(Arc::new(StringViewArray::from(vec!["short", "another"]))), None);
    }
}
