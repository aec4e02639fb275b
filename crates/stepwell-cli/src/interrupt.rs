//! What the program does when a signal ends it: it removes unfinished files.

use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

/// What is said when the program is interrupted: how to go on.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Sets what an interrupted program reports as saved.
pub fn say_when_interrupted(words: String) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// From here on the program ends in order on Ctrl-C, and when it is terminated or its
/// terminal goes; a signal that its parent made it ignore (`nohup`) stays ignored.
pub fn end_in_order() {
    static ONCE: Once = Once::new();
    ONCE.call_once(listen);
}

#[cfg(unix)]
fn listen() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;

    // A file that grows beyond the limit is an error of the write, which then cleans up.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    if let Ok(mut signals) = Signals::new(heard) {
        std::thread::spawn(move || signals.forever().for_each(|_| end()));
    }
}

#[cfg(not(unix))]
fn listen() {
    let _ = ctrlc::set_handler(end);
}

/// The signals that are ignored, a bit for each; none where the system does not report it.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn end() {
    stepwell_data::files::discard_unfinished();
    // Standard error may be gone; that must not keep the program from ending.
    let words = LAST_WORDS.try_lock().map(|words| words.clone()).unwrap_or_default();
    let _ = if words.is_empty() {
        writeln!(io::stderr(), "\ninterrupted")
    } else {
        writeln!(io::stderr(), "\ninterrupted: {words}; run the same command to resume")
    };
    std::process::exit(130);
}
