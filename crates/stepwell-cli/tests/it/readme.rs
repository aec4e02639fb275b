//! The commands in the README work as printed.

use super::stepwell;

#[test]
fn the_commands_of_the_readme_work() {
    let readme = include_str!("../../../../README.md");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("stepwell "));
    let folder = tempfile::tempdir().unwrap();
    let mut run = 0;
    for line in lines {
        // Text after # is for the reader, after | for the shell; MUTAG is not on every machine.
        let command = line.split(['#', '|']).next().unwrap_or_default();
        if command.contains("MUTAG") {
            continue;
        }
        let arguments: Vec<&str> = command.split_whitespace().collect();
        stepwell().args(&arguments).current_dir(&folder).assert().success();
        run += 1;
    }
    assert!(run >= 8, "{run} commands found");
}
