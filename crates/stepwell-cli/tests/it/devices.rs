//! `--device` without a GPU, as on most machines.

use stepwell_cuda::{Choice, device};

use super::stepwell;

/// Whether there is a GPU; prints a note if there is one.
fn there_is_a_gpu() -> bool {
    let found = device(Choice::Cuda, None).is_ok();
    if found {
        eprintln!("skipped: this machine has a GPU, and the test needs a machine without one");
    }
    found
}

#[test]
fn cuda_without_a_gpu_is_an_error_and_nothing_is_written() {
    if there_is_a_gpu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (vectors, model, run) = (path("v.npy"), path("m.safetensors"), path("run"));
    for arguments in [
        vec!["embed", "b-easy-small", "-o", &vectors],
        vec!["train", "b-easy-small", "-m", &model],
        vec!["evaluate", "b-easy-small", "--out", &run],
    ] {
        let done = stepwell().args(&arguments).args(["--device", "cuda"]).assert().code(1);
        let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(
            said.starts_with("error: device cuda: ") && said.contains("use device cpu, or auto"),
            "{said}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
    stepwell().args(["embed", "b-easy-small", "--device", "gpu"]).assert().code(2);
}

#[test]
fn auto_without_a_gpu_computes_on_the_cpu_and_says_so_once() {
    if there_is_a_gpu() {
        return;
    }
    let run = |device: &str| {
        let done = stepwell().args(["embed", "b-easy-small", "--device", device]).assert().success();
        let output = done.get_output();
        (output.stdout.clone(), String::from_utf8(output.stderr.clone()).unwrap())
    };
    let ((auto, said), (cpu, silent)) = (run("auto"), run("cpu"));
    assert_eq!(auto, cpu);
    assert_eq!(said.matches("note: computing on the CPU: ").count(), 1, "{said}");
    assert!(!silent.contains("computing on"), "{silent}");
}
