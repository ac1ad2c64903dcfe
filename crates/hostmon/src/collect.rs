//! The thin reader: which file holds which fact.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::HostError;
use crate::facts::{Facts, Limit, SCHEMA_VERSION};
use crate::root::Root;
use crate::{cgroup, devices, parse};

/// The kernel settings that matter in this field.
pub const SYSCTLS: &[&str] = &[
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.threads-max",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
];

const CPUS: &str = "/sys/devices/system/cpu";
const MEMINFO: &str = "/proc/meminfo";
const MOUNTS: &str = "/proc/self/mountinfo";

/// The facts of the host with its `/proc` and `/sys` under `root` (`/` for this one).
///
/// Only a root without `/proc` is an error; a fact that cannot be read is `None` with a reason.
pub fn collect(root: &Path) -> Result<Facts, HostError> {
    let proc = root.join("proc");
    if let Err(error) = std::fs::read_dir(&proc) {
        return Err(HostError::NoProc { path: proc, reason: error.to_string() });
    }
    let mut root = Root::new(root);
    let mut facts = Facts {
        schema_version: SCHEMA_VERSION,
        architecture: std::env::consts::ARCH.to_owned(),
        ..Facts::default()
    };
    identity(&mut root, &mut facts);
    processors(&mut root, &mut facts);
    memory(&mut root, &mut facts);
    limits(&mut root, &mut facts);
    sysctls(&mut root, &mut facts);
    match root.text(MOUNTS) {
        Ok(text) => {
            let mounts = parse::mounts(&text);
            cgroup::collect(&mut root, &mounts, &mut facts);
            facts.file_systems = Some(devices::file_systems(&mut root, &mounts));
        }
        Err(reason) => {
            cgroup::collect(&mut root, &[], &mut facts);
            root.note("file_systems", reason);
        }
    }
    facts.block_devices = devices::block_devices(&mut root);
    facts.network_interfaces = devices::network_interfaces(&mut root);
    facts.missing = root.into_missing();
    Ok(facts)
}

fn identity(root: &mut Root, facts: &mut Facts) {
    facts.hostname = root.fact("hostname", "/proc/sys/kernel/hostname", parse::line);
    facts.boot_id = root.fact("boot_id", "/proc/sys/kernel/random/boot_id", parse::line);
    facts.kernel_release = root.fact("kernel_release", "/proc/sys/kernel/osrelease", parse::line);
    facts.os_name = root.fact("os_name", "/etc/os-release", parse::os_name);
    facts.clock_source = root.fact(
        "clock_source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        parse::line,
    );
    let firmware = |root: &Root, file: &str| {
        root.text(&format!("/sys/class/dmi/id/{file}")).unwrap_or_default()
    };
    let (vendor, product) = (firmware(root, "sys_vendor"), firmware(root, "product_name"));
    facts.virtualisation = root.fact("virtualisation", "/proc/cpuinfo", |cpuinfo| {
        parse::virtualisation(cpuinfo, &vendor, &product)
    });
    facts.container = container(root);
    if facts.container.is_none() {
        root.note("container", "/run is not readable");
    }
}

/// The container manager's name by the marks it leaves (the interface agreed with systemd).
fn container(root: &Root) -> Option<String> {
    if let Ok(text) = root.text("/run/systemd/container") {
        return parse::line(&text);
    }
    for (file, name) in [
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ] {
        if root.join(file).exists() {
            return Some(name.to_owned());
        }
    }
    root.names("/run").is_ok().then(|| "none".to_owned())
}

fn processors(root: &mut Root, facts: &mut Facts) {
    facts.cpu_model = root.fact("cpu_model", "/proc/cpuinfo", |text| {
        parse::field(text, "model name").map(str::to_owned)
    });
    let online = root.fact("cpu_threads", &format!("{CPUS}/online"), parse::list);
    facts.cpu_threads = online.as_ref().map(|cpus| cpus.len() as u64);
    facts.cpu_threads_allowed = root.fact("cpu_threads_allowed", "/proc/self/status", |text| {
        parse::list_count(parse::field(text, "Cpus_allowed_list")?)
    });
    facts.cpu_frequency_max_hz = root.fact(
        "cpu_frequency_max_hz",
        &format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"),
        |text| parse::number(text)?.checked_mul(1000),
    );
    let online = online.unwrap_or_default();
    topology(root, facts, &online);
    let governors: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| root.text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")).ok())
        .filter_map(|text| parse::line(&text))
        .collect();
    if governors.is_empty() {
        root.note(
            "cpu_governors",
            "the kernel does not set the frequency here (a hypervisor or the firmware does)",
        );
    } else {
        facts.cpu_governors = Some(governors.into_iter().collect());
    }
    facts.numa_nodes =
        root.fact("numa_nodes", "/sys/devices/system/node/online", parse::list_count);
    facts.numa_balancing = root.fact(
        "numa_balancing",
        "/proc/sys/kernel/numa_balancing",
        // 2 is memory tiering, which moves pages too.
        |text| parse::number(text).map(|mode| mode != 0),
    );
}

