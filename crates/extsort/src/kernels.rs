//! The one instruction the compiler does not find by itself.
#![allow(unsafe_code)]

/// Asks for the cache lines of a record that will be copied soon. Has no other effect.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let range = bytes.as_ptr_range();
        // SAFETY: a prefetch never faults, and the addresses lie in or one past a live slice.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(range.start.cast());
            _mm_prefetch::<_MM_HINT_T0>(range.start.wrapping_add(64).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
