//! The far end of a link: files, processes and supervised commands of this host, asked for over two
//! pipes, and whatever opened those (SSH, a namespace) is none of its business.
//!
//! One thread reads frames and never waits for anything else; each call has a thread of its own.
//! When the pipes break or nothing is heard for too long, all that was started ends, what was
//! temporary is removed, and this process ends. Another process watches over it: what is left when it
//! is killed ends, too.

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
