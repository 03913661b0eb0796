import Glibc

/// The directories of PATH (execvp(3)) after the one in which this program was found.
struct ProgramSearch {
    private let directories: ArraySlice<String>
    private let name: String

    /// - Parameter call: the first word of the command line.
    init(_ call: String, _ path: String? = nil) {
        let path = path ?? Self.environment ?? "/usr/bin:/bin"
        let all = path.split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "." : String($0) }
        let parts = call.split(separator: "/", omittingEmptySubsequences: false)
        name = String(parts.last ?? "")
        let name = name
        let own =
            if parts.count > 1 {
                all.firstIndex(of: parts.dropLast().joined(separator: "/"))
            } else {
                all.firstIndex { LinkedRun.isOurselves("\($0)/\(name)") }
            }
        // If this program was called by a path that is not in PATH, every directory counts.
        directories = own.map { all[($0 + 1)...] } ?? all[...]
    }

    /// The first program of that name that is not one of ours.
    var next: String? {
        directories.lazy.map { "\($0)/\(name)" }.first {
            Self.isProgram($0) && !LinkedRun.isOurselves($0)
        }
    }

    private static var environment: String? {
        guard let value = unsafe getenv("PATH") else { return nil }
        return unsafe String(cString: value)
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
