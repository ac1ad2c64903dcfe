//! Which file, task and stage each request belongs to.

pub mod attribution;
pub mod classes;
pub mod extents;
pub mod files;
pub mod processes;
pub mod stages;
pub mod tasks;
pub mod whose;
