//! Requests to the kernel, and their completions.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::{Block, DirectFile};

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// From the file into the block.
    Read,
    /// From the block into the file.
    Write,
}

/// A transfer between a range of a block and a place in a file. While it is in flight the queue
/// owns the block, so no other code can touch the kernel's data.
#[derive(Debug)]
pub struct Request {
    /// Direction.
    pub operation: Operation,
    /// The file; kept open until the request is done.
    pub file: Arc<DirectFile>,
    /// Byte offset in the file.
    pub offset: u64,
    /// The memory.
    pub block: Block,
    /// Which bytes of the block.
    pub range: Range<usize>,
    /// Returned unchanged with the completion.
    pub tag: u64,
}

/// A request that has ended.
#[derive(Debug)]
pub struct Completion {
    /// The request, with its block.
    pub request: Request,
    /// Bytes transferred: all of the range, or fewer at the end of a file that was read.
    pub result: io::Result<usize>,
}
