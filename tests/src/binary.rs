//! The binary, and commands that end by themselves.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a command came to.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The repository's root.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie one folder down")
}

/// `target/PROFILE/NAME`, beside the test programs' own folder.
pub(crate) fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("tests lie in target/PROFILE/deps");
    let binary = profile.join(name);
    assert!(binary.is_file(), "{} is missing: run `cargo build -p {name}` first", binary.display());
    binary
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(built("kiwari"));
    // A clean environment: nothing of the developer's own settings leaks in.
    command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command in `folder` to its end.
#[must_use]
pub fn kiwari(folder: &Path, arguments: &[&str]) -> Outcome {
    finished(&mut command(folder, arguments))
}

fn finished(command: &mut Command) -> Outcome {
    let output = command.output().expect("the binary starts");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a command in `folder` to its end, with these environment variables and no others.
#[must_use]
pub fn kiwari_with(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    finished(command(folder, arguments).envs(environment.iter().copied()))
}

/// Starts a command in `folder` without waiting, its log on a pipe.
#[must_use]
pub fn start(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    command(folder, arguments)
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// `kiwari simulate` on a free port, not yet started.
pub(crate) fn simulator(folder: &Path, more: &[&str]) -> Command {
    let mut arguments = vec!["simulate", "--bind", "127.0.0.1:0"];
    arguments.extend(more);
    let mut command = command(folder, &arguments);
    command.stderr(Stdio::null());
    command
}
