internal import CGreenroomLinux

/// The memory of this process.
public enum OwnMemory {
    /// Gives back the pages of program text (madvise MADV_DONTNEED). For small processes that are
    /// idle for long. A page that is used again is mapped again, usually from the page cache.
    public static func dropText() { gr_drop_text() }

    /// Gives back freed memory (malloc_trim(3)), after work that needed a lot.
    public static func giveBack() { gr_trim_heap() }
}
