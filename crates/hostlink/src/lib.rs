//! The far end of a link: files, processes and supervised commands of this host, requested over two
//! pipes. It doesn't matter how those were opened (SSH, a namespace).
//!
//! One thread reads frames and never waits for anything else; each call has its own thread. When
//! the pipes break or stay silent for too long, all started processes end, temporary files are
//! removed, and this process ends. Another process watches over it: if it is killed, its processes
//! end too.

mod calls;
mod channel;
mod children;
pub mod files;
pub mod frame;
mod guard;
mod lock;
mod processes;
mod serve;
mod supervise;
mod text;

pub use guard::guard;
pub use serve::serve;
pub use supervise::{execute, supervise};
