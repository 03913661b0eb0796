internal import CGreenroomLinux
public import Glibc

/// Taking what processes hold out of memory, without their help: back to its files, or to swap.
extension Cgroup {
    /// Asks the kernel for so many bytes of it (memory.reclaim, Linux 5.19, with the memory controller).
    /// Works as long as it takes: ask for few.
    ///
    /// - Returns: false when no more is to be had (`EAGAIN`).
    public func reclaim(byteCount: UInt64) throws(SystemError) -> Bool {
        do {
            try write("memory.reclaim", "\(byteCount)")
            return true
        } catch {
            guard error.code == EAGAIN else { throw error }
            return false
        }
    }

    /// What it holds; nil without the memory controller.
    public var memoryByteCount: UInt64? {
        (try? read("memory.current")).flatMap { UInt64($0.prefix { $0.isNumber }) }
    }
}

/// The private and file-backed memory of one process, to be gone through bit by bit
/// (process_madvise(2), MADV_PAGEOUT). For a process of ours that stands still.
public struct PagingOut {
    private let process: ProcessDescriptor
    private var ranges: [Range<UInt>]

    /// More mappings than this are left alone.
    private static let mappingLimit = 4096
    /// Of user memory, unless a program asks for more.
    private static let addressLimit: UInt = 1 << 47

    public init(pid: pid_t) throws(SystemError) {
        process = try ProcessDescriptor(pid: pid)
        // By number, but what it is told to do is told to the process that we hold.
        ranges = Self.ranges(in: try SmallFile.text(of: "/proc/\(pid)/maps"))
    }

    /// The next so many bytes.
    ///
    /// - Returns: false when everything has been gone through.
    /// - Throws: `EPERM` without CAP_SYS_NICE, `ESRCH` when it is gone.
    public mutating func step(byteCount: UInt) throws(SystemError) -> Bool {
        guard let range = ranges.popLast() else { return false }
        let end = min(range.upperBound, range.lowerBound + byteCount)
        if end < range.upperBound { ranges.append(end..<range.upperBound) }
        do {
            try systemCall("process_madvise") {
                gr_page_out(
                    process.descriptor.rawValue, range.lowerBound, Int(end - range.lowerBound))
            }
        } catch {
            // Locked, or a device's.
            if error.code != EINVAL, error.code != ENOMEM { throw error }
        }
        return !ranges.isEmpty
    }

    /// `55d0c0a00000-55d0c0a02000 r--p 00000000 08:02 1234 /bin/cat` (proc_pid_maps(5)).
    static func ranges(in maps: String) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        for line in maps.utf8.split(separator: UInt8(ascii: "\n")).prefix(mappingLimit) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            // The kernel's own ([vdso], [vvar], [vsyscall]), of which the last is no address of a
            // process (EFAULT).
            guard fields.count > 1, !fields[1].starts(with: "---".utf8),
                !line.contains(UInt8(ascii: "[")) || !Substring(line).contains("[v")
            else { continue }
            let ends = fields[0].split(separator: UInt8(ascii: "-"))
            guard ends.count == 2, let start = UInt(Substring(ends[0]), radix: 16),
                let end = UInt(Substring(ends[1]), radix: 16), start < end, end <= addressLimit
            else { continue }
            ranges.append(start..<end)
        }
        return ranges
    }
}
