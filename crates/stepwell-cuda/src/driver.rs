//! An NVIDIA GPU, through its driver and NVRTC, which compiles kernels.
//!
//! Both libraries are loaded on first use; building needs no part of CUDA. This is the only module
//! with `unsafe` code in this crate: calls to the two libraries. Addresses come from the driver,
//! and lengths from the lists they belong to. The kernels must respect them (`compute-sanitizer`
//! checks that).

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result as driver;
use cudarc::driver::sys;
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};

use crate::compiled;
use crate::machine::{Launch, Limits, Machine, Trouble};
use crate::params::Params;
use crate::source::{Part, Shape};

/// Since this version, tensor cores multiply 16 x 16 by 16 x 8 matrices of 16-bit numbers.
const OLDEST: (i32, i32) = (8, 0);

/// One GPU.
pub struct Gpu {
    name: String,
    architecture: (i32, i32),
    limits: Limits,
    context: sys::CUcontext,
    device: sys::CUdevice,
    /// The folder of compiled kernels, if they are cached.
    cache: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    modules: HashMap<(Shape, Part), sys::CUmodule>,
    functions: HashMap<(Shape, &'static str), sys::CUfunction>,
    /// Freed memory for reuse, by size.
    spare: HashMap<usize, Vec<u64>>,
}

// SAFETY: handles of a context may be used from any thread that makes it current, which every
// function here does.
unsafe impl Send for Gpu {}
// SAFETY: as above; mutable state is behind a lock.
unsafe impl Sync for Gpu {}

impl fmt::Debug for Gpu {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Gpu({})", self.name)
    }
}

fn failed(what: &str) -> impl Fn(driver::DriverError) -> Trouble + '_ {
    move |error| {
        let said = error.error_string().ok().and_then(|text| text.to_str().ok().map(str::to_owned));
        format!("{what} failed: {}", said.unwrap_or_else(|| format!("{:?}", error.0)))
    }
}

impl Gpu {
    /// Opens the GPU with that number, if a driver, a compiler and a recent enough GPU exist.
    pub fn open(number: usize, cache: Option<PathBuf>) -> Result<Self, Trouble> {
        // SAFETY: libraries with these names are trusted to be NVIDIA's, as in every program.
        if unsafe { !sys::is_culib_present() } {
            return Err("no NVIDIA driver was found (libcuda)".into());
        }
        // SAFETY: as above.
        if unsafe { !nvrtc_sys::is_culib_present() } {
            return Err("an NVIDIA driver was found, but not NVRTC (libnvrtc), which compiles kernels; \
                        install the CUDA toolkit or the Python package nvidia-cuda-nvrtc, and add the \
                        folder of libnvrtc.so to LD_LIBRARY_PATH"
                .into());
        }
        driver::init().map_err(failed("starting the NVIDIA driver"))?;
        let count = driver::device::get_count().map_err(failed("counting GPUs"))?;
        let found = i32::try_from(number).ok().filter(|&number| number < count);
        let number = found.ok_or_else(|| match count {
            0 => "the NVIDIA driver finds no GPU".to_owned(),
            _ => format!("expected a GPU from 0 to {}, found {number}", count - 1),
        })?;
        let device = driver::device::get(number).map_err(failed("opening the GPU"))?;
        let name = driver::device::get_name(device).map_err(failed("asking for the GPU's name"))?;
        use sys::CUdevice_attribute::*;
        let attribute = |attribute| {
            // SAFETY: the device comes from the driver.
            unsafe { driver::device::get_attribute(device, attribute) }.map_err(failed("asking the GPU"))
        };
        let architecture = (
            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        if architecture < OLDEST {
            let (major, minor) = architecture;
            return Err(format!("{name} has compute capability {major}.{minor}; expected 8.0 or later"));
        }
        let limits = Limits {
            processors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
            shared: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
            large_rows: 1 << 14,
            shares: 1 << 10,
            fewest_products: 1 << 18,
        };
        // SAFETY: the device comes from the driver; the context is released in `drop`.
        let context = unsafe { driver::primary_ctx::retain(device) }.map_err(failed("opening the GPU"))?;
        Ok(Self { name, architecture, limits, context, device, cache, state: Mutex::default() })
    }

    /// Makes the context current on this thread.
    fn enter(&self) -> Result<MutexGuard<'_, State>, Trouble> {
        // SAFETY: the context lives as long as `self`.
        unsafe { driver::ctx::set_current(self.context) }.map_err(failed("using the GPU"))?;
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn function(&self, state: &mut State, launch: Launch) -> Result<sys::CUfunction, Trouble> {
        let Launch { shape, part, kernel, .. } = launch;
        if let Some(&function) = state.functions.get(&(shape, kernel)) {
            return Ok(function);
        }
        let module = match state.modules.get(&(shape, part)) {
            Some(&module) => module,
            None => {
                let (major, minor) = self.architecture;
                let target = format!("sm_{major}{minor}");
                let source = shape.source(part);
                let compile = || compile(&source, &target);
                let code = compiled::find(self.cache.as_deref(), &source, &target, version()?, compile)?;
                // SAFETY: the bytes are a whole module, compiled or checked against its checksum.
                let module = unsafe { driver::module::load_data(code.as_ptr().cast()) };
                let module = module.map_err(failed("loading kernels"))?;
                state.modules.insert((shape, part), module);
                module
            }
        };
        let name = CString::new(kernel).map_err(|_| "a kernel's name".to_owned())?;
        // SAFETY: the module was loaded, and is kept as long as `self`.
        let function = unsafe { driver::module::get_function(module, name) };
        let function = function.map_err(failed("finding a kernel"))?;
        use sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MOST_SHARED;
        // SAFETY: the function is one of the module.
        unsafe { driver::function::set_function_attribute(function, MOST_SHARED, self.limits.shared as i32) }
            .map_err(failed("asking for shared memory"))?;
        state.functions.insert((shape, kernel), function);
        Ok(function)
    }

    /// Returns spare memory to the driver.
    fn trim(state: &mut State) {
        for address in state.spare.drain().flat_map(|(_, list)| list) {
            // SAFETY: the address came from `malloc_sync` and is no longer in use.
            let _ = unsafe { driver::free_sync(address) };
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let device = self.device;
        if let Ok(mut state) = self.enter() {
            Self::trim(&mut state);
            for (_, module) in state.modules.drain() {
                // SAFETY: the module was loaded here, and none of its kernels is running.
                let _ = unsafe { driver::module::unload(module) };
            }
        }
        // SAFETY: retained in `open`.
        let _ = unsafe { driver::primary_ctx::release(device) };
    }
}

/// Rounds sizes up, so that freed memory fits later requests.
fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(if bytes < 1 << 22 { 1 << 16 } else { 1 << 21 })
}

impl Machine for Gpu {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn reserve(&self, bytes: usize) -> Result<u64, Trouble> {
        let mut state = self.enter()?;
        let bytes = rounded(bytes);
        if let Some(address) = state.spare.get_mut(&bytes).and_then(Vec::pop) {
            return Ok(address);
        }
        // SAFETY: memory is written by `write`, `clear` or a kernel before it is read.
        let reserve = || unsafe { driver::malloc_sync(bytes) };
        reserve().or_else(|_| {
            Self::trim(&mut state);
            reserve().map_err(|error| {
                let left = driver::mem_get_info().map_or(0, |(free, _)| free);
                let said = failed("reserving memory")(error);
                format!(
                    "{said}: {} MB requested, {} MB free; embed fewer or smaller graphs at a time, or use \
                     device cpu",
                    bytes >> 20,
                    left >> 20
                )
            })
        })
    }

