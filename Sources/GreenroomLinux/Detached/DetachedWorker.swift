internal import CGreenroomLinux
internal import Glibc

/// A process that makes calls for us (detached.c), one job after another. There must be a ``Disposer``.
@safe public final class DetachedWorker {
    private let worker: OpaquePointer
    private var job: DetachedJob?

    /// Nil if there can be no other process now.
    /// - Parameter report: readable (eventfd(2)) whenever it has done a job.
    public init?(reportingTo report: FileDescriptor) {
        guard let worker = unsafe gr_detached_start(report.rawValue) else { return nil }
        unsafe self.worker = worker
    }

    public static func report() throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try systemCall("eventfd") { gr_eventfd() })
    }

    /// So that it is readable at the next report.
    public static func take(_ report: FileDescriptor) { gr_eventfd_take(report.rawValue) }

    public func begin(_ job: DetachedJob) {
        precondition(!isBusy, "one job at a time")
        self.job = job
        unsafe gr_detached_give(worker, job.records.baseAddress!, job.records.count)
    }

    public var isBusy: Bool { unsafe gr_detached_is_busy(worker) }

    /// Somebody else has ended it. It is not to be used any more.
    public var isGone: Bool { unsafe gr_detached_is_gone(worker) }

    /// Once it is not busy. It is not to be used any more.
    public func end() { unsafe gr_detached_end(worker) }
}
