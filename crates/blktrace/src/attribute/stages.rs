//! Which stage of a job a request belongs to, by the file's owner and by when the stages ran.

use serde::{Deserialize, Serialize};

use crate::attribute::classes::{Owner, Phase};
use crate::attribute::tasks::Task;
use crate::read::event::Operation;

/// A stage of the engine's account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The engine's name of it.
    pub name: String,
    /// On which side of a shuffle it is.
    pub phase: Phase,
    /// When it began, in seconds since 1970.
    pub from_unix_s: f64,
    /// When it ended.
    pub until_unix_s: f64,
    /// Numbers of its tasks: the first and the last of each range.
    #[serde(default, skip_serializing)]
    pub tasks: Vec<(u64, u64)>,
}

/// The most stages kept that are known only from thread names.
const OTHERS: usize = 4096;

/// Times, each with the place of the stage that runs alone from then on, if one does.
type Alone = Vec<(u64, Option<usize>)>;

/// See the module.
#[derive(Debug, Default)]
pub struct Stages {
    all: Vec<Stage>,
    /// Names of stages of which the engine did not tell; their places are behind those of `all`.
    others: Vec<String>,
    /// First and last task, and the stage.
    tasks: Vec<(u64, u64, usize)>,
    /// Among all stages.
    alone: Alone,
    /// Among those that read a shuffle.
    alone_in_reduce: Alone,
}

impl Stages {
    /// These stages, where a time on the trace's clock is the same as seconds since 1970.
    pub fn of(all: Vec<Stage>, (noted_ns, unix_s): (u64, f64)) -> Self {
        let on_clock = |at_s: f64| (noted_ns as f64 + (at_s - unix_s) * 1e9).max(0.0) as u64;
        let times = |stage: &Stage| (on_clock(stage.from_unix_s), on_clock(stage.until_unix_s));
        let numbered = || all.iter().enumerate();
        let tasks = numbered().flat_map(|(at, stage)| {
            stage.tasks.iter().map(move |(first, last)| (*first, *last, at))
        });
        let mut tasks: Vec<_> = tasks.collect();
        tasks.sort_unstable();
        let alone = alone(numbered().map(|(at, stage)| (times(stage), at)));
        let reduce = numbered().filter(|(_, stage)| stage.phase == Phase::Reduce);
        let alone_in_reduce = self::alone(reduce.map(|(at, stage)| (times(stage), at)));
        Self { all, others: Vec::new(), tasks, alone, alone_in_reduce }
    }

    /// All stages of the engine's account.
    pub fn all(&self) -> &[Stage] {
        &self.all
    }

    /// The place of the stage of a task; `None` if that is not known, or there are too many.
    pub fn of_task(&mut self, task: &Task) -> Option<usize> {
        let told = self.of_number(task.number).filter(|at| task.can_be_of(self.name(*at)));
        told.or_else(|| self.place(&task.stage_name()?))
    }

    /// The place of the stage of the task with a number, if the engine's account has it.
    fn of_number(&self, task: u64) -> Option<usize> {
        let behind = self.tasks.partition_point(|(first, _, _)| *first <= task);
        let (_, last, at) = *self.tasks.get(behind.checked_sub(1)?)?;
        (task <= last).then_some(at)
    }

    /// The place of the stage that is called so; `None` if there are too many.
    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.all.iter().position(|stage| stage.name == name) {
            return Some(at);
        }
        let known = self.others.iter().position(|other| other == name);
        let at = known.unwrap_or(self.others.len());
        if at == OTHERS {
            return None;
        }
        if known.is_none() {
            self.others.push(name.to_owned());
        }
        Some(self.all.len() + at)
    }

    /// The name of the stage at a place.
    pub fn name(&self, at: usize) -> &str {
        self.all.get(at).map_or_else(|| &*self.others[at - self.all.len()], |stage| &stage.name)
    }

    /// The side of a shuffle of the stage at a place, if the engine's account has it.
    pub fn phase(&self, at: usize) -> Option<Phase> {
        self.all.get(at).map(|stage| stage.phase)
    }

    /// The place of the stage of which a request is, if that is known. What is written is of the
    /// stage that made the file, whenever it reaches the disk; what is read is of the stage that
    /// runs, if only one does that may read it.
    pub fn of_request(&self, owner: &Owner, operation: Operation, now_ns: u64) -> Option<usize> {
        if operation != Operation::Read {
            return self.maker(owner);
        }
        let handed_on = owner.class.is_handed_on();
        at(if handed_on { &self.alone_in_reduce } else { &self.alone }, now_ns)
    }

    fn maker(&self, owner: &Owner) -> Option<usize> {
        if let Some(task) = owner.task {
            return self.of_number(task);
        }
        if let Some(phase) = owner.phase {
            // Hadoop has one stage on each side.
            let mut fitting = (0..self.all.len()).filter(|at| self.all[*at].phase == phase);
            return fitting.next().filter(|_| fitting.next().is_none());
        }
        at(&self.alone, owner.made_ns?)
    }
}

