internal import Glibc

/// A library that is to be preloaded, and any obstacle to that.
///
/// If the dynamic linker cannot load the library, it prints a line and continues without it
/// (ld.so(8)). A program that was to wait in the library would then run for real. So the library is
/// checked first.
public struct PreloadLibrary: Equatable, Sendable {
    public enum Obstacle: Equatable, Sendable {
        case missing
        /// The path has a character with a special meaning in LD_PRELOAD.
        case unspeakable
        /// The file is incomplete, or not a library for this machine's own programs.
        case damaged
        /// The file system is mounted noexec.
        case notExecutable
    }

    /// Why nobody can load the library; nil if nothing prevents it.
    public let obstacle: Obstacle?
    /// The library, or a folder on the way to it, if it is closed to users other than its owner and
    /// group.
    public let closed: String?

    public init(path: String) {
        let obstacle = Self.obstacle(to: path)
        self.obstacle = obstacle
        closed = obstacle == nil ? Self.closed(on: path) : nil
    }

    private static func obstacle(to path: String) -> Obstacle? {
        guard unsafe access(path, R_OK) == 0 else { return .missing }
        // Separators, and the character that begins $ORIGIN.
        guard !path.utf8.contains(where: { " :$".utf8.contains($0) }) else { return .unspeakable }
        guard isLibrary(path) else { return .damaged }
        var system = statvfs()
        guard unsafe statvfs(path, &system) != 0 || system.f_flag & 8 == 0 else {  // ST_NOEXEC
            return .notExecutable
        }
        return nil
    }

    /// elf(5): ET_DYN for this machine, with every segment inside the file.
    private static func isLibrary(_ path: String) -> Bool {
        do {
            let file = try ExecutableFile(path: path)
            guard let header = file.exactly(64, at: 0),
                header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]),
                header.littleEndian(at: 16, as: UInt16.self) == 3,
                header.littleEndian(at: 18, as: UInt16.self) == ElfProgram.machine
            else { return false }
            let segments = try Segments(file, header: header)
            return segments.dynamic != nil && !segments.loaded.isEmpty
                && segments.loaded.allSatisfy {
                    let (end, overflow) = $0.offset.addingReportingOverflow($0.byteCount)
                    return !overflow && end <= file.byteCount
                }
        } catch {
            return false
        }
    }

    /// Considers the modes alone, and does not rely on what an access control list grants.
    private static func closed(on path: String) -> String? {
        guard mode(of: path).map({ $0 & S_IROTH != 0 }) ?? false else { return path }
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            let name = folder.isEmpty ? "/" : String(folder)
            guard mode(of: name).map({ $0 & S_IXOTH != 0 }) ?? false else { return name }
        }
        return nil
    }

    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode : nil
    }
}
