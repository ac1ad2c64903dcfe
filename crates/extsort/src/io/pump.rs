//! Moving blocks between a queue of the sort and a queue of the kernel, for one disk.

use rawio::Request;

use crate::error::SortError;
use crate::io::queue::ByteQueue;
use crate::io::transfers::Transfers;
use crate::phases::stage::{Meter, Shared};

/// Takes items until the source is empty, turns each into a request, keeps as many in flight as
/// `transfers` allows, and hands each finished one to `done` with the token that `start` gave it.
/// `done` gets the bytes transferred or the system's error. Returns the method used, for example
/// `io_uring`.
pub(crate) fn pump<T, K>(
    shared: &Shared<'_>,
    source: &ByteQueue<T>,
    transfers: &mut Transfers<'_>,
    meter: &mut Meter,
    mut start: impl FnMut(T) -> Result<(Request, K), SortError>,
    mut done: impl FnMut(Request, K, std::io::Result<usize>) -> Result<(), SortError>,
) -> Result<String, SortError> {
    let system =
        |source| SortError::Io { action: "use an I/O queue for", path: "disk".into(), source };
    let mut tokens: Vec<Option<K>> = (0..transfers.depth()).map(|_| None).collect();
    let mut free: Vec<usize> = (0..transfers.depth()).collect();
    loop {
        while let Some(&slot) = free.last() {
            let item = if transfers.in_flight() > 0 {
                source.try_pop()
            } else {
                source.pop(&mut meter.idle)
            };
            let Some(item) = item else { break };
            let (mut request, token) = start(item)?;
            request.tag = slot as u64;
            meter.bytes += request.range.len() as u64;
            transfers.submit(request).map_err(system)?;
            tokens[slot] = Some(token);
            free.pop();
        }
        // Nothing ends any more: the source has ended, or the sort is being abandoned.
        let Some(completion) = transfers.wait().map_err(system)? else {
            break;
        };
        let slot = completion.request.tag as usize;
        free.push(slot);
        if let Some(token) = tokens[slot].take() {
            done(completion.request, token, completion.result)?;
        }
        if shared.is_failed() {
            break;
        }
    }
    Ok(transfers.method().to_string())
}
