internal import CGreenroomLinux

/// A process that closes descriptors (disposal.c), with what it was given and whose that is.
// Sound: the disposer alone has it, within its lock; what the process itself shares is atomic.
@safe final class DisposalWorker: @unchecked Sendable {
    private let worker: OpaquePointer
    /// Readable when it has ended; nil where there was no room for it.
    let process: FileDescriptor?
    /// Whose numbers it was given, without those that are known to be done.
    private var users: [UInt32] = []
    private var firstUser: UInt32 = 0
    private var addedCount: UInt32 = 0

    /// Nil if there can be no other process now.
    init?(reportingTo report: FileDescriptor) {
        guard let worker = unsafe gr_disposal_start(report.rawValue) else { return nil }
        unsafe self.worker = worker
        let number = unsafe gr_disposal_process(worker)
        process = number < 0 ? nil : FileDescriptor(owning: number)
    }

    /// False: it has its hands full.
    func add(_ number: CInt, of user: UInt32) -> Bool {
        forgetDone()
        // Before the worker, which may be awake, can have closed it.
        users.append(user)
        guard unsafe gr_disposal_add(worker, number) else {
            users.removeLast()
            return false
        }
        addedCount &+= 1
        return true
    }

    func wake() { unsafe gr_disposal_wake(worker) }

    var doneCount: UInt32 { unsafe gr_disposal_done(worker) }

    var outstandingCount: Int { Int(addedCount &- doneCount) }

    var isDone: Bool { outstandingCount == 0 }

    /// Whose descriptor it is closing.
    var currentUser: UInt32? {
        forgetDone()
        return users.first
    }

    /// How many of this user's it has not closed yet.
    func count(of user: UInt32) -> Int {
        forgetDone()
        return users.count { $0 == user }
    }

    private func forgetDone() {
        let count = Int(doneCount &- firstUser)
        users.removeFirst(count)
        firstUser &+= UInt32(count)
    }

    /// What it has not begun with.
    func takeBack() -> [(number: CInt, user: UInt32)] {
        forgetDone()
        return users.enumerated().compactMap { offset, user in
            let number = unsafe gr_disposal_take_back(worker, firstUser &+ UInt32(offset))
            return number < 0 ? nil : (number, user)
        }
    }

    func report() { unsafe gr_disposal_report(worker) }

    /// Once it has nothing to do, or is gone.
    func end() { unsafe gr_disposal_end(worker) }

    /// Somebody else has ended it; what it was closing is closed.
    var isGone: Bool { unsafe gr_disposal_is_gone(worker) }
}