    fn release(&self, address: u64, bytes: usize) {
        if let Ok(mut state) = self.enter() {
            state.spare.entry(rounded(bytes)).or_default().push(address);
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let _state = self.enter()?;
        // SAFETY: `Buffer` reserved at least that many bytes at the address.
        unsafe { driver::memcpy_htod_sync(address, bytes) }.map_err(failed("copying to the GPU"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let _state = self.enter()?;
        // SAFETY: `Buffer` checks that at least that many bytes were reserved there.
        unsafe { driver::memcpy_dtoh_sync(bytes, address) }.map_err(failed("copying from the GPU"))
    }

    fn clear(&self, address: u64, bytes: usize) -> Result<(), Trouble> {
        let _state = self.enter()?;
        // SAFETY: at least that many bytes were reserved there.
        unsafe { driver::memset_d8_sync(address, 0, bytes) }.map_err(failed("clearing memory of the GPU"))
    }

    fn launch(&self, launch: Launch, params: &Params) -> Result<(), Trouble> {
        let mut state = self.enter()?;
        let function = self.function(&mut state, launch)?;
        let words = params.words();
        let mut arguments = [words.as_ptr() as *mut c_void];
        let Launch { blocks, threads, shared, .. } = launch;
        // SAFETY: the kernel takes one argument, the struct that `words` is laid out as; it is
        // copied before the call returns. The addresses in it belong to buffers that are kept until
        // copies from the GPU have waited for the kernel.
        unsafe {
            driver::launch_kernel(
                function,
                (blocks as u32, 1, 1),
                (threads as u32, 1, 1),
                shared as u32,
                driver::stream::null(),
                &mut arguments,
            )
        }
        .map_err(failed("starting a kernel"))
    }

    fn finish(&self) -> Result<(), Trouble> {
        let _state = self.enter()?;
        driver::ctx::synchronize().map_err(failed("a kernel"))
    }
}

/// The version of NVRTC.
fn version() -> Result<(i32, i32), Trouble> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is loaded, and the call writes two numbers.
    let result = unsafe { nvrtc_sys::nvrtcVersion(&mut major, &mut minor) };
    result.result().map_err(|error| format!("asking NVRTC for its version failed: {:?}", error.0))?;
    Ok((major, minor))
}

/// Compiles a program to machine code.
fn compile(source: &str, target: &str) -> Result<Vec<u8>, Trouble> {
    let said = |what: &str, error: nvrtc::NvrtcError| format!("{what} failed: {:?}", error.0);
    let source = CString::new(source).map_err(|_| "kernels with a zero byte".to_owned())?;
    let program = nvrtc::create_program(&source, Some(c"stepwell.cu"))
        .map_err(|error| said("starting NVRTC", error))?;
    let options = [format!("--gpu-architecture={target}"), "--std=c++17".into(), "--fmad=true".into()];
    // SAFETY: the program is created above and destroyed below, after its last use; the code has
    // the length that NVRTC reports before it writes it.
    unsafe {
        let result = nvrtc::compile_program(program, &options).map_err(|error| {
            let log = nvrtc::get_program_log(program).unwrap_or_default();
            let log: String = log.iter().map(|&byte| char::from(byte as u8)).take(2000).collect();
            let (major, minor) = version().unwrap_or_default();
            format!("{} for {target} with NVRTC {major}.{minor}: {log}", said("compiling kernels", error))
        });
        let code = result.and_then(|()| {
            let mut size = 0;
            let error = |error| said("reading compiled kernels", error);
            nvrtc_sys::nvrtcGetCUBINSize(program, &mut size).result().map_err(error)?;
            let mut code = vec![0u8; size];
            nvrtc_sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result().map_err(error)?;
            Ok(code)
        });
        let _ = nvrtc::destroy_program(program);
        code
    }
}
