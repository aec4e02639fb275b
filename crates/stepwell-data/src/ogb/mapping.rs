//! The names of molecules and targets: `mapping/mol.csv.gz`, a table whose header lists the
//! targets, `smiles` and `mol_id`.

use std::io::{Read, Seek};

use super::source::Source;
use crate::error::{Error, Result};
use crate::text::{for_each_line, same_count};

#[derive(Default)]
pub(super) struct Mapping {
    pub(super) target_names: Vec<String>,
    pub(super) ids: Option<Vec<String>>,
    /// Whether the table has a SMILES column.
    pub(super) has_smiles: bool,
}

/// Reads the names of `graphs` graphs and of `targets` columns, as far as they exist.
pub(super) fn read<R: Read + Seek + Send>(
    source: &mut Source<R>,
    graphs: usize,
    targets: usize,
) -> Result<Mapping> {
    let Some((reader, place)) = source.open("mapping/mol")? else { return Ok(Mapping::default()) };
    let (mut header, mut id_column, mut ids) = (Vec::new(), None, Vec::new());
    let mut rows = 0;
    for_each_line(reader, &place, |line, number| {
        let row = fields(&String::from_utf8_lossy(line));
        if number == 1 {
            id_column = row.iter().position(|name| name == "mol_id");
            header = row;
            return Ok(());
        }
        if row.len() != header.len() {
            let expected = format!("{} values, as in the header", header.len());
            return Err(Error::malformed(place.line(number), expected, row.len().to_string()));
        }
        rows += 1;
        ids.extend(id_column.and_then(|column| row.into_iter().nth(column)));
        Ok(())
    })?;
    same_count(&place, graphs, "graphs (not counting the header)", rows)?;
    let has_smiles = header.iter().any(|name| name == "smiles");
    header.retain(|name| name != "smiles" && name != "mol_id");
    let target_names = if header.len() == targets { header } else { Vec::new() };
    Ok(Mapping { target_names, ids: id_column.map(|_| ids), has_smiles })
}

/// The values of a CSV line; a quoted value may hold commas, and two quotes stand for one.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                fields[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields[last].push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(fields("a,b"), ["a", "b"]);
        assert_eq!(fields("-1,\"1,2-di\"\"x\"\"\",CC "), ["-1", "1,2-di\"x\"", "CC "]);
        assert_eq!(fields(",,"), ["", "", ""]);
        assert_eq!(fields(""), [""]);
        assert_eq!(fields("\"open,1"), ["open,1"]);
    }
}
