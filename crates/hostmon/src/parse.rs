//! From the kernel's text to values. Pure; text that cannot be read is `None`.

use crate::facts::{Limit, Swap};

/// The first line, trimmed; `None` if there is nothing on it.
pub fn line(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// A whole number on the first line.
pub fn number(text: &str) -> Option<u64> {
    line(text)?.parse().ok()
}

/// `0` or `1` on the first line.
pub fn switch(text: &str) -> Option<bool> {
    match number(text)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// The value of `key` in lines such as `MemTotal:  16 kB` or `model name : X`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// `key` of `/proc/meminfo`, in bytes. The kernel's `kB` are 1,024 bytes.
pub fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let (value, unit) = field(text, key)?.split_once(' ')?;
    (unit == "kB").then(|| value.parse::<u64>().ok())?.and_then(|kib| kib.checked_mul(1024))
}

/// `key` of `/proc/meminfo` that is a plain count.
pub fn meminfo_count(text: &str, key: &str) -> Option<u64> {
    field(text, key)?.parse().ok()
}

/// How many numbers a kernel list such as `0-3,8` holds.
pub fn list_count(text: &str) -> Option<u64> {
    Some(list(text)?.len() as u64)
}

/// The numbers of a kernel list such as `0-3,8`.
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in line(text)?.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // The kernel knows at most 8,192 processors; more is no list of its.
        if first > last || last >= 65_536 {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The choice in brackets, as in `always [madvise] never`.
pub fn chosen(text: &str) -> Option<String> {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .filter(|choice| !choice.is_empty())
        .map(str::to_owned)
}

/// All choices, as in `always [madvise] never`, without the brackets.
pub fn choices(text: &str) -> Option<Vec<String>> {
    let words: Vec<String> =
        text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect();
    (!words.is_empty()).then_some(words)
}

/// The distribution's name in `/etc/os-release`: `PRETTY_NAME`, else `NAME`.
pub fn os_name(text: &str) -> Option<String> {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.strip_prefix('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (!value.is_empty()).then(|| value.to_owned())
        })
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

/// The hypervisor according to `/proc/cpuinfo` and the firmware's vendor and product.
///
/// `none` only if the processor's flags are listed without `hypervisor`; without flags (not x86)
/// and with silent firmware, `None`.
pub fn virtualisation(cpuinfo: &str, vendor: &str, product: &str) -> Option<String> {
    const NAMES: &[(&str, &str)] = &[
        ("KVM", "kvm"),
        ("QEMU", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("Google", "google-compute-engine"),
        ("Amazon EC2", "amazon-ec2"),
        ("Microsoft Corporation Virtual Machine", "hyper-v"),
        ("Parallels", "parallels"),
        ("OpenStack", "kvm"),
    ];
    let flags = field(cpuinfo, "flags");
    let guest = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let firmware = format!("{} {}", vendor.trim(), product.trim());
    let name = NAMES.iter().find_map(|(text, name)| firmware.contains(text).then_some(*name));
    match (guest, name) {
        // Bare metal of a cloud has the cloud's name in its firmware too.
        (Some(false), _) => Some("none".to_owned()),
        (_, Some(name)) => Some(name.to_owned()),
        (Some(true), None) => Some("unnamed".to_owned()),
        (None, None) => None,
    }
}

/// The soft and hard limit called `name` in `/proc/self/limits`.
pub fn limits(text: &str, name: &str) -> Option<(Limit<u64>, Limit<u64>)> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = rest.split_whitespace();
    Some((limit(words.next()?)?, limit(words.next()?)?))
}

fn limit(word: &str) -> Option<Limit<u64>> {
    match word {
        "unlimited" => Some(Limit::UNLIMITED),
        _ => word.parse().ok().map(Limit::At),
    }
}

/// The areas of `/proc/swaps`; `None` unless it has its heading.
pub fn swaps(text: &str) -> Option<Vec<Swap>> {
    let mut lines = text.lines();
    lines.next()?.starts_with("Filename").then_some(())?;
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            let mut next = || words.next();
            Some(Swap {
                device: unescape(next()?),
                kind: next()?.to_owned(),
                size_bytes: next()?.parse::<u64>().ok()?.checked_mul(1024)?,
                used_bytes: next()?.parse::<u64>().ok()?.checked_mul(1024)?,
            })
        })
        .collect()
}

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` of the file system.
    pub device_number: String,
    /// The mounted part of the file system.
    pub root: String,
    /// Where.
    pub mount_point: String,
    /// File-system type.
    pub kind: String,
    /// The mounted source.
    pub source: String,
    /// Options of the mount, then those of the file system that are not among them.
    pub options: Vec<String>,
}

/// The mounts of `/proc/self/mountinfo`; lines that cannot be read are left out.
pub fn mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(mount).collect()
}

fn mount(line: &str) -> Option<Mount> {
    // id parent major:minor root point options [tag...] - type source super-options
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    let [_, _, number, root, point, options, ..] = left.as_slice() else {
        return None;
    };
    let kind = right.next().filter(|kind| !kind.is_empty())?;
    let source = right.next()?;
    let mut all: Vec<String> = options.split(',').map(str::to_owned).collect();
    for option in right.next().unwrap_or("").split(',') {
        if !option.is_empty() && !all.iter().any(|known| known == option) {
            all.push(option.to_owned());
        }
    }
    Some(Mount {
        device_number: (*number).to_owned(),
        root: unescape(root),
        mount_point: unescape(point),
        kind: kind.to_owned(),
        source: unescape(source),
        options: all,
    })
}

/// Undoes the kernel's octal escapes (`\040` is a space).
pub fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes
            .get(at + 1..at + 4)
            .filter(|_| bytes[at] == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(octal.unwrap_or(bytes[at]));
        at += if octal.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Link speed in bits per second from sysfs's Mbit/s, where -1 means "unknown".
pub fn speed_bits_per_s(text: &str) -> Option<u64> {
    let mbit: i64 = line(text)?.parse().ok()?;
    u64::try_from(mbit).ok().filter(|&mbit| mbit > 0)?.checked_mul(1_000_000)
}

/// How a disk is attached, by the path of its device in sysfs.
pub fn transport(path: &str) -> Option<&'static str> {
    const MARKS: &[(&str, &str)] = &[
        ("/virtual/block/dm-", "device-mapper"),
        ("/virtual/block/md", "md"),
        ("/virtual/block/loop", "loop"),
        ("/virtual/block/zram", "zram"),
        ("/usb", "usb"),
        ("/nvme", "nvme"),
        ("/virtio", "virtio"),
        ("/vbd-", "xen"),
        ("/vmbus", "hyper-v"),
        ("/mmc", "mmc"),
        ("/end_device-", "sas"),
        ("/ata", "sata"),
        ("/target", "scsi"),
    ];
    MARKS.iter().find_map(|(mark, name)| path.contains(mark).then_some(*name))
}

/// This process's path in the group hierarchy of `controller` (`memory`, `cpu`), or of the unified
/// one if `controller` is empty, from `/proc/self/cgroup`.
pub fn cgroup_path<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// `memory.max` (version 2) or `memory.limit_in_bytes` (version 1, where a number close to 2^63
/// stands for "none").
pub fn cgroup_memory(text: &str) -> Option<Limit<u64>> {
    match line(text)?.as_str() {
        "max" => Some(Limit::UNLIMITED),
        word => word
            .parse::<u64>()
            .ok()
            .map(|bytes| if bytes >= 1 << 62 { Limit::UNLIMITED } else { Limit::At(bytes) }),
    }
}

/// `cpu.max` (version 2): quota and period in microseconds, as cores.
pub fn cgroup_cpu_v2(text: &str) -> Option<Limit<f64>> {
    let line = line(text)?;
    let (quota, period) = line.split_once(' ')?;
    match quota {
        "max" => Some(Limit::UNLIMITED),
        _ => cores(quota.parse().ok()?, period.parse().ok()?),
    }
}

/// `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1), as cores; a quota of -1 is unlimited.
pub fn cgroup_cpu_v1(quota: &str, period: &str) -> Option<Limit<f64>> {
    match line(quota)?.as_str() {
        "-1" => Some(Limit::UNLIMITED),
        word => cores(word.parse().ok()?, number(period)?),
    }
}

fn cores(quota_us: u64, period_us: u64) -> Option<Limit<f64>> {
    (period_us > 0 && quota_us > 0).then(|| Limit::At(quota_us as f64 / period_us as f64))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
