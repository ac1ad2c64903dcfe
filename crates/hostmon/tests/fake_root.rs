//! The reader and the sampler on a made-up `/proc` and `/sys`.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use hostmon::{Facts, Limit, Row, Sampler, collect};
use tempfile::TempDir;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    fs::write(path, text).expect("file");
}

fn link(root: &Path, path: &str, target: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    symlink(target, path).expect("link");
}

/// A worker of a small cluster: two sockets, one `NVMe` disk, one bond, groups of version 2.
fn worker() -> TempDir {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = dir.path();
    for (path, text) in [
        ("proc/sys/kernel/hostname", "worker7\n"),
        ("proc/sys/kernel/random/boot_id", "b-1\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ("proc/cpuinfo", "model name\t: Xeon\nflags\t\t: fpu vme\n"),
        ("proc/self/status", "Cpus_allowed_list:\t0-1\n"),
        ("proc/self/limits", "Max open files  1024  unlimited  files\n"),
        ("proc/self/cgroup", "0::/jobs/a\n"),
        (
            "proc/self/mountinfo",
            "1 0 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw\n\
             2 1 0:5 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
             3 1 0:6 / /mnt/far rw - nfs4 server:/x rw\n\
             4 1 0:7 / /run/lock rw - tmpfs tmpfs rw\n\
             5 1 0:8 / /tmp rw - tmpfs tmpfs rw\n",
        ),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
        ("sys/fs/cgroup/jobs/cgroup.controllers", "cpu memory\n"),
        ("sys/fs/cgroup/jobs/memory.max", "2147483648\n"),
        ("sys/fs/cgroup/jobs/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/jobs/a/memory.max", "max\n"),
        ("sys/fs/cgroup/jobs/a/cpu.max", "150000 100000\n"),
        ("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: nonsense\n"),
        ("sys/devices/system/cpu/online", "0-2\n"),
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("sys/class/net/bond0/mtu", "9000\n"),
        ("sys/class/net/bond0/type", "1\n"),
        ("sys/class/net/bond0/speed", "20000\n"),
        ("sys/class/net/bond0/operstate", "up\n"),
        ("sys/class/net/bonding_masters", "bond0\n"),
        ("sys/devices/pci0/nvme/nvme0/nvme0n1/size", "2048\n"),
        ("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/rotational", "0\n"),
        ("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/scheduler", "[none] mq-deadline\n"),
        ("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/read_ahead_kb", "128\n"),
        ("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n"),
        ("sys/block/loop0/size", "0\n"),
    ] {
        put(root, path, text);
    }
    let disk = "../devices/pci0/nvme/nvme0/nvme0n1";
    link(root, "sys/block/nvme0n1", disk);
    link(root, "sys/dev/block/259:1", &format!("../{disk}/nvme0n1p1"));
    for (cpu, socket, core) in [(0, 0, 0), (1, 0, 0), (2, 1, 0)] {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        put(root, &format!("{folder}/physical_package_id"), &format!("{socket}\n"));
        put(root, &format!("{folder}/core_id"), &format!("{core}\n"));
    }
    dir
}

#[test]
fn facts_of_a_worker() {
    let dir = worker();
    let facts = collect(dir.path()).expect("facts");
    assert_eq!(facts.hostname.as_deref(), Some("worker7"));
    assert_eq!(facts.virtualisation.as_deref(), Some("none"));
    assert_eq!(
        (facts.cpu_sockets, facts.cpu_cores, facts.cpu_threads),
        (Some(2), Some(2), Some(3)),
        "two threads of one core, and one core of another socket"
    );
    assert_eq!(facts.cpu_threads_allowed, Some(2));
    assert_eq!(facts.numa_nodes, Some(2));
    assert_eq!(facts.memory_total_bytes, Some(1 << 20));
    assert_eq!(facts.limit_open_files_soft, Some(Limit::At(1024)));
    assert_eq!(facts.limit_open_files_hard, Some(Limit::UNLIMITED));
    assert_eq!(facts.transparent_huge_pages.as_deref(), Some("always"));
    assert_eq!(facts.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    let interface = &facts.network_interfaces.as_ref().expect("interfaces")[0];
    assert_eq!((&*interface.name, &*interface.kind), ("bond0", "virtual"));
    assert_eq!(interface.speed_bits_per_s, Some(20_000_000_000));
    let text = serde_json::to_string(&facts).expect("json");
    let back: Facts = serde_json::from_str(&text).expect("the same type");
    assert_eq!(back, facts);
}

#[test]
fn limits_of_ancestors_bind_too() {
    let dir = worker();
    let facts = collect(dir.path()).expect("facts");
    assert_eq!(facts.cgroup_version, Some(2));
    assert_eq!(facts.cgroup_memory_limit_bytes, Some(Limit::At(1 << 31)));
    assert_eq!(facts.cgroup_cpu_limit_cores, Some(Limit::At(1.5)));
}

#[test]
fn version_1_groups_inside_a_container() {
    let dir = worker();
    put(dir.path(), "proc/self/cgroup", "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n");
    put(
        dir.path(),
        "proc/self/mountinfo",
        "1 0 0:5 /docker/x /cg/memory rw - cgroup cgroup rw,memory\n\
         2 0 0:6 /docker/x /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
    );
    put(dir.path(), "cg/memory/memory.limit_in_bytes", "4096\n");
    put(dir.path(), "cg/cpu/cpu.cfs_quota_us", "-1\n");
    put(dir.path(), "cg/cpu/cpu.cfs_period_us", "100000\n");
    let facts = collect(dir.path()).expect("facts");
    assert_eq!(facts.cgroup_version, Some(1));
    assert_eq!(facts.cgroup_memory_limit_bytes, Some(Limit::At(4096)));
    assert_eq!(facts.cgroup_cpu_limit_cores, Some(Limit::UNLIMITED));
}

#[test]
fn disks_and_what_lies_on_them() {
    let dir = worker();
    let facts = collect(dir.path()).expect("facts");
    let disks = facts.block_devices.expect("disks");
    assert_eq!(disks.len(), 1, "a loop device without a file is no disk");
    assert_eq!(disks[0].size_bytes, Some(2048 * 512));
    assert_eq!(disks[0].rotational, Some(false));
    assert_eq!(disks[0].transport.as_deref(), Some("nvme"));
    assert_eq!(disks[0].scheduler.as_deref(), Some("none"));
    assert_eq!(disks[0].read_ahead_bytes, Some(128 * 1024));
    let systems = facts.file_systems.expect("file systems");
    let points: Vec<&str> = systems.iter().map(|fs| &*fs.mount_point).collect();
    assert_eq!(points, ["/", "/mnt/far", "/tmp"]);
    assert_eq!(systems[0].block_device.as_deref(), Some("nvme0n1"));
    assert_eq!(systems[1].block_device, None);
    assert_eq!(systems[1].free_bytes, None);
    assert!(facts.missing["file_systems./mnt/far.free_bytes"].contains("server is away"));
}

#[test]
fn every_absent_fact_has_a_reason() {
    let dir = worker();
    let facts = collect(dir.path()).expect("facts");
    assert_eq!(facts.missing["memory_available_bytes"], "/proc/meminfo: does not say");
    let value = serde_json::to_value(&facts).expect("json");
    let absent: Vec<&String> = value
        .as_object()
        .expect("object")
        .iter()
        .filter_map(|(name, value)| value.is_null().then_some(name))
        .collect();
    assert!(absent.len() > 5, "this tree lacks much: {absent:?}");
    for name in absent {
        assert!(facts.missing.contains_key(name), "{name} has no reason");
    }
    assert!(!facts.sysctls.contains_key("net.core.somaxconn"));
    assert_eq!(
        facts.missing["sysctls.net.core.somaxconn"],
        "/proc/sys/net/core/somaxconn: not there"
    );
}

#[test]
fn no_proc_is_an_error_with_a_code() {
    let dir = tempfile::tempdir().expect("tempdir");
    let error = collect(dir.path()).expect_err("no /proc");
    assert_eq!(error.code(), "VEN-HOST-PROC");
    let error = Sampler::open(dir.path()).err().expect("no /proc/stat");
    assert_eq!(error.code(), "VEN-HOST-PROC");
    assert!(!error.hint().is_empty());
}

fn value(rows: &[Row], metric: &str, device: Option<&str>) -> Option<f64> {
    rows.iter()
        .find(|row| row.metric == metric && row.device.as_deref() == device)
        .map(|row| row.value)
}

fn counters(root: &Path, user: u64, sectors: u64, received: u64) {
    put(root, "proc/stat", &format!("cpu {user} 0 0 {} 0 0 0 0 0 0\n", 2 * user));
    put(
        root,
        "proc/diskstats",
        &format!(
            " 259 0 nvme0n1 9 0 {sectors} 0 0 0 0 0 0 {sectors} 0\n\
             259 1 nvme0n1p1 9 0 {sectors} 0 0 0 0 0 0 1 0\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
        ),
    );
    put(
        root,
        "proc/net/dev",
        &format!(
            "Inter-| Receive\n face |bytes\n eth0: {received} 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n"
        ),
    );
    put(root, "proc/vmstat", &format!("pgpgin {sectors}\nnuma_miss {user}\n"));
    put(root, "proc/pressure/io", &format!("some total={}\nfull total=0\n", user * 1000));
}

#[test]
fn rates_of_a_fake_host() {
    let dir = worker();
    counters(dir.path(), 100, 1000, 5000);
    let mut sampler = Sampler::open(dir.path()).expect("sampler");
    let missing = sampler.missing();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].starts_with("/proc/pressure/cpu: "));

    let first = sampler.sample(Duration::ZERO).to_vec();
    assert!(
        first.iter().all(|row| row.unit == "B" && row.device.is_none()),
        "no rate from one reading: {first:?}"
    );
    assert_eq!(value(&first, "memory_available_bytes", None), None);

    counters(dir.path(), 200, 3000, 9000);
    let rows = sampler.sample(Duration::from_secs(2)).to_vec();
    assert_eq!(value(&rows, "cpu_user", None), Some(1.0 / 3.0));
    assert_eq!(value(&rows, "cpu_idle", None), Some(2.0 / 3.0));
    let disk = Some("nvme0n1");
    assert_eq!(value(&rows, "disk_read_bytes_per_s", disk), Some(512_000.0));
    assert_eq!(value(&rows, "disk_write_bytes_per_s", disk), Some(0.0));
    assert_eq!(value(&rows, "disk_busy", disk), Some(1.0));
    assert_eq!(value(&rows, "disk_busy", Some("nvme0n1p1")), None, "a partition");
    assert_eq!(value(&rows, "disk_busy", Some("loop0")), None, "never used");
    assert_eq!(value(&rows, "net_receive_bytes_per_s", Some("eth0")), Some(2000.0));
    assert_eq!(value(&rows, "page_in_bytes_per_s", None), Some(1_024_000.0));
    assert_eq!(value(&rows, "page_out_bytes_per_s", None), None, "not in this kernel");
    assert_eq!(value(&rows, "numa_miss_pages_per_s", None), Some(50.0));
    let stalled = value(&rows, "pressure_io_some", None).expect("pressure");
    assert!((stalled - 0.05).abs() < 1e-12);
}

