//! Names of the processes that made requests, by number, shared by all readers of a recording.
//! Threads with the name of a task have their own numbers and share one name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::attribute::tasks::Task;

/// The part of a name that the kernel keeps.
pub const NAME_BYTES: usize = 16;
/// The most names; a job has a few hundred.
const LIMIT: usize = 4096;
/// The most tasks; threads of more tasks count as those of none.
const TASKS: usize = 1 << 18;
/// Numbers from here on are of tasks.
const FIRST_TASK: u32 = 1 << 31;
/// The part that the kernel keeps of Spark's name for a thread that runs tasks.
const EXECUTOR: [u8; NAME_BYTES] = *b"Executor task l\0";

/// See the module. Clones are the same names.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    numbers: FxHashMap<[u8; NAME_BYTES], u32>,
    names: Vec<String>,
    tasks: Vec<Task>,
}

impl Processes {
    /// The number of a name as the kernel has it, from 1; 0 if there are too many.
    pub fn number(&self, name: [u8; NAME_BYTES]) -> u32 {
        let mut known = self.known();
        if let Some(number) = known.numbers.get(&name) {
            return *number;
        }
        let text = shown(&name);
        if let Some(task) = Task::of_thread(&text) {
            return known.task(name, task);
        }
        let before = known.names.iter().position(|other| *other == text);
        if before.is_none() && known.names.len() == LIMIT {
            return 0;
        }
        let at = before.unwrap_or_else(|| {
            known.names.push(text);
            known.names.len() - 1
        });
        let number = at as u32 + 1;
        if known.numbers.len() - known.tasks.len() < LIMIT {
            known.numbers.insert(name, number);
        }
        number
    }

    /// The name with a number; `None` for 0 and for numbers without a name of their own.
    pub fn name(&self, number: u32) -> Option<String> {
        self.known().names.get((number as usize).checked_sub(1)?).cloned()
    }

    /// The number of the name, and the task, if it is one's.
    pub fn who(&self, number: u32) -> (u32, Option<Task>) {
        let Some(at) = number.checked_sub(FIRST_TASK) else { return (number, None) };
        let task = self.known().tasks.get(at as usize).copied();
        (self.number(EXECUTOR), task)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The number of a task by its thread's name; 0 if there are too many.
    fn task(&mut self, name: [u8; NAME_BYTES], task: Task) -> u32 {
        if self.tasks.len() == TASKS {
            return 0;
        }
        let number = FIRST_TASK + self.tasks.len() as u32;
        self.tasks.push(task);
        self.numbers.insert(name, number);
        number
    }
}

/// The displayed name. All kernel workers share one, because their numbers mean nothing.
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
    fn threads_of_tasks_are_told_apart_and_have_one_name() {
        let processes = Processes::default();
        let numbers = ["v:1.0:7", "v:1.0:8", "v:1.0:7"].map(|name| processes.number(padded(name)));
        assert_eq!((numbers[0] == numbers[2], numbers[0] == numbers[1]), (true, false));
        let (process, task) = processes.who(numbers[1]);
        assert_eq!(task, Some(Task { stage: 1, attempt: Some(0), number: 8 }));
        assert_eq!(processes.name(process).as_deref(), Some("Executor task l"));
        assert_eq!(processes.who(process), (process, None));
        assert_eq!(processes.who(0), (0, None));
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