/// Sockets and cores: the distinct packages, and the distinct cores in them, of the online
/// processors. One processor that does not say makes both unknown.
fn topology(root: &mut Root, facts: &mut Facts, online: &[u32]) {
    let id = |root: &Root, cpu: u32, file: &str| {
        let text = root.text(&format!("{CPUS}/cpu{cpu}/topology/{file}")).ok()?;
        parse::number(&text)
    };
    let places: Option<BTreeSet<(u64, u64)>> = online
        .iter()
        .map(|&cpu| Some((id(root, cpu, "physical_package_id")?, id(root, cpu, "core_id")?)))
        .collect();
    match places.filter(|places| !places.is_empty()) {
        Some(places) => {
            let sockets: BTreeSet<u64> = places.iter().map(|place| place.0).collect();
            facts.cpu_sockets = Some(sockets.len() as u64);
            facts.cpu_cores = Some(places.len() as u64);
        }
        None => {
            for name in ["cpu_sockets", "cpu_cores"] {
                root.note(name, "the kernel does not know the topology of every CPU");
            }
        }
    }
}

fn memory(root: &mut Root, facts: &mut Facts) {
    let bytes = |root: &mut Root, name: &str, key: &str| {
        root.fact(name, MEMINFO, |text| parse::meminfo_bytes(text, key))
    };
    let count = |root: &mut Root, name: &str, key: &str| {
        root.fact(name, MEMINFO, |text| parse::meminfo_count(text, key))
    };
    facts.memory_total_bytes = bytes(root, "memory_total_bytes", "MemTotal");
    facts.memory_available_bytes = bytes(root, "memory_available_bytes", "MemAvailable");
    facts.swap_total_bytes = bytes(root, "swap_total_bytes", "SwapTotal");
    facts.swap_free_bytes = bytes(root, "swap_free_bytes", "SwapFree");
    facts.huge_page_bytes = bytes(root, "huge_page_bytes", "Hugepagesize");
    facts.huge_pages_total = count(root, "huge_pages_total", "HugePages_Total");
    facts.huge_pages_free = count(root, "huge_pages_free", "HugePages_Free");
    let transparent = "/sys/kernel/mm/transparent_hugepage";
    facts.transparent_huge_pages =
        root.fact("transparent_huge_pages", &format!("{transparent}/enabled"), parse::chosen);
    facts.transparent_huge_pages_defrag =
        root.fact("transparent_huge_pages_defrag", &format!("{transparent}/defrag"), parse::chosen);
    facts.swaps = root.fact("swaps", "/proc/swaps", parse::swaps);
}

fn limits(root: &mut Root, facts: &mut Facts) {
    let mut pair = |soft: &str, hard: &str, name: &str| {
        let found = root.fact(soft, "/proc/self/limits", |text| parse::limits(text, name));
        if found.is_none() {
            root.note(hard, format!("as {soft}"));
        }
        let (soft, hard): (Option<Limit<u64>>, _) = found.unzip();
        (soft, hard)
    };
    (facts.limit_open_files_soft, facts.limit_open_files_hard) =
        pair("limit_open_files_soft", "limit_open_files_hard", "Max open files");
    (facts.limit_processes_soft, facts.limit_processes_hard) =
        pair("limit_processes_soft", "limit_processes_hard", "Max processes");
    (facts.limit_locked_memory_soft_bytes, facts.limit_locked_memory_hard_bytes) = pair(
        "limit_locked_memory_soft_bytes",
        "limit_locked_memory_hard_bytes",
        "Max locked memory",
    );
}

fn sysctls(root: &mut Root, facts: &mut Facts) {
    for name in SYSCTLS {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let value = root.fact(&format!("sysctls.{name}"), &path, |text| {
            // Several numbers are set apart by tabs.
            let words: Vec<&str> = text.split_whitespace().collect();
            (!words.is_empty()).then(|| words.join(" "))
        });
        if let Some(value) = value {
            facts.sysctls.insert((*name).to_owned(), value);
        }
    }
}
