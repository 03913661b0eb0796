internal import CGreenroomLinux

/// Whether the kernel has a call and permits it. This is found by making the call, never from the
/// kernel's version.
public enum KernelProbe {
    /// clone3(2)
    public static var hasClone3: Bool { gr_has_clone3() }
    /// pidfd_open(2)
    public static var hasPidfd: Bool { gr_has_pidfd() }
    /// close_range(2)
    public static var hasCloseRange: Bool { gr_has_close_range() }
    /// memfd_create(2) with seals.
    public static var hasMemfd: Bool { gr_has_memfd() }
}
