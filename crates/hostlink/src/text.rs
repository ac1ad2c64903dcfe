//! Names as JSON can carry them: a file's name need not be UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes as a text that has the character of the same number for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// As a word of a command.
    pub fn word(&self) -> OsString {
        OsString::from_vec(self.0.clone())
    }

    /// As a path.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.word())
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<&OsStr> for Text {
    fn from(word: &OsStr) -> Self {
        Self(word.as_bytes().to_vec())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.iter().map(|&byte| char::from(byte)).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map(Self).map_err(|_| D::Error::custom("a name has a character above 255"))
    }
}
