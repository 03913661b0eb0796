import Glibc

/// The test's own directory, which other users can enter. It is removed with the last reference.
public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() throws {
        var template = Array("/tmp/greenroom-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestError("mkdtemp: errno \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
    }

    deinit { removeTree(path) }

    /// Writes a file and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String, mode: UInt32 = 0o644) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw TestError("\(file): errno \(errno)") }
        defer {
            close(descriptor)
            if mode & 0o111 != 0 { awaitNoWriter(of: file) }
        }
        var text = text
        let count = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == text.utf8.count else { throw TestError("\(file): short write") }
        fchmod(descriptor, mode)
        return file
    }
}

/// Returns when nobody has a file open for writing, as F_SETLEASE of fcntl(2) can tell. A child
/// that another test starts at this moment has a copy of the descriptor until it executes a
/// program, and a program that is open for writing cannot be executed (ETXTBSY).
public func awaitNoWriter(of path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let setLease: Int32 = 1024
    while fcntl(descriptor, setLease, Int32(F_RDLCK)) < 0, errno == EAGAIN { poll(nil, 0, 1) }
    _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
}

/// Something that the test needs has failed; the text says what.
public struct TestError: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// The whole file, which may be one of /proc.
public func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw TestError("\(path): errno \(errno)") }
    defer { close(descriptor) }
    return readToEnd(descriptor)
}

/// Everything up to the end of a file, or of a pipe whose writers have gone.
public func readToEnd(_ descriptor: Int32) -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return all }
        all.append(contentsOf: buffer[..<count])
    }
}

/// Removes a file, or a directory with everything in it.
public func removeTree(_ path: String) {
    if let directory = opendir(path) {
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name == "." || name == ".." { continue }
            var status = stat()
            let child = "\(path)/\(name)"
            let isDirectory = lstat(child, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            if isDirectory { removeTree(child) } else { unlink(child) }
        }
        closedir(directory)
    }
    rmdir(path)
}
