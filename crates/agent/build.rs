//! Stamps the binary with the commit and the build profile it came from.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    let sha = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=VENTURI_GIT_SHA={sha}");
    let profile = std::env::var("PROFILE").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=VENTURI_PROFILE={profile}");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        // Relative to this package, in which build scripts run, or absolute: as cargo wants it.
        println!("cargo::rerun-if-changed={head}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
