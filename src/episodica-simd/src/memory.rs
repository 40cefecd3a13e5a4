//! Large allocations, in large pages if the kernel has them; and free memory, back to the system.

use bytemuck::Zeroable;

/// Minimum size, in bytes, for which large pages are requested; the same as NumPy's.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 22;

/// Allocates `count` zeros. The kernel maps memory page by page on first access, 4 KiB at a time.
/// For a large allocation Linux is asked for pages of 2 MiB: this takes a fraction of the time, and
/// random reads miss the TLB less often.
pub fn zeroed_vec<T: Zeroable>(count: usize) -> Vec<T> {
    let zeros = bytemuck::zeroed_vec(count);
    ask_for_large_pages(&zeros);
    zeros
}

/// Allocates room for `count` values, in pages like those of [`zeroed_vec`].
pub fn room_for<T>(count: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(count);
    ask_for_large_pages(room.spare_capacity_mut());
    room
}

/// Advises the kernel on all pages that a large allocation touches: if only a part had the advice,
/// the mapping could no longer grow in place.
fn ask_for_large_pages<T>(memory: &[T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(memory) >= LARGE {
        advise_pages(memory);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(target_os = "linux")]
fn advise_pages<T>(memory: &[T]) {
    let page = rustix::param::page_size();
    let range = memory.as_ptr_range();
    let start = range.start.addr() / page * page;
    let length = range.end.addr().next_multiple_of(page) - start;
    // SAFETY: our memory touches every page, and the advice changes no byte. Kernels without such
    // pages return an error, which is ignored.
    let _ = unsafe {
        let start = range.start.with_addr(start).cast_mut().cast();
        rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxHugepage)
    };
}

/// Returns memory that was freed to the system. The allocator of glibc keeps what lies between
/// allocations, also if it is most of the process; other allocators do this by themselves.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: glibc has this function under this type; any thread may call it at any time, and
        // only free memory changes.
        let _ = unsafe { malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_size() {
        for count in [0, 1, 5_000_000] {
            assert!(zeroed_vec::<u32>(count) == vec![0; count]);
            let mut room = room_for::<u32>(count);
            let start = room.as_ptr();
            room.extend(0..count as u32);
            release_freed();
            assert!(room.as_ptr() == start && room.iter().copied().eq(0..count as u32));
        }
    }
}
