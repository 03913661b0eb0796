internal import CGreenroomLinux

/// Memory of this process.
public enum OwnMemory {
    /// Gives back the pages of program text (madvise MADV_DONTNEED). For small processes that are
    /// idle for long; what is used again is mapped again, mostly from the page cache.
    public static func dropText() { gr_drop_text() }
}
