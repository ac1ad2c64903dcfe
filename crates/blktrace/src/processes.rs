//! Names of the processes whose requests were issued, by number: shared by all who read a recording.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// What the kernel keeps of a name.
pub const NAME_BYTES: usize = 16;
/// So many names are told apart; a job has some hundred.
const LIMIT: usize = 4096;

/// See the module. Clones are the same names.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    numbers: FxHashMap<[u8; NAME_BYTES], u32>,
    names: Vec<String>,
}

impl Processes {
    /// The number of a name as the kernel has it, from 1; 0 if there are too many.
    pub fn number(&self, name: [u8; NAME_BYTES]) -> u32 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(&name) {
            return *number;
        }
        let text = shown(&name);
        let before = known.names.iter().position(|other| *other == text);
        if before.is_none() && known.names.len() == LIMIT {
            return 0;
        }
        let at = before.unwrap_or_else(|| {
            known.names.push(text);
            known.names.len() - 1
        });
        let number = at as u32 + 1;
        if known.numbers.len() < LIMIT {
            known.numbers.insert(name, number);
        }
        number
    }

    /// The name with a number; `None` of 0.
    pub fn name(&self, number: u32) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.names.get((number as usize).checked_sub(1)?).cloned()
    }
}

/// What a name is shown as: all of the kernel's workers, whose numbers say nothing, are one.
fn shown(name: &[u8; NAME_BYTES]) -> String {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    if name.starts_with("kworker/") { "kworker".to_owned() } else { name.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(name: &str) -> [u8; NAME_BYTES] {
        let mut bytes = [0; NAME_BYTES];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes
    }

    #[test]
    fn a_name_keeps_its_number_and_workers_are_one() {
        let processes = Processes::default();
        let same = processes.clone();
        let number = |name| same.number(padded(name));
        let java = number("java");
        assert_eq!(number("kworker/u8:1"), number("kworker/1:2H"));
        assert_eq!(number("java"), java);
        assert_eq!(processes.name(java).as_deref(), Some("java"));
        assert_eq!(processes.name(number("kworker/0:0")).as_deref(), Some("kworker"));
        assert_eq!(processes.name(0), None);
    }

    #[test]
    fn there_are_not_too_many() {
        let processes = Processes::default();
        let numbers: Vec<u32> =
            (0..LIMIT + 9).map(|each| processes.number(padded(&each.to_string()))).collect();
        assert_eq!(numbers[LIMIT - 1], LIMIT as u32);
        assert_eq!(numbers[LIMIT..], [0; 9]);
    }
}
