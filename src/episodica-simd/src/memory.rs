//! Large pieces of memory, in large pages where the kernel has them, and what will be read soon.

use bytemuck::Zeroable;

/// From so many bytes on, large pages are asked for: NumPy's limit, too.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 22;

/// Bytes of a line of the caches.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Has a row brought near that will be read soon, on processors of x86-64.
#[inline(always)]
pub fn fetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(const { LINE / size_of::<T>() }) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint reads nothing, and would be sound for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// So many zeros. A kernel hands out memory page by page when it is first touched, 4 KiB at a time:
/// of a large piece Linux is asked for pages of 2 MiB, which takes a fraction of the time, and what
/// is read at random in them later misses less.
pub fn zeroed<T: Zeroable>(count: usize) -> Vec<T> {
    let zeros = bytemuck::zeroed_vec(count);
    ask_for_large_pages(&zeros);
    zeros
}

/// Room for so many values, in pages like those of [`zeroed`].
pub fn room_for<T>(count: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(count);
    ask_for_large_pages(room.spare_capacity_mut());
    room
}

/// Of all pages that a large piece of memory touches: a mapping of which one part is treated in
/// another way could no longer grow where it is.
fn ask_for_large_pages<T>(memory: &[T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(memory) >= LARGE {
        advise(memory);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(target_os = "linux")]
fn advise<T>(memory: &[T]) {
    let page = rustix::param::page_size();
    let range = memory.as_ptr_range();
    let start = range.start.addr() / page * page;
    let length = range.end.addr().next_multiple_of(page) - start;
    // SAFETY: every page has memory of ours, and the advice changes no byte of any. That a kernel
    // has no such pages is no error.
    let _ = unsafe {
        let start = range.start.with_addr(start).cast_mut().cast();
        rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxHugepage)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_size() {
        for count in [0, 1, 5_000_000] {
            assert!(zeroed::<u32>(count) == vec![0; count]);
            let mut room = room_for::<u32>(count);
            let start = room.as_ptr();
            room.extend(0..count as u32);
            assert!(room.as_ptr() == start && room.iter().copied().eq(0..count as u32));
        }
    }
}
