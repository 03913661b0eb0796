import Glibc
import GreenroomLinux
import Testing

/// Runs /bin/sh as a child and hands back what it wrote to its standard output.
struct ShellRun {
    let output: String
    let status: TerminationStatus

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// - Parameter prepare: changes the request; the output pipe is already at 1.
    static func of(
        _ script: String, environment: StringBlock = [],
        prepare: (inout SpawnRequest) -> Void = { _ in }
    ) throws -> ShellRun {
        let (reading, writing) = try FileDescriptor.pipe()
        let null = try FileDescriptor.open("/dev/null", O_RDWR)
        var request = SpawnRequest(
            path: "/bin/sh", arguments: ["sh", "-c", script], environment: environment)
        request.descriptors = [
            .init(null.rawValue, at: 0), .init(writing.rawValue, at: 1),
            .init(null.rawValue, at: 2),
        ]
        prepare(&request)
        let spawned = try request.spawn()
        Glibc.close(writing.release())
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try chunk.withUnsafeMutableBytes { try reading.read(into: $0) } ?? 0
            if count == 0 { break }
            bytes += chunk.prefix(count)
        }
        return ShellRun(
            output: String(decoding: bytes, as: UTF8.self), status: try spawned.process.wait())
    }
}

/// The number of descriptors that this process has open, to find leaks.
func openDescriptorCount() throws -> Int {
    guard let directory = opendir("/proc/self/fd") else {
        throw SystemError(code: errno, call: "opendir")
    }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
}
