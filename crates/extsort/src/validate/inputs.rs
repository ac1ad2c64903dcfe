//! Which files are meant, in which order, and how long they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::ValidateError;
use crate::manifest::MANIFEST;
use crate::record::Format;

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    /// Length when it was found.
    pub(super) bytes: u64,
    /// The manifest that lists it and how many records it promises.
    pub(super) promised: Option<(PathBuf, u64)>,
}

#[derive(Deserialize)]
struct Manifest {
    files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path: PathBuf,
    bytes: u64,
    records: u64,
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> ValidateError {
    |source| ValidateError::Input { path: path.to_owned(), source }
}

/// The files behind `inputs`, in order.
pub(super) fn find(inputs: &[PathBuf], format: Format) -> Result<Vec<InputFile>, ValidateError> {
    let mut files = Vec::new();
    for input in inputs {
        if input.metadata().map_err(unreadable(input))?.is_dir() {
            let manifest = input.join(MANIFEST);
            if manifest.is_file() {
                listed(&manifest, &mut files)?;
            } else {
                parts(input, &mut files)?;
            }
        } else if input.extension().is_some_and(|extension| extension == "json") {
            listed(input, &mut files)?;
        } else {
            files.push(file(input.clone())?);
        }
    }
    if let Format::Fixed { record, .. } = format {
        files.iter().try_for_each(|file| check_length(file, record as u64))?;
    }
    Ok(files)
}

/// Fails if a file no longer has the length it was found with.
pub(super) fn check_unchanged(files: &[InputFile]) -> Result<(), ValidateError> {
    for InputFile { path, bytes, .. } in files {
        let found_bytes = path.metadata().map_err(unreadable(path))?.len();
        if found_bytes != *bytes {
            return Err(ValidateError::Changed {
                path: path.clone(),
                expected_bytes: *bytes,
                found_bytes,
            });
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
    let metadata = path.metadata().map_err(unreadable(&path))?;
    if !metadata.is_file() {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(ValidateError::Input { path, source });
    }
    Ok(InputFile { path, bytes: metadata.len(), promised: None })
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

fn listed(manifest: &Path, files: &mut Vec<InputFile>) -> Result<(), ValidateError> {
    let wrong = |reason: String| ValidateError::Manifest { path: manifest.to_owned(), reason };
    let text = fs::read(manifest).map_err(unreadable(manifest))?;
    let list: Manifest = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let dir = manifest.parent().unwrap_or(Path::new(""));
    for entry in list.files {
        let mut found = file(dir.join(entry.path))?;
        if found.bytes != entry.bytes {
            return Err(wrong(format!(
                "{} should have {} bytes and has {}",
                found.path.display(),
                entry.bytes,
                found.bytes
            )));
        }
        found.promised = Some((manifest.to_owned(), entry.records));
        files.push(found);
    }
    Ok(())
}
