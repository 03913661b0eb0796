internal import CGreenroomLinux

/// Memory of this process.
public enum OwnMemory {
    /// Gives back the pages of program text (madvise MADV_DONTNEED). For small processes that are
    /// idle for long; what is used again is mapped again, mostly from the page cache.
    public static func dropText() { gr_drop_text() }

    /// Gives back what has been freed (malloc_trim(3)), after work that needed much for a while.
    public static func giveBack() { _ = malloc_trim(0) }
}

/// Glibc's Swift module leaves malloc.h out.
@_silgen_name("malloc_trim") private func malloc_trim(_ pad: Int) -> CInt
