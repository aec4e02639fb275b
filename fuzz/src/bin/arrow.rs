#![no_main]

#[path = "../targets.rs"]
mod targets;

// Panics of the decoders become errors; any other panic still ends the run.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    targets::run("arrow", data)
});
