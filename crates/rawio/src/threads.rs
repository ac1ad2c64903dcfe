//! Requests as blocking calls, one thread for each that may be in flight.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::ALIGN;
use crate::request::{Completion, Operation, Request};

pub(crate) struct Threads {
    todo: Option<Sender<Request>>,
    done: Receiver<Completion>,
    workers: Vec<JoinHandle<()>>,
    patience: Duration,
}

impl Threads {
    /// Threads for `depth` requests. On drop, threads with a request that doesn't end within
    /// `patience` are left behind, with its memory.
    pub(crate) fn new(depth: usize, patience: Duration) -> io::Result<Self> {
        let (todo, requests) = channel::<Request>();
        let (completions, done) = channel();
        let requests = Arc::new(Mutex::new(requests));
        let workers = (0..depth)
            .map(|_| {
                let (requests, completions) = (Arc::clone(&requests), completions.clone());
                std::thread::Builder::new().name("io".to_owned()).spawn(move || {
                    loop {
                        let next = requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok(mut request) = next else { return };
                        let result = transfer(&mut request);
                        if completions.send(Completion { request, result }).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { todo: Some(todo), done, workers, patience })
    }

    pub(crate) fn submit(&mut self, request: Request) -> io::Result<()> {
        let todo = self.todo.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        todo.send(request).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// The next request that has ended, if one does within `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> io::Result<Option<Completion>> {
        match self.done.recv_timeout(limit) {
            Ok(completion) => Ok(Some(completion)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.todo = None;
        loop {
            match self.done.recv_timeout(self.patience) {
                Ok(_) => {}
                // Its request is the thread's: whenever the kernel is done, both end.
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn transfer(request: &mut Request) -> io::Result<usize> {
    let file = &request.file;
    let memory = &mut request.block[request.range.clone()];
    let mut done = 0;
    while done < memory.len() {
        let offset = request.offset + done as u64;
        let direct = file.is_direct(); // read first: a refusal on another thread may change it
        let step = match request.operation {
            Operation::Read => file.file().read_at(&mut memory[done..], offset),
            Operation::Write => file.file().write_at(&memory[done..], offset),
        };
        match step {
            Ok(0) if request.operation == Operation::Write => {
                return Err(io::ErrorKind::WriteZero.into());
            }
            Ok(0) => break,
            Ok(bytes) => {
                done += bytes;
                let reading = request.operation == Operation::Read;
                if reading && direct && !done.is_multiple_of(ALIGN) {
                    break; // only the end of a file is unaligned
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidInput && direct => {
                file.clear_direct();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
