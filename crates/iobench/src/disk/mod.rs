//! `DiskBench`: measures the disks behind some directories.
//!
//! Protocol. Every directory has one thread for each direction, with one queue of `queue_depth`
//! requests. Files to be read are written in advance, with random bytes, and made durable. All
//! streams of a measurement start together and run until each has moved `bytes` and `min_time` has
//! passed, at most for `max_time`; random reads run for `random_time`. Opening and creating files
//! isn't timed; reserving space and `fsync` of written data are. A request in flight when the
//! window ends counts by the part of its time inside. Rates include the warm-up.

mod error;
pub mod files;
mod folder;
mod options;
mod pattern;
mod place;
mod report;
mod stream;
mod threads;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rawio::{DirectFile, Method, Operation};

pub use error::DiskError;
pub use options::{Mode, Options};
pub use report::{Device, Measurement, Report, Role, Slow};

use crate::Observer;
use folder::{Folder, remove_orphans};
use options::Case;
use pattern::{Pattern, Shape};
use place::{Place, check_space};
use report::Round;
use stream::{Moved, Shared, Stream, forget_cached};
use threads::side_by_side;

/// The number of the file that is written by a measurement.
const WRITE_FILE: usize = 900;
/// Measures. Test files are gone when this returns, whatever it returns.
pub fn run(
    options: &Options,
    observer: &dyn Observer,
    cancel: &AtomicBool,
) -> Result<Report, DiskError> {
    options.check()?;
    let places = places(options, observer)?;
    let folders = places
        .iter()
        .map(|place| Folder::create(&place.dir))
        .collect::<Result<Vec<_>, DiskError>>()?;
    let needs: Vec<u64> = (0..places.len()).map(|dir| options.needed_bytes(dir)).collect();
    check_space(&places, &needs)?;
    let sites = places
        .into_iter()
        .zip(folders)
        .map(|(place, folder)| Site {
            place,
            folder,
            data: Vec::new(),
            method: Method::IoUring,
            direct: true,
        })
        .collect();
    let mut bench = Bench { options, observer, cancel, sites };
    bench.prepare()?;
    let (mut measurements, mut slow) = (Vec::new(), Vec::new());
    let cases = options.cases();
    for mode in Mode::ALL {
        let of_mode: Vec<Case> = cases.iter().filter(|case| case.mode == mode).copied().collect();
        if of_mode.is_empty() {
            continue;
        }
        let (started, mut done) = (Instant::now(), 0);
        for case in of_mode {
            let rounds = bench.case(case, &mut done)?;
            let found = report::measurements(case, &rounds, &options.dirs);
            slow.extend(report::slow(&found, options.slow_factor));
            measurements.extend(found);
        }
        observer.phase(mode.name(), started, started.elapsed());
    }
    bench.warn_if_buffered();
    let devices =
        bench.sites.iter().map(|site| site.place.device(site.method, site.direct)).collect();
    Ok(Report { devices, measurements, slow })
}

/// Checks the directories and removes what killed measurements left in them.
fn places(options: &Options, observer: &dyn Observer) -> Result<Vec<Place>, DiskError> {
    let mut places: Vec<Place> = Vec::new();
    let mut real = Vec::new();
    for dir in &options.dirs {
        let place = Place::of(dir)?;
        let problem = |problem: String| DiskError::Dir { path: dir.clone(), problem };
        let path = dir.canonicalize().map_err(|e| problem(e.to_string()))?;
        if real.contains(&path) {
            return Err(problem("given twice".to_owned()));
        }
        if let Some(other) = places.iter().find(|p| p.file_system_id == place.file_system_id) {
            observer.warning(
                "VEN-DISK-SHARED",
                &format!(
                    "{} and {} are on one file system: they share its device",
                    other.dir.display(),
                    dir.display()
                ),
            );
        }
        place.warn_if_in_memory(observer);
        for (orphan, bytes) in remove_orphans(dir).map_err(|e| problem(e.to_string()))? {
            observer.warning(
                "VEN-DISK-ORPHAN",
                &format!(
                    "removed {} ({bytes} bytes), left behind by a killed measurement",
                    orphan.display()
                ),
            );
        }
        real.push(path);
        places.push(place);
    }
    Ok(places)
}

/// A directory being measured. Its files are closed before its folder is removed.
struct Site {
    data: Vec<Arc<DirectFile>>,
    place: Place,
    folder: Folder,
    method: Method,
    direct: bool,
}

impl Site {
    fn create(&self, number: usize, direct: bool) -> Result<Arc<DirectFile>, DiskError> {
        let path = self.folder.file(number);
        let file = DirectFile::create_new(&path, direct);
        file.map(Arc::new).map_err(|e| DiskError::io(&path, "create", 0, e))
    }
}

struct Bench<'a> {
    options: &'a Options,
    observer: &'a dyn Observer,
    cancel: &'a AtomicBool,
    sites: Vec<Site>,
}

