//! The memory budget: how much memory this process may use, and how much is left.
//!
//! One budget governs all readers and, through [`stepwell::memory`], all computations. A request
//! that would exceed it is refused before the allocation, with an error that gives the bytes needed
//! and the bytes left. The budget counts all memory of the process. By default it is the memory
//! already held plus four fifths of the memory that the machine, the control group and the limit on
//! address space (`ulimit -v`) leave when the budget is first used.

use std::fmt;
use std::fs;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use stepwell::memory::{Bytes, Left};

use crate::error::{Error, Place, Result};

/// The share of the available memory that the default budget takes, in percent.
const SHARE: u64 = 80;

/// Bytes of memory that a process may use.
///
/// ```
/// use stepwell_data::memory::Budget;
/// assert_eq!("1.5G".parse::<Budget>()?, Budget(3 << 29));
/// assert_eq!("512 MB".parse::<Budget>()?.to_string(), "512.0 MB");
/// assert!("much".parse::<Budget>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget(pub u64);

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || format!("expected a size such as 4G, 512M or 1.5GB, found '{}'", text.escape_debug());
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let unit = text[digits.len()..].trim().to_ascii_uppercase();
        let shift = match unit.trim_end_matches('B').trim_end_matches('I') {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => return Err(refused()),
        };
        let number: f64 = digits.trim().parse().map_err(|_| refused())?;
        let bytes = number * (1u64 << shift) as f64;
        if digits.starts_with(['+', '-']) || !(1.0..2f64.powi(63)).contains(&bytes) {
            return Err(refused());
        }
        Ok(Self(bytes as u64))
    }
}

/// The budget in bytes; 0 until it is first used.
static BUDGET: AtomicU64 = AtomicU64::new(0);

impl Budget {
    /// Makes this the budget of the process.
    pub fn set(self) {
        BUDGET.store(self.0.max(1), Ordering::Relaxed);
        Self::in_force();
    }

    /// The budget of this process: the one that was set, or the default computed on first use.
    pub fn in_force() -> Self {
        static GOVERNED: Once = Once::new();
        GOVERNED.call_once(|| stepwell::memory::govern(left));
        match BUDGET.load(Ordering::Relaxed) {
            0 => {
                let share = available().map_or(u64::MAX, |bytes| held().saturating_add(bytes / 100 * SHARE));
                let first = BUDGET.compare_exchange(0, share.max(1), Ordering::Relaxed, Ordering::Relaxed);
                Self(first.map_or_else(|set| set, |_| share.max(1)))
            }
            bytes => Self(bytes),
        }
    }
}

/// The memory that may still be used: the rest of the budget, or less if the system has less.
pub fn left() -> Left {
    let budget = Budget::in_force().0;
    let (held, available) = measured();
    Left { bytes: budget.saturating_sub(held).min(available), budget }
}

/// A measurement is used for this long, because the system takes longer to report its memory than
/// we take to read a small archive. What a process allocates meanwhile is not counted: at a write
/// rate of 10 GB/s, some 20 MB.
const FRESH: Duration = Duration::from_millis(2);

/// The bytes that this process holds, and those still available to it.
fn measured() -> (u64, u64) {
    static LAST: Mutex<Option<(Instant, (u64, u64))>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = last.filter(|(when, _)| when.elapsed() < FRESH) {
        return found;
    }
    let found = (held(), available().unwrap_or(u64::MAX));
    *last = Some((Instant::now(), found));
    found
}

/// Returns an error at `place` if `bytes` more than now would exceed the memory left.
pub fn ask(place: &Place, what: &'static str, bytes: u64) -> Result<()> {
    ask_for(what, bytes).map_err(|source| Error::Graph { place: place.clone(), source })
}

/// Like [`ask`], for callers that do not know the place.
pub(crate) fn ask_for(what: &'static str, bytes: u64) -> stepwell::Result<()> {
    Budget::in_force();
    stepwell::memory::ask(what, bytes)
}

/// Bytes of memory this process holds; 0 if the system does not report it.
fn held() -> u64 {
    named("/proc/self/status", "VmRSS:").map_or(0, |kilobytes| kilobytes * 1024)
}

/// Bytes still available to this process: the machine's available memory, or less if the address
/// space or the control group is limited. `None` if the system does not report it.
fn available() -> Option<u64> {
    let machine = named("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let limit = named("/proc/self/limits", "Max address space");
    let used = named("/proc/self/status", "VmSize:").map_or(0, |kilobytes| kilobytes * 1024);
    let address_space = limit.map(|limit| limit.saturating_sub(used));
    [machine, address_space, group()].into_iter().flatten().min()
}

/// The memory left by the control groups of this process.
fn group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of_line = |line: &str| {
        // "0::/path" in version 2, "4:memory:/path" in version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, [limit, usage]) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current"]),
            "memory" => ("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"]),
            _ => return None,
        };
        let number = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        // A group holds no more than its parents; inside a container the parents are invisible.
        let left = |group: &str| {
            let folder = format!("{root}{group}");
            let limit = number(format!("{folder}/{limit}"))?;
            let used = number(format!("{folder}/{usage}")).unwrap_or(0);
            let files = ["inactive_file ", "active_file "]
                .map(|name| named(&format!("{folder}/memory.stat"), name).unwrap_or(0));
            Some(limit.saturating_sub(used.saturating_sub(files.iter().sum())))
        };
        let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
        ends.chain([path.trim_end_matches('/')]).filter_map(left).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// The first number after a name at the beginning of a line.
fn named(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn there_is_some_and_not_more_than_the_machine_has() {
        let all = named("/proc/meminfo", "MemTotal:").unwrap() * 1024;
        let found = available().unwrap();
        assert!(found > 0 && found <= all, "{found} of {all}");
        assert!(held() > 1 << 20 && held() < all);
        let Left { bytes, budget } = left();
        assert!(bytes <= budget && budget <= all, "{bytes} of {budget}");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let of = |text: &str| text.parse::<Budget>().map(|budget| budget.0);
        for (text, bytes) in [
            ("4G", 4 << 30),
            ("4g", 4 << 30),
            ("4GB", 4 << 30),
            ("4 GiB", 4 << 30),
            ("0.5T", 1 << 39),
            ("100", 100),
            ("7K", 7168),
            ("1e3M", 1000 << 20),
        ] {
            assert_eq!(of(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-4G", "+4G", "4X", "4GG", "0", "nan", "inf", "1e30T", "4 4G", "é"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_no_machine_has_is_refused_with_both_figures() {
        let place = Place::file("graphs.zip");
        let refusal = ask(&place, "its text", 1 << 60).unwrap_err().to_string();
        assert!(refusal.starts_with("graphs.zip: its text: needs 1073741824.0 GB of memory, "), "{refusal}");
        assert!(
            refusal.ends_with(" are left; raise the budget with --memory or STEPWELL_MEMORY"),
            "{refusal}"
        );
        assert!(ask(&place, "its text", 2 << 20).is_ok());
    }
}