/// When which stage runs alone.
fn alone(stages: impl Iterator<Item = ((u64, u64), usize)>) -> Alone {
    let mut changes: Vec<(u64, bool, usize)> = stages
        .flat_map(|((from_ns, until_ns), at)| [(from_ns, true, at), (until_ns, false, at)])
        .collect();
    changes.sort_unstable();
    let (mut running, mut found) = (Vec::new(), Vec::new());
    for (time_ns, begins, at) in changes {
        if begins {
            running.push(at);
        } else {
            running.retain(|other| *other != at);
        }
        found.push((time_ns, if let [one] = running[..] { Some(one) } else { None }));
    }
    found
}

fn at(alone: &Alone, now_ns: u64) -> Option<usize> {
    let behind = alone.partition_point(|(from_ns, _)| *from_ns <= now_ns);
    alone.get(behind.checked_sub(1)?)?.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, phase: Phase, (from, until): (f64, f64), tasks: &[(u64, u64)]) -> Stage {
        Stage {
            name: name.to_owned(),
            phase,
            from_unix_s: 1e9 + from,
            until_unix_s: 1e9 + until,
            tasks: tasks.to_vec(),
        }
    }

    fn of(stages: &Stages, name: &str, made_s: Option<f64>, at_s: Option<f64>) -> Option<String> {
        let ns = |at_s: f64| (at_s * 1e9) as u64;
        let owner = Owner::of_name(name, std::iter::empty());
        let owner = Owner { made_ns: made_s.map(ns), ..owner };
        let operation = if at_s.is_some() { Operation::Read } else { Operation::Write };
        let at = stages.of_request(&owner, operation, at_s.map_or(0, ns))?;
        Some(stages.name(at).to_owned())
    }

    #[test]
    fn what_is_written_is_of_who_made_it_and_what_is_read_of_who_runs() {
        let stages = Stages::of(
            vec![
                stage("2", Phase::Map, (15.0, 30.0), &[(10, 12)]),
                stage("0", Phase::Map, (0.0, 10.0), &[(0, 3), (4, 7)]),
                stage("1", Phase::Reduce, (10.0, 20.0), &[(8, 9)]),
            ],
            (0, 1e9),
        );
        let written = |name: &str, made_s| of(&stages, name, made_s, None);
        assert_eq!(written("shuffle_0_7_0.data", None).as_deref(), Some("0"));
        assert_eq!(written("shuffle_0_11_0.data", None).as_deref(), Some("2"));
        assert_eq!(written("shuffle_0_13_0.data", None), None);
        assert_eq!(written("rdd_5_1", Some(12.0)).as_deref(), Some("1"));
        assert_eq!(written("rdd_5_1", Some(16.0)), None); // two run
        assert_eq!(written("temp_local_1", Some(25.0)).as_deref(), Some("2"));
        assert_eq!(written("temp_local_1", None), None);
        let read = |name: &str, at_s| of(&stages, name, None, Some(at_s));
        assert_eq!(read("rdd_3_0", 5.0).as_deref(), Some("0"));
        assert_eq!(read("rdd_3_0", 17.0), None);
        assert_eq!(read("shuffle_0_7_0.data", 17.0).as_deref(), Some("1"));
        assert_eq!(read("input.txt", 25.0).as_deref(), Some("2"));
        assert_eq!(read("input.txt", 31.0), None);
    }

    #[test]
    fn a_stage_of_which_only_a_name_is_known_has_a_place_too() {
        let told = stage("3", Phase::Reduce, (0.0, 10.0), &[(40, 49)]);
        let mut stages = Stages::of(vec![told], (0, 1e9));
        let mut place = |name| stages.of_task(&Task::of_thread(name).unwrap());
        let places = ["v:3.0:0", "v:4.0:0", "v:5.0:0", "v:4.0:0"].map(&mut place);
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(1)]);
        // Which attempt it is only the engine can tell.
        assert_eq!(["v:3:18", "v:3:0", "v:4:18"].map(place), [Some(0), None, None]);
        assert_eq!((stages.name(0), stages.name(2)), ("3", "5"));
        assert_eq!((stages.phase(0), stages.phase(2)), (Some(Phase::Reduce), None));
    }

    #[test]
    fn hadoop_has_one_stage_on_each_side() {
        let map = stage("map", Phase::Map, (0.0, 10.0), &[]);
        let reduce = stage("reduce", Phase::Reduce, (5.0, 20.0), &[]);
        let stages = Stages::of(vec![map, reduce], (0, 1e9));
        let spill = "attempt_1_0001_m_000003_0_spill_2.out";
        assert_eq!(of(&stages, spill, None, None).as_deref(), Some("map"));
        assert_eq!(of(&Stages::default(), spill, None, None), None);
    }
}