impl Bench<'_> {
    /// Writes the files to be read later, in all directories concurrently.
    fn prepare(&mut self) -> Result<(), DiskError> {
        let shape = self.options.data_shape();
        let readers: Vec<usize> =
            (0..self.sites.len()).filter(|d| self.options.does(*d, Operation::Read)).collect();
        if readers.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        for &dir in &readers {
            let site = &mut self.sites[dir];
            site.data = (0..shape.files)
                .map(|number| site.create(number, self.options.direct))
                .collect::<Result<_, _>>()?;
        }
        let bytes = shape.files as u64 * shape.file_bytes;
        let streams = readers
            .iter()
            .map(|&dir| Stream {
                operation: Operation::Write,
                files: self.sites[dir].data.clone(),
                shape,
                pattern: Pattern::sequential(),
                depth: self.options.queue_depth,
                target_bytes: Some(bytes),
                backend: self.options.backend,
            })
            .collect();
        let total = bytes * readers.len() as u64;
        let done =
            self.together("prepare", streams, Duration::ZERO..Duration::MAX, 0, Some(total))?.0;
        self.observer.phase("prepare", started, started.elapsed());
        self.note(readers.into_iter().zip(&done));
        Ok(())
    }

    /// All iterations of a case. `done` counts the bytes of the phase, for progress.
    fn case(&mut self, case: Case, done: &mut u64) -> Result<Vec<Round>, DiskError> {
        let mut rounds = Vec::with_capacity(self.options.iterations);
        for _ in 0..self.options.iterations {
            rounds.push(self.round(case, done)?);
        }
        Ok(rounds)
    }

    fn round(&mut self, case: Case, done: &mut u64) -> Result<Round, DiskError> {
        let options = self.options;
        let roles: Vec<(usize, Operation)> = (0..self.sites.len())
            .flat_map(|dir| options.roles(case.mode, dir).iter().map(move |role| (dir, *role)))
            .collect();
        let streams = roles
            .iter()
            .map(|&(dir, operation)| self.stream(case, dir, operation))
            .collect::<Result<Vec<_>, _>>()?;
        let timed = case.mode == Mode::RandomRead;
        let shortest = if timed { options.random_time } else { options.min_time };
        let time = shortest.min(options.max_time)..options.max_time;
        let total = (!timed).then(|| {
            let targets: u64 = streams.iter().filter_map(|s| s.target_bytes).sum();
            targets * options.iterations as u64
        });
        let (moved, window_ns, bytes) =
            self.together(case.mode.name(), streams, time, *done, total)?;
        *done += bytes;
        self.note(roles.iter().map(|role| role.0).zip(&moved));
        for &(dir, operation) in &roles {
            if operation == Operation::Write {
                let path = self.sites[dir].folder.file(WRITE_FILE);
                std::fs::remove_file(&path).map_err(|e| DiskError::io(&path, "remove", 0, e))?;
            }
        }
        let streams =
            roles.into_iter().zip(moved).map(|((dir, role), moved)| (dir, role, moved)).collect();
        Ok(Round { streams, window_ns })
    }

    fn stream(&self, case: Case, dir: usize, operation: Operation) -> Result<Stream, DiskError> {
        let site = &self.sites[dir];
        let block_bytes = case.block_bytes;
        let (files, shape) = match operation {
            Operation::Write => {
                (vec![site.create(WRITE_FILE, self.options.direct)?], self.options.write_shape())
            }
            Operation::Read => {
                (site.data.clone(), Shape { block_bytes, ..self.options.data_shape() })
            }
        };
        if operation == Operation::Read && !site.direct {
            for file in &files {
                forget_cached(file, 0, shape.file_bytes);
            }
        }
        Ok(Stream {
            operation,
            files,
            shape,
            pattern: match case.mode {
                Mode::RandomRead => Pattern::random(crate::seed()),
                Mode::ShuffleRead => Pattern::shuffled(shape, crate::seed()),
                _ => Pattern::sequential(),
            },
            depth: case.depth,
            target_bytes: (case.mode != Mode::RandomRead)
                .then(|| shape.blocks() * block_bytes as u64),
            backend: self.options.backend,
        })
    }

    /// Runs streams together, one thread each: what each did, the common window in nanoseconds, and
    /// the bytes moved.
    fn together(
        &self,
        phase: &str,
        streams: Vec<Stream>,
        time: Range<Duration>,
        done_before: u64,
        total: Option<u64>,
    ) -> Result<(Vec<Moved>, u64, u64), DiskError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(DiskError::Interrupted);
        }
        let shared = Shared::new(&streams, &time, self.cancel);
        let shared = &shared;
        let moved = side_by_side(streams.into_iter().map(|stream| || stream.run(shared)), || {
            let done = done_before + shared.moved.load(Ordering::Relaxed);
            self.observer.progress(phase, done, total.map(|total| total.max(done)));
        })?;
        Ok((moved, shared.window_ns(), shared.moved.load(Ordering::Relaxed)))
    }

    /// Remembers how the directories were accessed.
    fn note<'m>(&mut self, moved: impl Iterator<Item = (usize, &'m Moved)>) {
        for (dir, moved) in moved {
            let site = &mut self.sites[dir];
            site.method = moved.method;
            site.direct &= moved.direct;
        }
    }

    fn warn_if_buffered(&self) {
        for site in self.sites.iter().filter(|site| !site.direct) {
            site.place.warn_buffered(self.observer);
        }
    }
}

#[cfg(test)]
mod tests;
