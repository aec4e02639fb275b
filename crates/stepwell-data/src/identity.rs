//! Identifies the inputs of a result, and reports how the inputs of two results differ.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Everything that determines a result. Interrupted work is resumed only if its identity is equal.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Identity {
    /// Options, versions and names: values a person can compare.
    pub settings: Value,
    /// Checksums of inputs too long to store, by kind: a dataset, a model.
    pub checksums: BTreeMap<String, String>,
}

impl Identity {
    /// The difference from this identity: `units = 10, not 11`, or `another dataset`; `None` if
    /// both are equal.
    ///
    /// ```
    /// use stepwell_data::identity::Identity;
    /// let made = |units: usize, dataset: &str| Identity {
    ///     settings: serde_json::json!({ "units": units }),
    ///     checksums: [("dataset".to_owned(), dataset.to_owned())].into(),
    /// };
    /// assert_eq!(made(10, "a").difference(&made(10, "a")), None);
    /// assert_eq!(made(10, "a").difference(&made(11, "b")).unwrap(), "units = 10, not 11");
    /// assert_eq!(made(10, "a").difference(&made(10, "b")).unwrap(), "another dataset");
    /// ```
    pub fn difference(&self, now: &Self) -> Option<String> {
        if self == now {
            return None;
        }
        let found = differences(&self.settings, &now.settings);
        if !found.is_empty() {
            return Some(found.join(", "));
        }
        let all: BTreeMap<_, _> = self.checksums.iter().chain(&now.checksums).collect();
        let changed = |name: &&&String| self.checksums.get(**name) != now.checksums.get(**name);
        let names: Vec<String> = all.keys().filter(changed).map(|name| format!("another {name}")).collect();
        Some(names.join(" and "))
    }
}

/// The leaves in which two values differ: `units = 10, not 11`.
pub fn differences(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differing("", before, now, &mut found);
    found
}

fn differing(name: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    match (before, now) {
        (before, now) if before == now => {}
        (Value::Object(fields), Value::Object(others)) => {
            let added = others.keys().filter(|key| !fields.contains_key(*key));
            for key in fields.keys().chain(added) {
                differing(key, &before[key], &now[key], found);
            }
        }
        (Value::Array(items), Value::Array(others)) if name.is_empty() => {
            items.iter().zip(others).for_each(|(before, now)| differing(name, before, now, found));
        }
        _ => {
            let shown = |value: &Value| if value.is_null() { "none".to_owned() } else { value.to_string() };
            found.push(format!("{} = {}, not {}", name.replace('_', " "), shown(before), shown(now)));
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn checksum(bytes: &[u8]) -> String {
    hexadecimal(Sha256::digest(bytes).as_slice())
}

pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of a file's content.
pub(crate) fn checksum_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(sum.finalize().as_slice())),
            read => sum.update(&buffer[..read]),
        }
    }
}
