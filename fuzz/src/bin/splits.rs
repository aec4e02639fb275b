#![no_main]

#[path = "../lab_targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("splits", data));
