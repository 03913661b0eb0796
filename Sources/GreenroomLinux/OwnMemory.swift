internal import CGreenroomLinux

/// Memory of this process.
public enum OwnMemory {
    /// Gives back program text that only start-up needed (madvise MADV_DONTNEED). For long-lived
    /// small processes, at the end of their start-up; what is used again is mapped again.
    public static func dropStartupText() { gr_drop_text() }
}
