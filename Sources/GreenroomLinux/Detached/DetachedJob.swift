internal import CGreenroomLinux
internal import Glibc

/// System calls that may wait for a stranger. A process that shares this one's memory makes them
/// (``DetachedWorker``); the job must live until that process has made them.
@safe public final class DetachedJob {
    public enum Call {
        /// Reads a whole file. Fails with `EFBIG` if it has `limit` bytes or more.
        case read(String, limit: Int)
        /// Finds out which file the path leads to, and watches it if an inotify queue is given
        /// (inotify(7)).
        case look(String, watchedBy: Inotify? = nil, for: UInt32 = 0)
        /// `MADV_PAGEOUT` of process_madvise(2).
        case pageOut(ProcessDescriptor, Range<UInt>)
        /// Opens a FIFO for reading that does not wait for input.
        case openPipe(String)
        /// Moves bytes that wait in a pipe to the target: at most `limit`, and no more than the
        /// target takes at once. Without a target, the bytes are discarded.
        case forward(FileDescriptor, to: FileDescriptor?, limit: Int)

        fileprivate var byteCount: Int { if case .read(_, let limit) = self { limit } else { 0 } }
        fileprivate var path: String? {
            switch self {
            case .read(let path, _), .look(let path, _, _), .openPipe(let path): path
            case .pageOut, .forward: nil
            }
        }
    }

    private let calls: [Call]
    let records: UnsafeMutableBufferPointer<gr_detached_call>
    /// Address space for what the calls read; only the part that is used takes memory.
    private let room: UnsafeMutableRawPointer?
    private let roomByteCount: Int

    public init(_ calls: [Call]) {
        self.calls = calls
        roomByteCount = calls.reduce(0) { $0 + $1.byteCount }
        unsafe room = Self.map(roomByteCount)
        unsafe records = .allocate(capacity: calls.count)
        var used: UInt = 0
        for (index, call) in calls.enumerated() {
            let place = unsafe room.map { UInt(bitPattern: $0) + used }
            unsafe records.initializeElement(at: index, to: Self.record(of: call, at: place))
            used += UInt(call.byteCount)
        }
    }

    deinit {
        for index in calls.indices {
            unsafe free(UnsafeMutableRawPointer(mutating: records[index].path))
        }
        unsafe records.deallocate()
        if let room = unsafe room { unsafe munmap(room, roomByteCount) }
    }

    private static func map(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        guard byteCount > 0 else { return nil }
        let room = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1, 0)
        return unsafe room == MAP_FAILED ? nil : room
    }

    private static func record(of call: Call, at place: UInt?) -> gr_detached_call {
        var record = unsafe gr_detached_call()
        unsafe record.descriptor = -1
        unsafe record.path = call.path.flatMap { unsafe UnsafePointer(strdup($0)) }
        switch call {
        case .read(_, let limit):
            unsafe record.kind = GR_DETACHED_READ
            unsafe record.address = place ?? 0
            unsafe record.count = place == nil ? 0 : limit
        case .look(_, let inotify, let mask):
            unsafe record.kind = GR_DETACHED_WATCH
            if let inotify { unsafe record.descriptor = inotify.descriptor.rawValue }
            unsafe record.mask = mask
        case .pageOut(let process, let range):
            unsafe record.kind = GR_DETACHED_PAGE_OUT
            unsafe record.descriptor = process.descriptor.rawValue
            unsafe record.address = range.lowerBound
            unsafe record.count = range.count
        case .openPipe: unsafe record.kind = GR_DETACHED_OPEN_PIPE
        case .forward(let pipe, let target, let limit):
            unsafe record.kind = GR_DETACHED_FORWARD
            unsafe record.descriptor = pipe.rawValue
            unsafe record.target = target?.rawValue ?? -1
            unsafe record.count = limit
        }
        return unsafe record
    }

    // MARK: Results

    /// What the call read; nil if it failed.
    public func bytes(_ index: Int) -> [UInt8]? {
        let (address, count) = unsafe (records[index].address, records[index].result)
        guard count >= 0, let start = unsafe UnsafeRawPointer(bitPattern: address) else {
            return nil
        }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// 0, or the errno of the call.
    public func code(_ index: Int) -> CInt { unsafe CInt(clamping: -min(records[index].result, 0)) }

    /// What ``Call/forward(_:to:limit:)`` found.
    public enum Forwarding: Sendable {
        /// More may wait.
        case moved
        case nothing
        /// The target accepts nothing at present.
        case blocked
        /// The pipe is empty and nobody has it open for writing, or it cannot be read.
        case ended
    }

    public func forwarding(_ index: Int) -> Forwarding {
        switch unsafe records[index].result {
        case 1...: .moved
        case 0: .nothing
        case Int(-EAGAIN): .blocked
        default: .ended
        }
    }

    /// The reading end that ``Call/openPipe(_:)`` opened; nil if it could not. Call this only once.
    /// The disposer closes the descriptor, because closing may wait as well.
    public func pipe(_ index: Int, of stranger: Stranger) -> FileDescriptor? {
        let number = unsafe records[index].result
        return number >= 0 ? FileDescriptor(owning: CInt(number), of: stranger) : nil
    }

    /// The number of the watch; nil if the call made none.
    public func watch(_ index: Int) -> CInt? {
        unsafe records[index].descriptor >= 0 && records[index].result >= 0
            ? CInt(records[index].result) : nil
    }

    /// The file that the path leads to; nil if there is none, or we may not see it.
    public func file(_ index: Int) -> FileIdentity? {
        guard unsafe records[index].is_found else { return nil }
        let file = unsafe records[index].file
        return FileIdentity(
            device: file.device, inode: file.inode, byteCount: file.byte_count,
            modified: file.modified, changed: file.changed)
    }
}
