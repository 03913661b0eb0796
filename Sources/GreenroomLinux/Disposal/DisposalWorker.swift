internal import CGreenroomLinux

/// A process that closes descriptors (disposal.c), and the users of the descriptors that it was
/// given.
// Sound: only the disposer uses it, with its lock held; what the process itself shares is atomic.
@safe final class DisposalWorker: @unchecked Sendable {
    private let worker: OpaquePointer
    /// Becomes readable when the process ends; nil if no descriptor was free.
    let process: FileDescriptor?
    /// The user of each number that the process was given, without those that are known to be
    /// closed.
    private var users: [UInt32] = []
    private var firstUser: UInt32 = 0
    private var addedCount: UInt32 = 0

    /// Returns nil if no other process can be made now.
    init?(reportingTo report: FileDescriptor) {
        guard let worker = unsafe gr_disposal_start(report.rawValue) else { return nil }
        unsafe self.worker = worker
        let number = unsafe gr_disposal_process(worker)
        process = number < 0 ? nil : FileDescriptor(owning: number)
    }

    /// Returns false if the process has no room for another number.
    func add(_ number: CInt, of user: UInt32) -> Bool {
        forgetDone()
        // The user is recorded before the number is handed over, because a worker that is awake may
        // close it at once.
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

    /// The user whose descriptor the process is closing.
    var currentUser: UInt32? {
        forgetDone()
        return users.first
    }

    /// How many of this user's descriptors the process has not closed yet.
    func count(of user: UInt32) -> Int {
        forgetDone()
        return users.count { $0 == user }
    }

    private func forgetDone() {
        let count = Int(doneCount &- firstUser)
        users.removeFirst(count)
        firstUser &+= UInt32(count)
    }

    /// Takes back the numbers that the process has not begun to close.
    func takeBack() -> [(number: CInt, user: UInt32)] {
        forgetDone()
        return users.enumerated().compactMap { offset, user in
            let number = unsafe gr_disposal_take_back(worker, firstUser &+ UInt32(offset))
            return number < 0 ? nil : (number, user)
        }
    }

    func report() { unsafe gr_disposal_report(worker) }

    /// Ends the process. Call this only when the process has nothing to do, or is gone.
    func end() { unsafe gr_disposal_end(worker) }

    /// Whether somebody else has ended the process. The descriptor that the process was closing
    /// then is closed.
    var isGone: Bool { unsafe gr_disposal_is_gone(worker) }
}
