/// Why a command cannot run at all, cold or prewarmed.
public enum ExecutableError: Error, Equatable, Sendable {
    /// No such file, or no directory of the search path has the name.
    case notFound(name: String, searchPath: String?)
    /// A file exists, but it may not be executed.
    case notExecutable(path: String)
    /// The path leads to something other than a file: a directory, or a device or the like.
    case notAFile(path: String, isDirectory: Bool)
    /// The file, or a folder on the way to it, is on a file system that a process of this user
    /// serves.
    case served(path: String, user: UInt32)
    /// A script whose first line names a program that does not exist.
    case interpreterNotFound(script: String, interpreter: String)
    /// Scripts interpret scripts more often than the kernel allows.
    case tooManyInterpreters(path: String)
    /// `#!` with nothing after it, or with a name too long for the kernel.
    case badFirstLine(script: String)

    public var code: String {
        switch self {
        case .notFound: "not_found"
        case .notExecutable, .notAFile: "not_executable"
        case .served: "served_by_user"
        case .interpreterNotFound: "interpreter_not_found"
        case .tooManyInterpreters: "too_many_interpreters"
        case .badFirstLine: "bad_first_line"
        }
    }
}

extension ExecutableError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound(let name, let searchPath?):
            "\(name) is not in any directory of \(searchPath); install it or give its full path"
        case .notFound(let name, nil): "\(name) does not exist; install it or correct the path"
        case .notExecutable(let path):
            "\(path) may not be executed; set its execute permission or name another file"
        case .notAFile(let path, isDirectory: true): "\(path) is a directory; name a program"
        case .notAFile(let path, isDirectory: false):
            "\(path) is not a file but a device, a socket or a FIFO; name a program"
        case .served(let path, let user):
            PathOwners.Objection.served(path: path, user: user).description
        case .interpreterNotFound(let script, let interpreter):
            "\(script) is to be run by \(interpreter), which does not exist; install it or correct "
                + "the script's first line"
        case .tooManyInterpreters(let path):
            "\(path) goes through more than \(ExecutableInspection.interpreterLimit) interpreters; "
                + "the kernel refuses that"
        case .badFirstLine(let script):
            "the first line of \(script) names no interpreter, or one longer than "
                + "\(ScriptLine.byteLimit) bytes; correct it"
        }
    }
}
