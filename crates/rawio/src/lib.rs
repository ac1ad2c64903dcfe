//! Direct I/O: aligned buffers, io_uring queues, and the next best where either is refused.
