#![no_main]

#[path = "../targets.rs"]
mod targets;

// The decoders' panics become errors; any other one still ends the run.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    targets::run("arrow", data)
});
