internal import CGreenroomLinux
internal import Glibc

/// Finds what running a command would run, and whether that can be paused before main. Reads files
/// and starts nothing. Use it when a manifest is loaded, not during a launch.
public enum ExecutableInspection {
    /// The kernel's own limit on interpreters in a row (`BINPRM_RECURSION` in execve(2)).
    static let interpreterLimit = 5

    /// The directories in which `exec` looks when the environment has no PATH.
    public static let defaultSearchPath = "/usr/local/bin:/usr/bin:/bin"

    /// - Parameters:
    ///   - path: a path, or a name without a slash to be looked up.
    ///   - searchPath: directories, separated by colons: the PATH of the app's environment. `env`
    ///     looks in it, too.
    /// - Throws: ``ExecutableError`` when the command cannot run at all.
    public static func inspect(
        path: String, searchPath: String = defaultSearchPath
    ) throws(ExecutableError) -> ExecutableFacts {
        let first = try find(path, in: searchPath)
        var walk = InterpreterWalk(first, searchPath: searchPath)
        while try walk.step() {}
        return walk.facts
    }

    /// If one of these variables is set, the dynamic linker itself prints or writes something, or
    /// runs no program.
    private static let reports = [
        "LD_DEBUG", "LD_PROFILE", "LD_SHOW_AUXV", "LD_TRACE_LOADED_OBJECTS",
    ]

    /// Why no program can be paused with this environment, because of what it makes the dynamic
    /// linker do or which libraries it adds; nil if programs can be. ld.so(8)
    /// - Parameter environment: `NAME=value`.
    public static func objection(to environment: [String]) -> IneligibilityReason? {
        var libraries = NeededLibraries()
        for variable in environment where variable.hasPrefix("LD_") {
            if reports.contains(where: { variable.value(of: $0) != nil }) { return .changesProcess }
            if let list = variable.value(of: "LD_PRELOAD") ?? variable.value(of: "LD_AUDIT") {
                for name in list.split(whereSeparator: { ": ".contains($0) }) {
                    libraries.insert(String(name))
                }
            } else if let folders = variable.value(of: "LD_LIBRARY_PATH") {
                libraries.insert(searchPath: folders.replacing(";", with: ":"))
            }
        }
        return libraries.objection
    }

    /// The file that exec would use for a name, found as by execvp(3), except that an unusable file
    /// is reported only if no usable one follows.
    public static func find(_ name: String, in searchPath: String) throws(ExecutableError) -> String
    {
        if name.contains("/") {
            guard let sight = try look(at: name) else {
                throw .notFound(name: name, searchPath: nil)
            }
            if let obstacle = sight.obstacle { throw obstacle }
            return name
        }
        var unusable: ExecutableError?
        for directory in searchPath.split(separator: ":", omittingEmptySubsequences: false) {
            // An empty entry means the current directory, which an app of a daemon does not have.
            guard directory.hasPrefix("/"), !name.isEmpty else { continue }
            let candidate = "\(directory)/\(name)"
            guard let sight = (try? look(at: candidate)) ?? nil else { continue }
            guard let obstacle = sight.obstacle else { return candidate }
            unusable = unusable ?? obstacle
        }
        if let unusable { throw unusable }
        throw .notFound(name: name, searchPath: searchPath)
    }

    /// The file at a path. The obstacle is nil for a regular file that somebody may execute; the
    /// kernel checks the launching user's permission at exec.
    private struct Sight {
        let obstacle: ExecutableError?
    }

    /// - Returns: nil if there is no file, or we may not see it.
    private static func look(at path: String) throws(ExecutableError) -> Sight? {
        var status = stat()
        do throws(PathOwners.Objection) {
            let file = try PathOwners.openPathOnly(path)
            guard unsafe fstat(file.rawValue, &status) == 0 else { return nil }
        } catch {
            if case .served(let path, let user) = error { throw .served(path: path, user: user) }
            return nil
        }
        let type = status.st_mode & S_IFMT
        guard type == S_IFREG else {
            return Sight(obstacle: .notAFile(path: path, isDirectory: type == S_IFDIR))
        }
        return Sight(
            obstacle: status.st_mode & 0o111 == 0 ? .notExecutable(path: path) : nil)
    }

    /// Whether this is the system's own `env`, which behaves as env(1) says. Another program called
    /// `env` is paused like any program.
    static func isEnv(_ path: String) -> Bool {
        guard path.split(separator: "/").last == "env", let own = status(path), own.st_uid == 0,
            own.st_mode & (S_IWGRP | S_IWOTH) == 0
        else { return false }
        return ["/usr/bin/env", "/bin/env"].compactMap(status).contains {
            $0.st_dev == own.st_dev && $0.st_ino == own.st_ino
        }
    }

    private static func status(_ path: String) -> stat? { PathOwners.status(of: path) }

    /// The path without symbolic links, as the kernel shows it.
    static func realPath(_ path: String) -> String {
        guard let file = try? PathOwners.openPathOnly(path) else { return path }
        return (try? file.path()) ?? path
    }

    /// Whether the file gives capabilities to its process. getxattr(2)
    static func hasFileCapabilities(_ path: String) -> Bool {
        guard let file = try? PathOwners.openPathOnly(path) else { return true }
        let size = unsafe gr_attribute_size(
            "/proc/self/fd/\(file.rawValue)", "security.capability")
        // After any other error, it is safer to assume that the file gives capabilities.
        return size > 0 || (size < 0 && errno != ENODATA && errno != EOPNOTSUPP)
    }
}

extension String {
    fileprivate func value(of name: String) -> String? {
        hasPrefix(name + "=") ? String(dropFirst(name.count + 1)) : nil
    }
}
