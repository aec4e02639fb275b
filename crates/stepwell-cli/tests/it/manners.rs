use super::{failure, output, stepwell};

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "demo",
        "datasets",
        "fetch",
        "convert",
        "stats",
        "embed",
        "converge",
        "coarsen",
        "plot",
        "draw",
        "explain",
        "completions",
    ] {
        let text = output(&[command, "--help"]);
        assert!(text.contains("Example") && text.contains(&format!("stepwell {command}")), "{text}");
    }
    assert!(output(&["--help"]).contains("Examples:"));
    assert!(output(&["--version"]).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_environment_chooses_the_instruction_set() {
    let vectors = |isa: &str| {
        let arguments = ["embed", "b-easy-small", "--units", "20", "--preset", "paper"];
        let done = stepwell().env("STEPWELL_ISA", isa).args(arguments).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    // Every processor supports 'portable'; some support nothing else.
    assert!(vectors("portable").lines().count() > 1);
    assert_eq!(vectors("").lines().count(), vectors("portable").lines().count());
    let done = stepwell().env("STEPWELL_ISA", "sse9").args(["stats", "b-easy-small"]).assert().code(1);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("error: STEPWELL_ISA: ") && said.contains("found 'sse9'"), "{said}");
}

#[test]
fn bad_usage_is_exit_code_2() {
    for arguments in [
        &["stats"][..],
        &["no-such-command"],
        &["stats", "b-easy", "--no-such-flag"],
        &["stats", "x", "--threads", "0"],
    ] {
        failure(arguments, 2);
    }
    stepwell().assert().code(2);
    let said = failure(&["predict", "b-easy", "-m", "model.safetensors", "--spectral-radius", "0.5"], 2);
    assert!(
        said.contains("tip: '--spectral-radius' is an option of the model: pass it to 'stepwell train'"),
        "{said}"
    );
    assert!(
        !failure(&["predict", "b-easy", "-m", "model.safetensors", "--colour", "1"], 2)
            .contains("of the model:")
    );
}

#[test]
fn failures_are_one_sentence_and_exit_code_1() {
    for arguments in [
        &["stats", "./nowhere"][..],
        &["stats", "two words"],
        &["stats", "ring:many"],
        &["convert", "ring:5", "out.csv"],
        &["convert", "ring:5", "/proc/none/out.jsonl"],
    ] {
        let said = failure(arguments, 1);
        assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "{said}");
    }
}

#[test]
fn quiet_is_quiet_and_a_pipe_sees_no_bar() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl").display().to_string();
    let done = stepwell().args(["convert", "ring:5", &out, "--quiet"]).assert().success();
    assert!(done.get_output().stderr.is_empty());
    let done = stepwell().args(["convert", "ring:5", &out]).assert().success();
    assert_eq!(String::from_utf8_lossy(&done.get_output().stderr), format!("wrote 1 graph to {out}\n"));
}

#[test]
fn threads_do_not_change_a_byte() {
    let one = output(&["convert", "b-hard-small", "-", "--threads", "1"]);
    assert_eq!(one, output(&["convert", "b-hard-small", "-", "--threads", "3"]));
    assert_ne!(one, output(&["convert", "b-hard-small", "-", "--data-seed", "1"]));
}

#[cfg(unix)]
#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let program = assert_cmd::cargo::cargo_bin("stepwell");
    let mut child = std::process::Command::new(program)
        .args(["convert", "b-easy", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
}
