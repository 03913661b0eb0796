internal import CGreenroomLinux
internal import Glibc

/// A process that makes system calls for this one (detached.c), one job after another. It needs a
/// ``Disposer`` in this process.
@safe public final class DetachedWorker {
    private let worker: OpaquePointer
    private var job: DetachedJob?

    /// Returns nil if no other process can be made now.
    /// - Parameter report: becomes readable (eventfd(2)) whenever the process has done a job.
    public init?(reportingTo report: FileDescriptor) {
        guard let worker = unsafe gr_detached_start(report.rawValue) else { return nil }
        unsafe self.worker = worker
    }

    public static func report() throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try systemCall("eventfd") { gr_eventfd() })
    }

    /// Consumes the reports so far, so that `report` becomes readable only at the next one.
    public static func take(_ report: FileDescriptor) { gr_eventfd_take(report.rawValue) }

    public func begin(_ job: DetachedJob) {
        precondition(!isBusy, "one job at a time")
        self.job = job
        unsafe gr_detached_give(worker, job.records.baseAddress!, job.records.count)
    }

    public var isBusy: Bool { unsafe gr_detached_is_busy(worker) }

    /// Whether somebody else has ended the process. If so, do not use this object any more.
    public var isGone: Bool { unsafe gr_detached_is_gone(worker) }

    /// Ends the process. Call this only when the process is not busy, and do not use this object
    /// afterwards.
    public func end() { unsafe gr_detached_end(worker) }
}
