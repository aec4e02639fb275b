//! How much memory there is, to say no before an allocation ends the process.

use std::fs;

/// Bytes this process can still have: what the machine has available, or less where its
/// address space or its control group is limited. Nothing where the system does not tell.
pub fn available() -> Option<u64> {
    let machine = named("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let limit = named("/proc/self/limits", "Max address space");
    let used = named("/proc/self/status", "VmSize:").map_or(0, |kilobytes| kilobytes * 1024);
    let address_space = limit.map(|limit| limit.saturating_sub(used));
    let group = |name: &str| {
        fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok()
    };
    let group = group("max").map(|most| most.saturating_sub(group("current").unwrap_or(0)));
    [machine, address_space, group].into_iter().flatten().min()
}

/// The first number after a name at the beginning of a line.
fn named(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn there_is_some_and_not_more_than_the_machine_has() {
        let all = named("/proc/meminfo", "MemTotal:").unwrap() * 1024;
        let found = available().unwrap();
        assert!(found > 0 && found <= all, "{found} of {all}");
    }
}
