//! Optimizations that the compiler doesn't find: prefetching cache lines, and writing past the
//! caches. Both matter because sorting moves every record through memory four times.
#![allow(unsafe_code)]

/// Asks for the cache lines of a record that will be copied soon. Has no other effect.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the instructions")]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // The last byte's line as well: a record may begin anywhere in its first one.
        let last = bytes.len().saturating_sub(1);
        for at in (0..last).step_by(64).chain([last]) {
            // SAFETY: a prefetch never faults, and the addresses lie in or at the end of a live slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Memory that starts at a cache line.
#[repr(align(64))]
#[derive(Clone)]
pub(crate) struct Lines<const BYTES: usize>(pub(crate) [u8; BYTES]);

/// Copies past the caches where the processor can and `to` starts at a cache line: a plain store
/// first fetches the line it overwrites, which costs as much again. Other threads may look at `to`
/// only after [`finish_streaming`].
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
#[allow(clippy::inline_always, reason = "called for a few lines at a time")]
pub(crate) fn stream<const BYTES: usize>(to: &mut [u8], from: &Lines<BYTES>) {
    assert_eq!(to.len(), BYTES);
    #[cfg(target_arch = "x86_64")]
    if BYTES.is_multiple_of(64) && to.as_ptr().addr().is_multiple_of(64) {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        let source: *const __m128i = (&raw const *from).cast();
        #[allow(clippy::cast_ptr_alignment, reason = "checked above")]
        let target: *mut __m128i = to.as_mut_ptr().cast();
        for at in 0..BYTES / 16 {
            // SAFETY: both are aligned to 16 bytes and `BYTES` long, a multiple of 16; these
            // instructions are part of x86-64.
            unsafe { _mm_stream_si128(target.add(at), _mm_load_si128(source.add(at))) };
        }
        return;
    }
    to.copy_from_slice(&from.0);
}

/// Makes what [`stream`] wrote visible to other threads and to devices, in order.
pub(crate) fn finish_streaming() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence, part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
