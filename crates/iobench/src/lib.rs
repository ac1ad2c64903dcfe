//! DiskBench and NetBench.
