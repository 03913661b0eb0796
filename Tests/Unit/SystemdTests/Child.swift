import Glibc
import Testing

/// A run of systemd-probe. The test has the other ends of its descriptors 0, 1 and 2.
final class Child {
    let pid: pid_t
    private(set) var input: CInt
    let output: CInt
    private let errors: CInt
    private var pending = ""

    /// No fact that these tests await may take longer, on any machine.
    static let deadlineMilliseconds: CInt = 30_000

    /// The path of systemd-probe, which is beside the test bundle.
    static let probe: String = {
        let maps = contents(of: "/proc/self/maps")
        for line in maps.split(separator: "\n") where line.hasSuffix(".xctest") {
            guard let slash = line.firstIndex(of: "/"), let end = line.lastIndex(of: "/") else {
                continue
            }
            return line[slash..<end] + "/systemd-probe"
        }
        fatalError("this process has no test bundle mapped")
    }()

    init(_ arguments: [String], program: String = Child.probe, environment: [String] = []) {
        let (input, output, errors) = (Self.pair(), Self.pair(), Self.pair())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        posix_spawn_file_actions_adddup2(&actions, errors[1], 2)
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var envp =
            (["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SWIFT_BACKTRACE=enable=no"]
            + environment + Self.passedOn)
            .map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, program, &actions, nil, &argv, &envp)
        precondition(result == 0, "\(program): \(String(cString: strerror(result)))")
        for end in [input[0], output[1], errors[1]] { close(end) }
        self.pid = pid
        self.input = input[1]
        self.output = output[0]
        self.errors = errors[0]
    }

    /// Variables that sanitizers and the loader need in the child, too. (Swift's backtracer would
    /// take minutes to describe the crash of a program with a sanitizer.)
    private static var passedOn: [String] {
        ["LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"].compactMap {
            (name: String) -> String? in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
    }

    /// The next line of the child's output, without the newline.
    func line() -> String? {
        while !pending.contains("\n") {
            guard let more = Self.read(output) else { return nil }
            pending += more
        }
        let end = pending.firstIndex(of: "\n")!
        defer { pending = String(pending[pending.index(after: end)...]) }
        return String(pending[..<end])
    }

    /// The sockets are made close-on-exec, because a child that another test starts at the same
    /// time would keep our end open.
    private static func pair() -> [CInt] {
        var ends: [CInt] = [0, 0]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return ends
    }

    func endInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    /// Reads everything that it still prints, and waits for its end.
    func finish() -> (lines: [String], errors: [String], status: Int32) {
        while let more = Self.read(output) { pending += more }
        var complaint = ""
        while let more = Self.read(errors) { complaint += more }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        endInput()
        for descriptor in [output, errors] { close(descriptor) }
        return (
            pending.split(separator: "\n").map(String.init),
            complaint.split(separator: "\n").map(String.init),
            status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
        )
    }

    static func becomes(
        _ events: Int32, _ descriptor: CInt, milliseconds: CInt = deadlineMilliseconds
    ) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&ready, 1, milliseconds) == 1
    }

    private static func read(_ descriptor: CInt) -> String? {
        guard becomes(POLLIN, descriptor) else {
            Issue.record("nothing was said in time")
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}

/// Reads a small file, such as one of the kernel's.
func contents(of path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = fread(&bytes, 1, bytes.count, file)
        if count == 0 { return String(decoding: all, as: UTF8.self) }
        all += bytes.prefix(count)
    }
}
