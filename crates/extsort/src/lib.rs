//! 2-IO external sort and MapReduce for one machine.
