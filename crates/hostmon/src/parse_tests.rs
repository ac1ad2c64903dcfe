use proptest::prelude::*;

use super::*;

const MEMINFO: &str = "MemTotal:       24684096 kB\nMemFree:         1234 kB\n\
    MemAvailable:   23000000 kB\nHugePages_Total:       3\nHugepagesize:       2048 kB\n";
const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
    Max open files            1024                 524288               files     \n\
    Max locked memory         8388608              unlimited            bytes     \n\
    Max nice priority         0                    0                    \n";
const MOUNTINFO: &str = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
    27 1 254:0 / / rw,noatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
    36 27 8:1 /sub /mnt/my\\040disk ro - xfs /dev/sda1 ro,attr2,inode64\n\
    not a mount\n40 27 8:2 / /x rw -\n";

#[test]
fn memory_is_in_bytes_and_absent_keys_are_none() {
    assert_eq!(meminfo_bytes(MEMINFO, "MemTotal"), Some(24_684_096 * 1024));
    assert_eq!(meminfo_count(MEMINFO, "HugePages_Total"), Some(3));
    assert_eq!(meminfo_bytes(MEMINFO, "SwapTotal"), None);
    assert_eq!(meminfo_bytes("MemTotal: x kB", "MemTotal"), None);
    assert_eq!(meminfo_bytes("MemTotal: 5 MB", "MemTotal"), None);
    assert_eq!(meminfo_bytes("MemTotal:", "MemTotal"), None);
    assert_eq!(meminfo_bytes("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
}

#[test]
fn lists_and_choices() {
    assert_eq!(list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
    assert_eq!(list_count("0-3,8\n"), Some(5));
    for bad in ["", "\n", "3-1", "a", "0-", "0-4000000000", "-1"] {
        assert_eq!(list(bad), None, "{bad:?}");
    }
    let text = "always defer [defer+madvise] never\n";
    assert_eq!(chosen(text).as_deref(), Some("defer+madvise"));
    assert_eq!(choices(text).map(|all| all.len()), Some(4));
    assert_eq!(chosen("none"), None);
    assert_eq!(chosen("[]"), None);
    assert_eq!(choices(""), None);
}

#[test]
fn numbers_are_never_made_up() {
    assert_eq!(number("42\n"), Some(42));
    for bad in ["", "\n", "-1\n", "4x", "0x10"] {
        assert_eq!(number(bad), None, "{bad:?}");
    }
    assert_eq!(switch("1\n"), Some(true));
    assert_eq!(switch("0"), Some(false));
    assert_eq!(switch("2"), None);
    assert_eq!(speed_bits_per_s("10000\n"), Some(10_000_000_000));
    assert_eq!(speed_bits_per_s("-1\n"), None);
    assert_eq!(speed_bits_per_s(""), None);
    assert_eq!(speed_bits_per_s("0"), None);
}

#[test]
fn limits_keep_unlimited_apart_from_unknown() {
    assert_eq!(limits(LIMITS, "Max open files"), Some((Limit::At(1024), Limit::At(524_288))));
    assert_eq!(limits(LIMITS, "Max locked memory"), Some((Limit::At(8_388_608), Limit::UNLIMITED)));
    assert_eq!(limits(LIMITS, "Max processes"), None);
    assert_eq!(limits("Max open files", "Max open files"), None);
    assert_eq!(limits("Max open files many more", "Max open files"), None);
    let text = serde_json::to_string(&[Limit::At(5), Limit::UNLIMITED]).expect("json");
    assert_eq!(text, r#"[5,"unlimited"]"#);
    let back: Vec<Limit<u64>> = serde_json::from_str(&text).expect("json");
    assert_eq!(back, [Limit::At(5), Limit::UNLIMITED]);
}

#[test]
fn mounts_are_read_whole_or_not_at_all() {
    let found = mounts(MOUNTINFO);
    assert_eq!(found.len(), 3);
    assert_eq!(found[1].device_number, "254:0");
    assert_eq!(found[1].options, ["rw", "noatime", "discard"]);
    assert_eq!(found[2].mount_point, "/mnt/my disk");
    assert_eq!(found[2].root, "/sub");
    assert_eq!((&*found[2].kind, &*found[2].source), ("xfs", "/dev/sda1"));
}

#[test]
fn swaps_need_their_heading() {
    let text = "Filename\tType\tSize\tUsed\tPriority\n/dev/sdb\\0401 partition 2048 16 -2\n";
    let swap = &swaps(text).expect("swaps")[0];
    assert_eq!(swap.device, "/dev/sdb 1");
    assert_eq!((swap.size_bytes, swap.used_bytes), (2_097_152, 16_384));
    assert_eq!(swaps("Filename Type\n"), Some(vec![]));
    assert_eq!(swaps(""), None);
    assert_eq!(swaps("Filename\n/dev/x partition many 0 0\n"), None);
}

#[test]
fn a_guest_is_told_from_metal() {
    let guest = "flags\t\t: fpu hypervisor vme\n";
    let metal = "flags\t\t: fpu vme\n";
    let arm = "Features\t: fp asimd\n";
    let name = |cpu, vendor, product| virtualisation(cpu, vendor, product);
    assert_eq!(name(guest, "", "").as_deref(), Some("unnamed"));
    assert_eq!(name(guest, "QEMU", "Standard PC").as_deref(), Some("kvm"));
    assert_eq!(
        name(guest, "Microsoft Corporation\n", "Virtual Machine\n").as_deref(),
        Some("hyper-v")
    );
    assert_eq!(name(metal, "Dell Inc.", "R740").as_deref(), Some("none"));
    assert_eq!(name(metal, "Amazon EC2", "i3.metal").as_deref(), Some("none"));
    assert_eq!(name(arm, "", ""), None);
    assert_eq!(name(arm, "Amazon EC2", "m6g").as_deref(), Some("amazon-ec2"));
    assert_eq!(name("", "", ""), None);
}

#[test]
fn disks_are_told_apart_by_their_path() {
    let cases = [
        ("/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "virtio"),
        ("/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", "nvme"),
        ("/devices/pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "sata"),
        ("/devices/pci0/host6/port-6:0/end_device-6:0/target6:0:0/block/sdc", "sas"),
        ("/devices/pci0/usb2/2-1/host7/target7:0:0/block/sdd", "usb"),
        ("/devices/vbd-51712/block/xvda", "xen"),
        ("/devices/virtual/block/dm-0", "device-mapper"),
        ("/devices/virtual/block/md127", "md"),
    ];
    for (path, name) in cases {
        assert_eq!(transport(path), Some(name), "{path}");
    }
    assert_eq!(transport("/devices/platform/thing"), None);
}

#[test]
fn groups_of_both_versions() {
    let text = "4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/u\n";
    assert_eq!(cgroup_path(text, "memory"), Some("/a/b"));
    assert_eq!(cgroup_path(text, "cpu"), Some("/c"));
    assert_eq!(cgroup_path(text, ""), Some("/u"));
    assert_eq!(cgroup_path("4:memory", "memory"), None);
    assert_eq!(cgroup_memory("max\n"), Some(Limit::UNLIMITED));
    assert_eq!(cgroup_memory("9223372036854771712\n"), Some(Limit::UNLIMITED));
    assert_eq!(cgroup_memory("1073741824\n"), Some(Limit::At(1 << 30)));
    assert_eq!(cgroup_memory(""), None);
    assert_eq!(cgroup_cpu_v2("150000 100000\n"), Some(Limit::At(1.5)));
    assert_eq!(cgroup_cpu_v2("max 100000\n"), Some(Limit::UNLIMITED));
    assert_eq!(cgroup_cpu_v2("150000"), None);
    assert_eq!(cgroup_cpu_v2("1 0"), None);
    assert_eq!(cgroup_cpu_v1("-1\n", "100000\n"), Some(Limit::UNLIMITED));
    assert_eq!(cgroup_cpu_v1("50000", "100000"), Some(Limit::At(0.5)));
    assert_eq!(cgroup_cpu_v1("50000", ""), None);
}

#[test]
fn names_and_escapes() {
    let text = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
    assert_eq!(os_name(text).as_deref(), Some("Debian GNU/Linux 12"));
    assert_eq!(os_name("NAME='Alpine'").as_deref(), Some("Alpine"));
    assert_eq!(os_name("PRETTY_NAME=\"\""), None);
    assert_eq!(unescape(r"a\040b\134c"), r"a b\c");
    assert_eq!(unescape(r"\9\04"), r"\9\04");
    assert_eq!(field("model name\t: X : Y\n", "model name"), Some("X : Y"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// No text, however broken, makes a parser panic.
    #[test]
    fn no_text_panics(text in "[ -~\\n\\t\u{e9}]{0,200}", other in ".{0,40}") {
        let _ = (line(&text), number(&text), switch(&text), list(&text), chosen(&text));
        let _ = (choices(&text), os_name(&text), swaps(&text), mounts(&text), unescape(&text));
        let _ = (speed_bits_per_s(&text), transport(&text), cgroup_memory(&text));
        let _ = (cgroup_cpu_v2(&text), cgroup_cpu_v1(&text, &other), cgroup_path(&text, &other));
        let _ = (field(&text, &other), meminfo_bytes(&text, &other), limits(&text, &other));
        let _ = virtualisation(&text, &other, &text);
    }

    /// Escaping as the kernel does and unescaping gives the path back.
    #[test]
    fn escapes_round_trip(path in "[a-z \\\\\\n]{0,30}") {
        let escaped: String = path
            .chars()
            .map(|c| match c {
                ' ' | '\\' | '\n' => format!("\\{:03o}", c as u32),
                _ => c.to_string(),
            })
            .collect();
        prop_assert_eq!(unescape(&escaped), path);
    }
}
