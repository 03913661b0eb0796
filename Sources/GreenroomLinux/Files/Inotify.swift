internal import CGreenroomLinux
internal import Glibc

/// A change that a watch reported (inotify(7)).
public struct FileEvent: Hashable, Sendable {
    /// The number that ``Inotify/watch(_:for:)`` returned; -1 with ``overflowed``.
    public let watch: CInt
    public let mask: UInt32
    /// The name of the file in a watched directory; empty for the watched file itself.
    public let name: String

    /// Whether events were lost. If so, examine everything again.
    public var overflowed: Bool { mask & UInt32(IN_Q_OVERFLOW) != 0 }
    /// Whether the watch ended, because its file is gone or the watch was removed.
    public var watchEnded: Bool { mask & UInt32(IN_IGNORED) != 0 }
}

/// An inotify queue. Its descriptor is readable when there are events.
public final class Inotify: Sendable {
    public let descriptor: FileDescriptor
    /// Changes of a file's content, identity or mode (inotify(7)). A file that is replaced by
    /// rename(2) loses a link, which gives IN_ATTRIB.
    public static let fileChanges = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

    /// Room for several events. An event with the longest name has 16 + 256 bytes.
    private static let bufferByteCount = 4096

    public init() throws(SystemError) {
        descriptor = FileDescriptor(
            owning: try systemCall("inotify_init") {
                inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
            })
        // Closing a queue takes 13 ms.
        descriptor.leaveToKernelAtEnd()
    }

    /// Leaves a queue that a library has made, and keeps until this process ends, to the kernel.
    public static func markSlow(_ number: CInt) { gr_disposal_mark(number, GR_DISPOSAL_SLOW) }

    /// Watches a path, or changes the events that are watched there (inotify_add_watch).
    @discardableResult
    public func watch(_ path: String, for mask: UInt32) throws(SystemError) -> CInt {
        try systemCall("inotify_add_watch", on: path) {
            unsafe inotify_add_watch(descriptor.rawValue, path, mask)
        }
    }

    /// The same for a path of which other users may control parts (``PathOwners``). This never
    /// accesses a file system that another user serves.
    public func watch(foreign path: String, for mask: UInt32) throws(SystemError) -> CInt {
        let file: FileDescriptor
        do throws(PathOwners.Objection) { file = try PathOwners.openPathOnly(path) } catch {
            throw error.systemError
        }
        return try systemCall("inotify_add_watch", on: path) {
            unsafe inotify_add_watch(
                descriptor.rawValue, "/proc/self/fd/\(file.rawValue)", mask)
        }
    }

    /// Ends a watch (inotify_rm_watch). It is not an error if the watch has ended already.
    public func remove(_ watch: CInt) { _ = inotify_rm_watch(descriptor.rawValue, watch) }

    /// The events that wait, possibly none. Call this until it returns none, or wait for the
    /// descriptor again.
    public func read() throws(SystemError) -> [FileEvent] {
        unsafe try withUnsafeTemporaryAllocation(
            byteCount: Self.bufferByteCount, alignment: MemoryLayout<inotify_event>.alignment
        ) { buffer throws(SystemError) in
            guard let count = unsafe try descriptor.read(into: buffer) else { return [] }
            var events: [FileEvent] = []
            var offset = 0
            while offset < count {
                let event = unsafe buffer.loadUnaligned(
                    fromByteOffset: offset, as: inotify_event.self)
                let start = offset + MemoryLayout<inotify_event>.size
                let end = start + Int(event.len)
                let name = unsafe buffer[start..<end].prefix { $0 != 0 }
                unsafe events.append(
                    FileEvent(
                        watch: event.wd, mask: event.mask,
                        name: String(decoding: name, as: UTF8.self)))
                offset = end
            }
            return events
        }
    }
}
