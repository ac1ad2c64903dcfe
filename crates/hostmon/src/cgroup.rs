//! Limits of this process's control group, of either version.

use crate::facts::{Facts, Limit};
use crate::parse::{self, Mount};
use crate::root::Root;

const GROUPS: &str = "/proc/self/cgroup";

/// Fills the `cgroup_*` facts. A limit of an ancestor binds too, so the least of all counts.
pub(crate) fn collect(root: &mut Root, mounts: &[Mount], facts: &mut Facts) {
    const NAMES: [&str; 3] =
        ["cgroup_version", "cgroup_memory_limit_bytes", "cgroup_cpu_limit_cores"];
    let groups = match root.text(GROUPS) {
        Ok(groups) => groups,
        Err(reason) => {
            for name in NAMES {
                root.note(name, &*reason);
            }
            return;
        }
    };
    let version = if parse::cgroup_path(&groups, "memory").is_some() {
        Some(1)
    } else {
        parse::cgroup_path(&groups, "").map(|_| 2)
    };
    facts.cgroup_version = version;
    facts.cgroup_memory_limit_bytes = match version {
        Some(1) => least(&folders(&groups, mounts, "memory"), |folder| {
            parse::cgroup_memory(&root.text(&format!("{folder}/memory.limit_in_bytes")).ok()?)
        }),
        Some(_) => least(&folders(&groups, mounts, ""), |folder| {
            unified(root, folder, "memory.max", parse::cgroup_memory)
        }),
        None => None,
    };
    // A hybrid host has the memory controller in one hierarchy and may have the CPU in the other.
    facts.cgroup_cpu_limit_cores = if parse::cgroup_path(&groups, "cpu").is_some() {
        least(&folders(&groups, mounts, "cpu"), |folder| {
            parse::cgroup_cpu_v1(
                &root.text(&format!("{folder}/cpu.cfs_quota_us")).ok()?,
                &root.text(&format!("{folder}/cpu.cfs_period_us")).ok()?,
            )
        })
    } else {
        least(&folders(&groups, mounts, ""), |folder| {
            unified(root, folder, "cpu.max", parse::cgroup_cpu_v2)
        })
    };
    let found = [
        version.is_some(),
        facts.cgroup_memory_limit_bytes.is_some(),
        facts.cgroup_cpu_limit_cores.is_some(),
    ];
    for (name, found) in NAMES.iter().zip(found) {
        if !found {
            root.note(name, format!("{GROUPS}: no hierarchy of this controller is mounted here"));
        }
    }
}

/// A limit in the unified hierarchy, where a controller that is not enabled leaves no file and sets
/// no limit.
fn unified<T>(
    root: &Root,
    folder: &str,
    file: &str,
    parse: fn(&str) -> Option<Limit<T>>,
) -> Option<Limit<T>> {
    match root.text(&format!("{folder}/{file}")) {
        Ok(text) => parse(&text),
        Err(_) => root.text(&format!("{folder}/cgroup.controllers")).ok().map(|_| Limit::UNLIMITED),
    }
}

/// The folders of this process's group and its ancestors, as far as they are mounted.
fn folders(groups: &str, mounts: &[Mount], controller: &str) -> Vec<String> {
    let Some(path) = parse::cgroup_path(groups, controller) else {
        return Vec::new();
    };
    let mount = mounts.iter().find(|mount| match controller {
        "" => mount.kind == "cgroup2",
        _ => mount.kind == "cgroup" && mount.options.iter().any(|option| option == controller),
    });
    let Some(mount) = mount else {
        return Vec::new();
    };
    // In a container the mount shows only the group's own part of the hierarchy.
    let inside = match path.strip_prefix(mount.root.trim_end_matches('/')) {
        Some(inside) => inside.trim_matches('/'),
        None => "",
    };
    let mut folder = mount.mount_point.clone();
    let mut all = vec![folder.clone()];
    for part in inside.split('/').filter(|part| !part.is_empty()) {
        folder = format!("{folder}/{part}");
        all.push(folder.clone());
    }
    all
}

fn least<T: PartialOrd>(
    folders: &[String],
    read: impl Fn(&str) -> Option<Limit<T>>,
) -> Option<Limit<T>> {
    folders.iter().filter_map(|folder| read(folder)).reduce(|a, b| match (a, b) {
        (Limit::At(a), Limit::At(b)) => Limit::At(if b < a { b } else { a }),
        (Limit::At(a), _) | (_, Limit::At(a)) => Limit::At(a),
        _ => Limit::UNLIMITED,
    })
}
