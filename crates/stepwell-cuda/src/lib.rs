//! Runs Stepwell's reservoirs on an NVIDIA GPU.
//!
//! [`device`] finds a GPU; a model [`on`](stepwell::model::Model::on) it computes there. The driver
//! and NVRTC, which compiles the kernels at their first use, are loaded on demand: building needs
//! no part of CUDA, and without a GPU the error says so.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::config::ModelConfig;
//! use stepwell::model::Model;
//! use stepwell_cuda::{Choice, device};
//!
//! let ring = Graph::new(&EdgeList::new(3, &[0, 1, 2], &[1, 2, 0]))?;
//! let (device, note) = device(Choice::Auto, None)?; // the CPU where there is no GPU
//! let model = Model::fit(ModelConfig::default(), ring.as_batch())?.on(device);
//! # let _ = note;
//! # Ok::<(), stepwell::Error>(())
//! ```

#[cfg(test)]
mod cases;
mod compiled;
mod driver;
#[cfg(test)]
mod emulated;
mod engine;
mod fragments;
mod large;
mod machine;
mod model;
mod packing;
mod params;
mod products;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use stepwell::reservoir::{Device, Engine};
use stepwell::{Error, Result};

use driver::Gpu;
use engine::Cuda;
pub use engine::{Times, times};

/// The choice of device, as users write it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Choice {
    /// On the CPU.
    #[default]
    Cpu,
    /// On a GPU; an error if there is none.
    Cuda,
    /// On a GPU, or on the CPU if there is none.
    Auto,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            "auto" => Ok(Self::Auto),
            _ => {
                let (expected, found) = ("cpu, cuda or auto".into(), format!("'{text}'"));
                Err(Error::BadOption { name: "device", expected, found })
            }
        }
    }
}

/// Opens the chosen device. The note, if any, says that no GPU was found although one was
/// acceptable. Compiled kernels are kept in the folder `kernels` of the cache, if there is one. A
/// GPU is opened once per process.
pub fn device(choice: Choice, cache: Option<PathBuf>) -> Result<(Device, Option<String>)> {
    match (choice, gpu(choice, cache)) {
        (Choice::Cpu, _) => Ok((Device::processor(), None)),
        (_, Ok(engine)) => Ok((Device::new(engine), None)),
        (Choice::Auto, Err(why)) => Ok((Device::processor(), Some(format!("computing on the CPU: {why}")))),
        (Choice::Cuda, Err(why)) => {
            let problem = format!("{why}; use device cpu, or auto, which uses the CPU if there is no GPU");
            Err(Error::Device { device: "device cuda".into(), problem })
        }
    }
}

/// Engines by process: a child does not inherit its parent's driver state.
type Opened = HashMap<u32, Result<Arc<dyn Engine>, String>>;

fn gpu(choice: Choice, cache: Option<PathBuf>) -> Result<Arc<dyn Engine>, String> {
    static OPENED: Mutex<Option<Opened>> = Mutex::new(None);
    if choice == Choice::Cpu {
        return Err(String::new());
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let open = || {
        let gpu = Gpu::open(0, cache.map(|folder| folder.join("kernels")))?;
        Ok(Arc::new(Cuda::new(gpu)) as Arc<dyn Engine>)
    };
    opened.get_or_insert_default().entry(std::process::id()).or_insert_with(open).clone()
}
