import Glibc
import GreenroomLinux
import TestSupport

/// What /proc says about processes (proc(5)).
public enum Processes {
    public static let deadline: Int32 = Patience.milliseconds

    public static var all: [Int32] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        var pids: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let pid = Int32(name) { pids.append(pid) }
        }
        return pids
    }

    /// The state letter of a process; also `Z` if the process is gone.
    public static func state(of pid: Int32) -> Character {
        fields(of: pid).first?.first ?? "Z"
    }

    public static func parent(of pid: Int32) -> Int32 { number(1, of: pid) }

    public static func session(of pid: Int32) -> Int32 { number(3, of: pid) }

    public static func isAlive(_ pid: Int32) -> Bool { !"ZX".contains(state(of: pid)) }

    /// The user of the process (proc(5)); nil if there is no such process.
    public static func user(of pid: Int32) -> UInt32? {
        var status = stat()
        return stat("/proc/\(pid)", &status) == 0 ? status.st_uid : nil
    }

    /// All processes of a user.
    public static func count(ofUser user: UInt32) -> Int { all.count { self.user(of: $0) == user } }

    /// Live processes that descend from `pid`, without itself.
    public static func descendants(of pid: Int32) -> [Int32] {
        var childrenOf: [Int32: [Int32]] = [:]
        for process in all { childrenOf[parent(of: process), default: []].append(process) }
        var found: [Int32] = []
        var open = [pid]
        while let next = open.popLast() {
            for child in childrenOf[next] ?? [] {
                if isAlive(child) { found.append(child) }
                open.append(child)
            }
        }
        return found
    }

    /// Live processes of the spawner's apps: its descendants, except children that have not
    /// executed a program.
    public static func apps(of spawner: Int32) -> [Int32] {
        descendants(of: spawner).filter {
            parent(of: $0) != spawner || ProcessTable.entry(of: $0)?.hasExecuted == true
        }
    }

    /// The processes that close descriptors once this one has ended.
    public static func keepers(of pid: Int32) -> [Int32] {
        descendants(of: pid).filter {
            (try? readFile("/proc/\($0)/comm")) == Array("greenroom-keep\n".utf8)
        }
    }

    /// Live processes whose command line or environment contains the text, except the test's own.
    public static func mentioning(_ text: String) -> [Int32] {
        let wanted = Array(text.utf8)
        return all.filter { pid in
            guard pid != getpid(), isAlive(pid) else { return false }
            return ["cmdline", "environ"].contains { file in
                contains((try? readFile("/proc/\(pid)/\(file)")) ?? [], wanted)
            }
        }
    }

    /// Whether the kernel tells how a process ended that was not a child of this one
    /// (PIDFD_INFO_EXIT, Linux 6.15).
    public static let tellExits: Bool = {
        guard let child = try? ChildProcess(ChildRequest("/bin/true", arguments: ["true"])),
            let process = try? ProcessDescriptor(pid: child.pid),
            (try? child.waitForExit()) != nil
        else { return false }
        return process.exit == .known(.exited(0))
    }()

    /// Returns when the process has ended, reaped or not.
    public static func awaitEnd(of pid: Int32) throws {
        guard let process = try? ProcessDescriptor(pid: pid) else { return }
        guard try process.descriptor.waitUntilReadable(milliseconds: deadline) else {
            throw TestError("process \(pid) does not end: \(status(of: pid))")
        }
    }

    /// Returns when the process has been reaped: its parent knows how it ended.
    public static func awaitReaped(_ pid: Int32) throws {
        try wait("process \(pid) is not reaped") { kill(pid, 0) != 0 }
    }

    /// Returns when the process sleeps (proc_pid_stat(5)).
    public static func awaitSleep(of pid: Int32) throws {
        try wait("process \(pid) is always busy") {
            let text = String(decoding: try readFile("/proc/\(pid)/stat"), as: UTF8.self)
            return text.split(separator: ")").last?.hasPrefix(" S") == true
        }
    }

    public static func wait(
        _ complaint: String, milliseconds: Int32 = deadline, _ fact: () throws -> Bool
    ) throws {
        try Patience.wait(complaint, milliseconds: milliseconds, fact)
    }

    /// Whether the process has ended, or ends within this many milliseconds.
    public static func ends(_ pid: Int32, within milliseconds: Int32) -> Bool {
        guard isAlive(pid), let process = try? ProcessDescriptor(pid: pid) else { return true }
        return (try? process.descriptor.waitUntilReadable(milliseconds: milliseconds)) ?? true
    }

    /// The process in words, for messages.
    public static func description(of pid: Int32) -> String {
        let words = ((try? readFile("/proc/\(pid)/cmdline")) ?? []).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        return "\(pid) \(state(of: pid)) \(words.joined(separator: " "))"
    }

    /// One line of /proc/PID/status, without its name.
    public static func line(_ name: String, of pid: Int32) -> String? {
        status(of: pid).split(separator: "\n").first { $0.hasPrefix(name + ":") }.map {
            $0.dropFirst(name.count + 1).drop { $0 == "\t" || $0 == " " }
        }.map(String.init)
    }

    /// More than one of our small programs has in use, unless it collects what others flood it with. A
    /// sanitizer keeps what is freed for a while.
    public static let smallByteCount =
        ChildRequest.sanitizerOptions.isEmpty ? 64 << 20 : 512 << 20

    /// The memory that the process has in use (VmRSS), in bytes.
    public static func residentByteCount(of pid: Int32) -> Int {
        let words = line("VmRSS", of: pid)?.split(separator: " ") ?? []
        return words.first.flatMap { Int($0) }.map { $0 << 10 } ?? 0
    }

    private static func status(of pid: Int32) -> String {
        String(decoding: (try? readFile("/proc/\(pid)/status")) ?? [], as: UTF8.self)
    }

    private static func number(_ field: Int, of pid: Int32) -> Int32 {
        let fields = fields(of: pid)
        return field < fields.count ? Int32(fields[field]) ?? 0 : 0
    }

    /// The fields of /proc/PID/stat after the name: state, parent, group, session, ...
    private static func fields(of pid: Int32) -> [Substring] {
        let text = String(
            decoding: (try? readFile("/proc/\(pid)/stat")) ?? [], as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return [] }
        return text[text.index(after: end)...].split(separator: " ")
    }

    private static func contains(_ bytes: [UInt8], _ wanted: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while rest.count >= wanted.count {
                let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress!
                guard let found = memchr(start, Int32(wanted[0]), rest.count) else { return false }
                rest = rest.dropFirst(UnsafeRawPointer(found) - start)
                if rest.starts(with: wanted) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
