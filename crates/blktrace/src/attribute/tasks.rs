//! Which task of a job a thread runs, where the thread's name says so, and how much tasks read and
//! wrote.
//!
//! With `jvm/task-names`, the threads of Spark's executors have such names: `v:STAGE.ATTEMPT:TASK`.
//! Each number is in base 36, because the kernel keeps 15 characters of a name. A Python worker has
//! `v:STAGE:TASK`: it does not know the attempt.

use crate::read::event::Operation;
use crate::summary::group::Amount;

/// A task, as Spark numbers the tasks of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its stage.
    pub stage: u64,
    /// Which attempt of the stage, from 0; `None` if it is not known.
    pub attempt: Option<u64>,
    /// Its number in the application.
    pub number: u64,
}

impl Task {
    /// The task that a thread of the name runs; `None` if the name does not tell.
    pub fn of_thread(name: &str) -> Option<Self> {
        let (stage, task) = name.strip_prefix("v:")?.split_once(':')?;
        let (stage, attempt) = match stage.split_once('.') {
            Some((stage, attempt)) => (stage, Some(number(attempt)?)),
            None => (stage, None),
        };
        Some(Self { stage: number(stage)?, attempt, number: number(task)? })
    }

    /// The stage's name, in the form Venturi uses for Spark's stages; `None` if the attempt is
    /// unknown.
    pub fn stage_name(&self) -> Option<String> {
        let Self { stage, attempt, .. } = self;
        let attempt = attempt.as_ref()?;
        Some(if *attempt == 0 { stage.to_string() } else { format!("{stage}.{attempt}") })
    }

    /// Whether a stage that is called so can be its own.
    pub fn can_be_of(&self, stage: &str) -> bool {
        match self.stage_name() {
            Some(name) => name == stage,
            None => stage.split('.').next() == Some(&self.stage.to_string()),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let number = u64::from_str_radix(text, 36).ok()?;
    text.bytes().all(is_digit).then_some(number)
}

/// Bytes that a task's thread read and wrote.
#[derive(Clone, Copy, Debug)]
pub struct TaskCounts {
    /// Which task.
    pub task: Task,
    /// The place of its stage; `None` if there are too many.
    pub stage: Option<usize>,
    /// Its reads.
    pub read: Amount,
    /// Its own writes: mostly it is the kernel's workers who write.
    pub written: Amount,
}

impl TaskCounts {
    /// A request of so many sectors was issued.
    pub fn issue(&mut self, operation: Operation, sectors: u32) {
        let amount = match operation {
            Operation::Read => &mut self.read,
            Operation::Write => &mut self.written,
            _ => return,
        };
        amount.count += 1;
        amount.sectors += u64::from(sectors);
    }

    /// Sectors in all.
    pub fn sectors(&self) -> u64 {
        self.read.sectors + self.written.sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_name_tells_the_task() {
        let of = |name| Task::of_thread(name).map(|task| (task.stage_name(), task.number));
        assert_eq!(of("v:3.0:18"), Some((Some("3".to_owned()), 44)));
        assert_eq!(of("v:z.2:zzzzzzz"), Some((Some("35.2".to_owned()), 36_u64.pow(7) - 1)));
        assert_eq!(of("v:3:18"), Some((None, 44)));
        let can_be_of = |name, stage| Task::of_thread(name).unwrap().can_be_of(stage);
        assert!(
            can_be_of("v:3:18", "3") && can_be_of("v:3:18", "3.1") && !can_be_of("v:3:18", "4")
        );
        assert!(can_be_of("v:3.1:18", "3.1") && !can_be_of("v:3.1:18", "3"));
        for other in
            ["v:3.0:", "v:3.:18", "v:3.0", "v:+3.0:18", "v:3.0:1A", "Executor task l", "", "v:"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
