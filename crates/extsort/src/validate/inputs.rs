//! Which files are meant, in which order, and how long they are.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::ValidateError;
use crate::checksum::RecordSum;
use crate::io::manifest::{Listing, MANIFEST, PartFile};
use crate::io::stamp::{self, Rigour, Stamp};
use crate::record::Format;

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    /// Length when it was found.
    pub(super) bytes: u64,
    /// The manifest that lists it and how many records it promises.
    pub(super) promised: Option<(PathBuf, u64)>,
    stamp: Stamp,
}

/// The files to read.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) files: Vec<InputFile>,
    /// Manifests that say what the checksum of their files is together.
    sums: Vec<PromisedSum>,
}

struct PromisedSum {
    manifest: PathBuf,
    checksum: String,
    files: Range<usize>,
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> ValidateError {
    |source| ValidateError::Input { path: path.to_owned(), source }
}

/// The files behind `inputs`, in order.
pub(super) fn find(inputs: &[PathBuf], format: Format) -> Result<Inputs, ValidateError> {
    let mut found = Inputs::default();
    for input in inputs {
        if input.metadata().map_err(unreadable(input))?.is_dir() {
            let manifest = input.join(MANIFEST);
            if manifest.is_file() {
                listed(&manifest, &mut found)?;
            } else {
                parts(input, &mut found.files)?;
            }
        } else if input.extension().is_some_and(|extension| extension == "json") {
            listed(input, &mut found)?;
        } else {
            found.files.push(file(input.clone())?);
        }
    }
    if let Format::Fixed { record, .. } = format {
        found.files.iter().try_for_each(|file| check_length(file, record as u64))?;
    }
    Ok(found)
}

/// Fails if a file is no longer the one that was found.
pub(super) fn check_unchanged(files: &[InputFile]) -> Result<(), ValidateError> {
    for InputFile { path, stamp, .. } in files {
        if let Some(change) = stamp.change(path, Rigour::Content).map_err(unreadable(path))? {
            return Err(ValidateError::Changed { path: path.clone(), change });
        }
    }
    Ok(())
}

/// Fails unless the records of every manifest's files have the checksum that it names; `sums` are
/// those of the files.
pub(super) fn check_sums(inputs: &Inputs, sums: &[RecordSum]) -> Result<(), ValidateError> {
    for PromisedSum { manifest, checksum, files } in &inputs.sums {
        let found = sums[files.clone()].iter().copied().sum::<RecordSum>().to_string();
        if found != *checksum {
            let (path, promised) = (manifest.clone(), checksum.clone());
            return Err(ValidateError::Content { path, promised, found });
        }
    }
    Ok(())
}

/// Fails unless a file holds as many records as its manifest says.
pub(super) fn check_records(file: &InputFile, records: u128) -> Result<(), ValidateError> {
    match &file.promised {
        Some((manifest, promised)) if records != u128::from(*promised) => {
            Err(ValidateError::Manifest {
                path: manifest.clone(),
                reason: format!(
                    "{} should have {promised} records and has {records}",
                    file.path.display()
                ),
            })
        }
        _ => Ok(()),
    }
}

fn check_length(file: &InputFile, record_bytes: u64) -> Result<(), ValidateError> {
    let remainder_bytes = file.bytes % record_bytes;
    if remainder_bytes != 0 {
        return Err(ValidateError::Length {
            path: file.path.clone(),
            size_bytes: file.bytes,
            record_bytes,
            remainder_bytes,
        });
    }
    check_records(file, u128::from(file.bytes / record_bytes))
}

fn file(path: PathBuf) -> Result<InputFile, ValidateError> {
    // Looking first: opening a pipe would wait for its writer.
    if !path.metadata().map_err(unreadable(&path))?.is_file() {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(ValidateError::Input { path, source });
    }
    let metadata = stamp::describe(&path).map_err(unreadable(&path))?;
    let stamp = Stamp::of(&metadata);
    Ok(InputFile { path, bytes: metadata.len(), promised: None, stamp })
}

fn parts(dir: &Path, files: &mut Vec<InputFile>) -> Result<(), ValidateError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable(dir))? {
        let path = entry.map_err(unreadable(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(['.', '_']) && path.is_file() {
            found.push((in_order(&name), path));
        }
    }
    if found.is_empty() {
        let source = io::Error::new(io::ErrorKind::NotFound, "no files in this directory");
        return Err(ValidateError::Input { path: dir.to_owned(), source });
    }
    found.sort();
    for (_, path) in found {
        files.push(file(path)?);
    }
    Ok(())
}

/// A key by which `part-10` comes after `part-9`.
fn in_order(name: &str) -> (String, u128, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or_default();
    (stem.to_owned(), number, name.to_owned())
}

fn listed(manifest: &Path, found: &mut Inputs) -> Result<(), ValidateError> {
    let wrong = |reason: String| ValidateError::Manifest { path: manifest.to_owned(), reason };
    let listing = Listing::read(manifest).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => wrong(error.to_string()),
        _ => unreadable(manifest)(error),
    })?;
    let dir = manifest.parent().unwrap_or(Path::new(""));
    let totals = listing.totals();
    let sum =
        |count: fn(&PartFile) -> u64| listing.files.iter().map(count).fold(0, u64::wrapping_add);
    for (what, promised, listed) in [
        ("bytes", totals.bytes, sum(|part| part.bytes)),
        ("records", totals.records, sum(|part| part.records)),
    ] {
        if let Some(promised) = promised.filter(|promised| *promised != listed) {
            let text =
                format!("it promises {promised} {what}, and the files it lists have {listed}");
            return Err(wrong(text));
        }
    }
    let first = found.files.len();
    for part in listing.files {
        let mut this = file(dir.join(part.path))?;
        if this.bytes != part.bytes {
            return Err(wrong(format!(
                "{} should have {} bytes and has {}",
                this.path.display(),
                part.bytes,
                this.bytes
            )));
        }
        this.promised = Some((manifest.to_owned(), part.records));
        found.files.push(this);
    }
    if let Some(checksum) = totals.checksum {
        let files = first..found.files.len();
        found.sums.push(PromisedSum { manifest: manifest.to_owned(), checksum, files });
    }
    Ok(())
}
