//! Block devices, file systems and network interfaces.

use std::path::Path;

use crate::facts::{BlockDevice, FileSystem, NetworkInterface};
use crate::parse::{self, Mount};
use crate::root::Root;

/// File systems without data of their own.
const PSEUDO: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tracefs",
];
/// Folders with memory file systems that belong to the system.
const SYSTEM: &[&str] = &["/proc", "/sys", "/dev", "/run"];
/// Network file systems: asking for their space can hang while the server is away.
const REMOTE: &[&str] =
    &["9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3"];

/// Whole block devices that have a size.
pub(crate) fn block_devices(root: &mut Root) -> Option<Vec<BlockDevice>> {
    let names = match root.names("/sys/block") {
        Ok(names) => names,
        Err(reason) => {
            root.note("block_devices", reason);
            return None;
        }
    };
    let has_size = |name: &String| {
        let sectors = root.text(&format!("/sys/block/{name}/size")).ok();
        sectors.and_then(|text| parse::number(&text)) != Some(0)
    };
    let present: Vec<String> = names.into_iter().filter(has_size).collect();
    Some(present.iter().map(|name| block_device(root, name)).collect())
}

fn block_device(root: &mut Root, name: &str) -> BlockDevice {
    let fact = |field: &str| format!("block_devices.{name}.{field}");
    let queue = |file: &str| format!("/sys/block/{name}/queue/{file}");
    let number = |root: &mut Root, field: &str, file: &str| {
        root.fact(&fact(field), &queue(file), parse::number)
    };
    let scheduler = root.fact(&fact("scheduler"), &queue("scheduler"), |text| {
        // A device without a choice of schedulers has one word and no brackets.
        parse::chosen(text).or_else(|| parse::line(text))
    });
    let path = std::fs::canonicalize(root.join(&format!("/sys/block/{name}"))).ok();
    let transport =
        path.as_deref().and_then(Path::to_str).and_then(parse::transport).map(str::to_owned);
    if transport.is_none() {
        root.note(&fact("transport"), "its path in /sys names no known bus");
    }
    BlockDevice {
        size_bytes: root.fact(
            &fact("size_bytes"),
            &format!("/sys/block/{name}/size"),
            // The kernel counts sectors of 512 bytes whatever the device's own block is.
            |text| parse::number(text)?.checked_mul(512),
        ),
        rotational: root.fact(&fact("rotational"), &queue("rotational"), parse::switch),
        transport,
        scheduler,
        schedulers: root.text(&queue("scheduler")).ok().and_then(|text| parse::choices(&text)),
        model: root.fact(&fact("model"), &format!("/sys/block/{name}/device/model"), parse::line),
        logical_block_bytes: number(root, "logical_block_bytes", "logical_block_size"),
        physical_block_bytes: number(root, "physical_block_bytes", "physical_block_size"),
        write_cache: root.fact(&fact("write_cache"), &queue("write_cache"), parse::line),
        read_ahead_bytes: number(root, "read_ahead_bytes", "read_ahead_kb")
            .and_then(|kib| kib.checked_mul(1024)),
        queue_requests: number(root, "queue_requests", "nr_requests"),
        name: name.to_owned(),
    }
}

/// Mounted file systems that can hold data.
pub(crate) fn file_systems(root: &mut Root, mounts: &[Mount]) -> Vec<FileSystem> {
    mounts
        .iter()
        .filter(|mount| !PSEUDO.contains(&&*mount.kind))
        .filter(|mount| {
            let below = |folder: &&&str| {
                let rest = mount.mount_point.strip_prefix(**folder);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            mount.kind != "tmpfs" || !SYSTEM.iter().any(|folder| below(&folder))
        })
        .map(|mount| file_system(root, mount))
        .collect()
}

fn file_system(root: &mut Root, mount: &Mount) -> FileSystem {
    let remote = REMOTE.contains(&&*mount.kind) || mount.kind.starts_with("fuse.");
    let space = if remote {
        Err("not asked: it would hang while the server is away".to_owned())
    } else if !root.is_host() {
        Err("not asked: the facts are read under another root".to_owned())
    } else {
        rustix::fs::statvfs(&*mount.mount_point).map_err(|error| error.to_string())
    };
    let (total_bytes, free_bytes) = match space {
        Ok(space) => {
            (space.f_blocks.checked_mul(space.f_frsize), space.f_bavail.checked_mul(space.f_frsize))
        }
        Err(reason) => {
            for field in ["total_bytes", "free_bytes"] {
                let name = format!("file_systems.{}.{field}", mount.mount_point);
                root.note(&name, &*reason);
            }
            (None, None)
        }
    };
    FileSystem {
        mount_point: mount.mount_point.clone(),
        kind: mount.kind.clone(),
        device: mount.source.clone(),
        block_device: whole_device(root, mount),
        options: mount.options.clone(),
        total_bytes,
        free_bytes,
    }
}

/// The whole block device (a disk, not its partition) under a file system.
///
/// File systems with their own device numbers (btrfs) are found by the name of the mounted device.
fn whole_device(root: &Root, mount: &Mount) -> Option<String> {
    let by_number = format!("/sys/dev/block/{}", mount.device_number);
    let by_name = format!("/sys/class/block/{}", mount.source.strip_prefix("/dev/").unwrap_or("-"));
    let path =
        [by_number, by_name].iter().find_map(|path| std::fs::canonicalize(root.join(path)).ok())?;
    let is_partition = path.join("partition").exists();
    let whole = if is_partition { path.parent()? } else { &path };
    Some(whole.file_name()?.to_str()?.to_owned())
}

/// All network interfaces.
pub(crate) fn network_interfaces(root: &mut Root) -> Option<Vec<NetworkInterface>> {
    const CLASS: &str = "/sys/class/net";
    match root.names(CLASS) {
        Ok(names) => Some(
            names
                .iter()
                .filter(|name| root.join(&format!("{CLASS}/{name}/mtu")).exists())
                .cloned()
                .collect::<Vec<String>>()
                .iter()
                .map(|name| network_interface(root, name))
                .collect(),
        ),
        Err(reason) => {
            root.note("network_interfaces", reason);
            None
        }
    }
}

fn network_interface(root: &mut Root, name: &str) -> NetworkInterface {
    const ARPHRD_LOOPBACK: u64 = 772;
    let fact = |field: &str| format!("network_interfaces.{name}.{field}");
    let file = |file: &str| format!("/sys/class/net/{name}/{file}");
    let arp_type = root.text(&file("type")).ok();
    let kind = if arp_type.and_then(|text| parse::number(&text)) == Some(ARPHRD_LOOPBACK) {
        "loopback"
    } else if root.join(&file("device")).exists() {
        "physical"
    } else {
        "virtual"
    };
    let driver = root
        .link(&file("device/driver"))
        .and_then(|path| path.rsplit('/').next().map(str::to_owned));
    if driver.is_none() {
        root.note(&fact("driver"), "no device with a driver is behind it");
    }
    let speed_bits_per_s =
        root.text(&file("speed")).ok().and_then(|text| parse::speed_bits_per_s(&text));
    if speed_bits_per_s.is_none() {
        root.note(&fact("speed_bits_per_s"), "the driver reports no link speed");
    }
    NetworkInterface {
        name: name.to_owned(),
        kind: kind.to_owned(),
        state: root.fact(&fact("state"), &file("operstate"), parse::line),
        speed_bits_per_s,
        mtu_bytes: root.fact(&fact("mtu_bytes"), &file("mtu"), parse::number),
        driver,
    }
}
