//! One file per subcommand: arguments in, one library call, events out.

pub mod cpu;
pub mod disk;
pub mod errors;
pub mod facts;
pub mod files;
pub mod generate;
pub mod host;
pub mod memory;
pub mod net;
pub mod pi;
pub mod sample;
pub mod sort;
pub mod spindle;
pub mod trace;
mod used;
pub mod validate;
