//! Threads that need no second stack.
//!
//! Rust's runtime makes one for each thread, on which a handler of SIGSEGV and SIGBUS can say that the
//! thread's own has overflowed. Where the memory for it is refused, the runtime ends the process by
//! SIGABRT, before any of our code has run on the thread: nothing is cleaned up or said. It makes none if
//! these signals are taken when it begins, so they are until then. A stack that overflows still ends the
//! process, by SIGSEGV; what recurses here is bounded.
#![allow(unsafe_code)]

use libc::{SIG_DFL, SIG_IGN, SIGBUS, SIGSEGV, sighandler_t};

// Functions that the loader calls before the runtime begins.
// SAFETY: what it holds is such a function.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = take;

extern "C" fn take() {
    // To ignore them is to take them without a handler: a real fault ends the process all the same.
    set(SIG_IGN);
}

/// Gives the signals back, as commands that are started from here expect them.
pub fn give_back() {
    set(SIG_DFL);
}

fn set(to: sighandler_t) {
    for signal in [SIGSEGV, SIGBUS] {
        // SAFETY: neither is one of our functions; the signals are valid.
        unsafe { libc::signal(signal, to) };
    }
}
