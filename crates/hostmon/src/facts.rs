//! Facts about a host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of [`Facts`]; raised when a reader of the old one would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// The one value of [`Limit::Unlimited`], written as the text `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    /// There is no limit.
    Unlimited,
}

/// A limit that is known: a number, or none at all. (`None` of `Option<Limit>` is "not known".)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Limit<T> {
    /// The limit.
    At(T),
    /// There is no limit.
    Unlimited(Unlimited),
}

impl<T> Limit<T> {
    /// The absence of a limit.
    pub const UNLIMITED: Self = Self::Unlimited(Unlimited::Unlimited);
}

/// One host. An unavailable fact is `None`, and `missing` says why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The kernel's host name.
    pub hostname: Option<String>,
    /// Changes at every boot.
    pub boot_id: Option<String>,
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// The distribution's name and version.
    pub os_name: Option<String>,
    /// Architecture of the running agent: `x86_64`, `aarch64`.
    pub architecture: String,
    /// `none`, a hypervisor's name, or `unnamed` if there is one that hides its name.
    pub virtualisation: Option<String>,
    /// `none`, or the container manager's name.
    pub container: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,

    /// Model name of the first processor.
    pub cpu_model: Option<String>,
    /// Processor packages.
    pub cpu_sockets: Option<u64>,
    /// Physical cores, of all sockets.
    pub cpu_cores: Option<u64>,
    /// Logical processors that are online.
    pub cpu_threads: Option<u64>,
    /// Logical processors this process may run on (affinity and cpuset).
    pub cpu_threads_allowed: Option<u64>,
    /// Highest frequency of the first processor.
    pub cpu_frequency_max_hz: Option<u64>,
    /// The frequency governors in use, each once.
    pub cpu_governors: Option<Vec<String>>,
    /// Memory nodes that are online.
    pub numa_nodes: Option<u64>,
    /// Whether the kernel moves pages between nodes by itself.
    pub numa_balancing: Option<bool>,

    /// Memory the kernel manages.
    pub memory_total_bytes: Option<u64>,
    /// Memory that is usable without swapping.
    pub memory_available_bytes: Option<u64>,
    /// Swap space in all.
    pub swap_total_bytes: Option<u64>,
    /// Swap space not in use.
    pub swap_free_bytes: Option<u64>,
    /// Size of an explicit huge page.
    pub huge_page_bytes: Option<u64>,
    /// Explicit huge pages reserved.
    pub huge_pages_total: Option<u64>,
    /// Explicit huge pages not in use.
    pub huge_pages_free: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub transparent_huge_pages_defrag: Option<String>,

    /// 1 or 2: the version that holds this process's memory controller.
    pub cgroup_version: Option<u32>,
    /// The least memory limit of this process's group and its ancestors.
    pub cgroup_memory_limit_bytes: Option<Limit<u64>>,
    /// The least CPU quota of this process's group and its ancestors, in cores.
    pub cgroup_cpu_limit_cores: Option<Limit<f64>>,
    /// Open files a process may have.
    pub limit_open_files_soft: Option<Limit<u64>>,
    /// Open files a process may ask for.
    pub limit_open_files_hard: Option<Limit<u64>>,
    /// Processes and threads a user may have.
    pub limit_processes_soft: Option<Limit<u64>>,
    /// Processes and threads a user may ask for.
    pub limit_processes_hard: Option<Limit<u64>>,
    /// Memory a process may lock.
    pub limit_locked_memory_soft_bytes: Option<Limit<u64>>,
    /// Memory a process may ask to lock.
    pub limit_locked_memory_hard_bytes: Option<Limit<u64>>,

    /// Kernel settings by name, in the kernel's own text and units.
    pub sysctls: BTreeMap<String, String>,
    /// Swap areas; `None` if the list could not be read.
    pub swaps: Option<Vec<Swap>>,
    /// Whole block devices that have a size; `None` if the list could not be read.
    pub block_devices: Option<Vec<BlockDevice>>,
    /// Mounted file systems that can hold data; `None` if the list could not be read.
    pub file_systems: Option<Vec<FileSystem>>,
    /// Network interfaces, loopback among them; `None` if the list could not be read.
    pub network_interfaces: Option<Vec<NetworkInterface>>,

    /// Why a fact is absent: its name (`block_devices.sda.model`) and the reason.
    pub missing: BTreeMap<String, String>,
}

/// One swap area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// Device or file.
    pub device: String,
    /// `partition` or `file`.
    pub kind: String,
    /// Its size.
    pub size_bytes: u64,
    /// How much of it is in use.
    pub used_bytes: u64,
}

/// One whole block device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// The kernel's name, without `/dev/`.
    pub name: String,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Whether the driver says it turns (virtual disks often say so of flash).
    pub rotational: Option<bool>,
    /// `nvme`, `sata`, `sas`, `scsi`, `usb`, `virtio`, `xen`, `mmc`, `device-mapper`, `md`,
    /// `loop`.
    pub transport: Option<String>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// The I/O schedulers there are.
    pub schedulers: Option<Vec<String>>,
    /// The maker's model name.
    pub model: Option<String>,
    /// Alignment required for direct I/O.
    pub logical_block_bytes: Option<u64>,
    /// Size of the device's physical writes.
    pub physical_block_bytes: Option<u64>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// How far the kernel reads ahead.
    pub read_ahead_bytes: Option<u64>,
    /// Requests the block layer queues.
    pub queue_requests: Option<u64>,
}

/// One mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Where it is mounted.
    pub mount_point: String,
    /// `ext4`, `xfs`, `tmpfs`, ...
    pub kind: String,
    /// The mounted device or server export.
    pub device: String,
    /// The whole block device under it, if there is exactly one.
    pub block_device: Option<String>,
    /// Options of the mount and of the file system, each once, in the kernel's order.
    pub options: Vec<String>,
    /// Its size.
    pub total_bytes: Option<u64>,
    /// Space that an ordinary user may still write.
    pub free_bytes: Option<u64>,
}

/// One network interface, without its addresses, which are private.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkInterface {
    /// The kernel's name.
    pub name: String,
    /// `loopback`, `physical` (it has a device), `virtual` (bridge, bond, veth, tunnel).
    pub kind: String,
    /// `up`, `down`, `unknown`, ... as the kernel says.
    pub state: Option<String>,
    /// Link speed, one direction.
    pub speed_bits_per_s: Option<u64>,
    /// Largest packet.
    pub mtu_bytes: Option<u64>,
    /// The kernel driver.
    pub driver: Option<String>,
}
