//! The official split: lists of graphs in `split/NAME/`.

use std::io::{Read, Seek};

use super::source::Source;
use crate::dataset::Part;
use crate::error::{Error, Result};
use crate::text::integers;

/// The part of every graph; or the reason why no split is used although there are some.
pub(super) fn read<R: Read + Seek + Send>(
    source: &mut Source<R>,
    graphs: usize,
) -> Result<(Option<Vec<Part>>, Option<String>)> {
    let mut named = Vec::new();
    for name in source.inside("split")? {
        if source.open(&format!("split/{name}/train"))?.is_some() {
            named.push(name);
        }
    }
    let name = match &named[..] {
        [] => return Ok((None, None)),
        [name] => name,
        several => {
            let note = format!("ignoring the splits: there are several ({})", several.join(", "));
            return Ok((None, Some(note)));
        }
    };
    let mut parts: Vec<Option<Part>> = vec![None; graphs];
    let mut listed = 0;
    for (part, file) in [(Part::Train, "train"), (Part::Validation, "valid"), (Part::Test, "test")] {
        let (reader, place) = source.require(&format!("split/{name}/{file}"))?;
        let expected = format!("a graph from 0 to {}, listed once", graphs as i64 - 1);
        integers(reader, &place, &expected, 0..=graphs as i64 - 1, |graph, line| {
            let slot = &mut parts[graph as usize];
            if slot.is_some() {
                return Err(Error::malformed(place.line(line), expected.clone(), format!("{graph} again")));
            }
            *slot = Some(part);
            listed += 1;
            Ok(())
        })?;
    }
    let whole: Option<Vec<Part>> = parts.into_iter().collect();
    let note = whole
        .is_none()
        .then(|| format!("ignoring the split '{name}', which lists only {listed} of {graphs} graphs"));
    Ok((whole, note))
}
