//! A GPU emulated in C++: the same kernels, compiled for this processor.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::process::Command;
use std::sync::{Arc, Mutex};

use libloading::{Library, Symbol};
use tempfile::TempDir;

use crate::machine::{Launch, Limits, Machine, Trouble};
use crate::params::Params;
use crate::source::{Part, Shape};

const PRELUDE: &str = include_str!("../kernels/emulated.hpp");

/// Compiled programs, shared by tests.
static PROGRAMS: Mutex<Option<HashMap<String, Arc<Library>>>> = Mutex::new(None);
/// Only one thread at a time may run fibers.
static RUNNING: Mutex<()> = Mutex::new(());

/// Whether this machine has a C++ compiler.
pub fn possible() -> bool {
    Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[derive(Debug)]
pub struct Emulated {
    pub limits: Limits,
    /// Whether threads run in reverse order.
    pub backwards: bool,
    folder: TempDir,
    memory: Mutex<HashMap<u64, Vec<u128>>>,
}

impl Emulated {
    pub fn new(limits: Limits, backwards: bool) -> Self {
        Self { limits, backwards, folder: tempfile::tempdir().unwrap(), memory: Mutex::default() }
    }

    /// Whether all memory was freed.
    pub fn is_empty(&self) -> bool {
        self.memory.lock().unwrap().is_empty()
    }

    /// How many pieces of memory are in use.
    pub fn reservations(&self) -> usize {
        self.memory.lock().unwrap().len()
    }

    fn program(&self, shape: Shape, part: Part) -> Arc<Library> {
        let kernels: &[&str] = match part {
            Part::Packs => &["packs"],
            Part::Large => &[
                "sweep_large",
                "project_large",
                "drive_large",
                "add_large",
                "pool_large",
                "measure_large",
                "aggregate_large",
            ],
            Part::Gates => &["fill_gates"],
            Part::Products => &["multiply_rows"],
        };
        let mut source = format!("#include <array>\n{PRELUDE}\n{}", shape.source(part));
        source += "extern \"C\" int launch(const char *kernel, const uint64_t *words, unsigned blocks,\n\
                   unsigned threads, size_t shared, int backwards) {\n\
                   Params p; memcpy(&p, words, sizeof p);\n";
        for kernel in kernels {
            source += &format!(
                "if (!strcmp(kernel, \"{kernel}\")) {{ emulated::run(blocks, threads, shared, backwards, \
                 [&] {{ {kernel}(p); }}); return 0; }}\n"
            );
        }
        source += "return 1; }\n";
        let mut programs = PROGRAMS.lock().unwrap();
        let programs = programs.get_or_insert_default();
        let number = programs.len();
        let compile = || {
            let (from, to) =
                (self.folder.path().join("kernels.cpp"), self.folder.path().join(format!("{number}.so")));
            std::fs::write(&from, &source).unwrap();
            let output = Command::new("c++")
                .args(["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-mfma", "-shared", "-fPIC", "-o"])
                .args([&to, &from])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            // SAFETY: the library was built above from our own sources; it runs no code when
            // loaded.
            Arc::new(unsafe { Library::new(&to) }.unwrap())
        };
        programs.entry(source.clone()).or_insert_with(compile).clone()
    }
}

impl Machine for Emulated {
    fn name(&self) -> String {
        "an emulated GPU".into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn reserve(&self, bytes: usize) -> Result<u64, Trouble> {
        // Uninitialised memory must not affect results.
        let mut room = vec![0x7f7f_7f7f_7f7f_7f7f_7f7f_7f7f_7f7f_7f7fu128; bytes.div_ceil(16)];
        let address = room.as_mut_ptr() as u64;
        self.memory.lock().unwrap().insert(address, room);
        Ok(address)
    }

    fn release(&self, address: u64, _: usize) {
        self.memory.lock().unwrap().remove(&address);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let mut memory = self.memory.lock().unwrap();
        let room: &mut [u8] = bytemuck::cast_slice_mut(memory.get_mut(&address).unwrap());
        room[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let memory = self.memory.lock().unwrap();
        let room: &[u8] = bytemuck::cast_slice(&memory[&address]);
        bytes.copy_from_slice(&room[..bytes.len()]);
        Ok(())
    }

    fn clear(&self, address: u64, bytes: usize) -> Result<(), Trouble> {
        let mut memory = self.memory.lock().unwrap();
        let room: &mut [u8] = bytemuck::cast_slice_mut(memory.get_mut(&address).unwrap());
        room[..bytes].fill(0);
        Ok(())
    }

    fn launch(&self, launch: Launch, params: &Params) -> Result<(), Trouble> {
        assert!(launch.shared <= self.limits.shared, "{launch:?}");
        let program = self.program(launch.shape, launch.part);
        let _running = RUNNING.lock().unwrap();
        let (kernel, words) = (CString::new(launch.kernel).unwrap(), params.words());
        type Entry = unsafe extern "C" fn(*const c_char, *const u64, u32, u32, usize, c_int) -> c_int;
        // SAFETY: the function has this signature; the parameters hold addresses of this
        // machine's memory, which outlives the call.
        let result = unsafe {
            let entry: Symbol<'_, Entry> = program.get(b"launch").unwrap();
            let Launch { blocks, threads, shared, .. } = launch;
            let backwards = self.backwards.into();
            entry(kernel.as_ptr(), words.as_ptr(), blocks as u32, threads as u32, shared, backwards)
        };
        assert_eq!(result, 0, "no kernel {}", launch.kernel);
        Ok(())
    }

    fn finish(&self) -> Result<(), Trouble> {
        Ok(())
    }
}
