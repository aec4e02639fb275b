//! Handles signals that end the program: it removes unfinished files.

use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

/// The message printed when the program is interrupted: how to resume.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Sets the message printed when the program is interrupted.
pub fn say_when_interrupted(words: String) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// From now on, the program ends cleanly on Ctrl-C, when it is terminated and when its terminal
/// closes. A signal that its parent made it ignore (`nohup`) stays ignored.
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

    // A file that grows beyond the limit becomes a write error, whose handler cleans up.
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

/// The ignored signals, one bit each; 0 if the system does not report them.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn end() {
    stepwell_data::files::discard_unfinished();
    // Standard error may be closed, which must not keep the program from ending.
    let words = LAST_WORDS.try_lock().map(|words| words.clone()).unwrap_or_default();
    let _ = if words.is_empty() {
        writeln!(io::stderr(), "\ninterrupted")
    } else {
        writeln!(io::stderr(), "\ninterrupted: {words}; run the same command to resume")
    };
    std::process::exit(130);
}