#[test]
fn a_reset_counter_gives_no_row_and_then_rates_again() {
    let dir = worker();
    counters(dir.path(), 100, 1000, 5000);
    let mut sampler = Sampler::open(dir.path()).expect("sampler");
    sampler.sample(Duration::ZERO);
    counters(dir.path(), 50, 10, 1);
    let rows = sampler.sample(Duration::from_secs(1)).to_vec();
    assert_eq!(value(&rows, "cpu_user", None), None);
    assert_eq!(value(&rows, "disk_read_bytes_per_s", Some("nvme0n1")), None);
    assert_eq!(value(&rows, "net_receive_bytes_per_s", Some("eth0")), None);
    assert_eq!(value(&rows, "net_transmit_bytes_per_s", Some("eth0")), Some(0.0));
    counters(dir.path(), 60, 20, 101);
    let rows = sampler.sample(Duration::from_secs(2)).to_vec();
    assert_eq!(value(&rows, "disk_read_bytes_per_s", Some("nvme0n1")), Some(5120.0));
    assert_eq!(value(&rows, "net_receive_bytes_per_s", Some("eth0")), Some(100.0));
    assert!(rows.iter().all(|row| row.value >= 0.0));
}

#[test]
fn this_host_can_be_read() {
    let facts = collect(Path::new("/")).expect("facts");
    assert!(facts.memory_total_bytes.expect("memory") > 1 << 20);
    assert!(facts.cpu_threads.expect("threads") >= 1);
    assert!(!facts.kernel_release.expect("kernel").is_empty());
    let mut sampler = Sampler::open(Path::new("/")).expect("sampler");
    sampler.sample(Duration::ZERO);
    std::thread::sleep(Duration::from_millis(120));
    let rows = sampler.sample(Duration::from_millis(120));
    let shares: f64 =
        rows.iter().filter(|row| row.metric.starts_with("cpu_")).map(|row| row.value).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}
