//! Errors in the description or the serving of a disk.

use std::io;
use std::path::PathBuf;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
pub enum SpindleError {
    /// The text is no description of a disk.
    #[error("not a disk: {reason}")]
    Spec {
        /// The text as it was given.
        text: String,
        /// The problem, with its place.
        reason: String,
    },
    /// A field has a value with which no disk can be made.
    #[error("disk {disk}: {field} is {value}, and must be {must}")]
    Setting {
        /// Name of the disk.
        disk: String,
        /// Which field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        must: &'static str,
    },
    /// Two disks have one name.
    #[error("two disks are called {name}")]
    Name {
        /// The name.
        name: String,
    },
    /// The image cannot be made, opened or locked.
    #[error("disk {disk}: image {} cannot be used: {reason}", path.display())]
    Image {
        /// Name of the disk.
        disk: String,
        /// The image.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The image exists and differs in size from the disk.
    #[error("disk {disk}: image {} has {found_bytes} bytes, the disk {size_bytes}", path.display())]
    ImageSize {
        /// Name of the disk.
        disk: String,
        /// The image.
        path: PathBuf,
        /// Size of the image.
        found_bytes: u64,
        /// Size of the disk.
        size_bytes: u64,
    },
    /// The image is another disk's.
    #[error("disk {disk}: image {} is another disk's already", path.display())]
    ImageShared {
        /// Name of the disk.
        disk: String,
        /// The image.
        path: PathBuf,
    },
    /// The file system of the disks cannot be mounted.
    #[error("the disks cannot be mounted on {}: {reason}", path.display())]
    Mount {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
}

impl SpindleError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Spec { .. } => "VEN-SPINDLE-SPEC",
            Self::Setting { .. } => "VEN-SPINDLE-SETTING",
            Self::Name { .. } => "VEN-SPINDLE-NAME",
            Self::Image { .. } => "VEN-SPINDLE-IMAGE",
            Self::ImageSize { .. } => "VEN-SPINDLE-IMAGE-SIZE",
            Self::ImageShared { .. } => "VEN-SPINDLE-IMAGE-SHARED",
            Self::Mount { .. } => "VEN-SPINDLE-MOUNT",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spec { .. } => {
                r#"give a disk as {"name": "d1", "image": "/d1.img", "size_bytes": 1073741824, "mechanism": {"kind": "hdd", "rate_bytes_per_s": 1e8, "seek_average_ms": 8.5, "revolution_ms": 8.33}}"#
            }
            Self::Setting { .. } => "change the field",
            Self::Name { .. } => "give each disk a name of its own",
            Self::Image { .. } => "give a file in a folder that can be written and has space",
            Self::ImageSize { .. } => "give the size of the image, or remove the image",
            Self::ImageShared { .. } => "give each disk an image of its own",
            Self::Mount { .. } => {
                "run as root where /dev/fuse is, on an empty folder; after a kill: umount -l FOLDER"
            }
        }
    }
}

/// Every code of the served disks with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("VEN-SPINDLE-BUSY", "The disks ended while something still used them (a warning)."),
    ("VEN-SPINDLE-IMAGE", "The image of a disk cannot be made, opened or locked."),
    ("VEN-SPINDLE-IMAGE-SHARED", "Two disks have one image, or another process serves it."),
    ("VEN-SPINDLE-IMAGE-SIZE", "The image exists and its size differs from the disk's."),
    ("VEN-SPINDLE-MOUNT", "The file system of the disks cannot be mounted."),
    ("VEN-SPINDLE-NAME", "Two disks have one name."),
    ("VEN-SPINDLE-SETTING", "A disk has a field with which no disk can be made."),
    ("VEN-SPINDLE-SPEC", "A text is no description of a disk."),
];
