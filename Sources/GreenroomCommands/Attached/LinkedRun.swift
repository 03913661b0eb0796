import Glibc
import GreenroomControl
import GreenroomLinux
import UnitFile

/// greenroomctl called by the name of an app (`ln -s greenroomctl /usr/local/bin/ffmpeg`): runs
/// that app and passes every argument on. Callers need not change and lose nothing: if no daemon
/// can be reached, or it could not enter the working directory, the next program of that name in
/// PATH is executed instead.
struct LinkedRun: Equatable {
    static let ownName = "greenroomctl"

    /// The first word of the command line, and its last component.
    let call: String
    let name: String
    let arguments: [ByteString]

    /// - Returns: nil if this program was called by its own name.
    init?(_ words: [ByteString]) {
        guard let call = words.first?.shown, let name = call.split(separator: "/").last,
            name != Self.ownName
        else { return nil }
        self.call = call
        self.name = String(name)
        arguments = Array(words.dropFirst())
    }

    /// - Returns: the exit code; the app's, if it ran.
    func execute(_ console: any Console) -> Int32 {
        guard Caller.mayEnterDirectory else {
            return executeElsewhere(
                because: "nobody else can enter this working directory", console)
        }
        let inheritance = Inheritance.own
        Caller.fillStandardDescriptors()
        do throws(Failure) {
            let client = try ControlClient.usual(option: nil)
            guard case .listed(let apps) = try client.call(.list) else {
                throw .unknown("another question")
            }
            let app = try Self.app(called: name, among: apps + client.systemsApps(besides: apps))
            if let program = app.program, ProgramSearch.isOurselves(program) {
                return executeElsewhere(
                    because:
                        "\(app.identifier) has this link as its program; its Exec= should name "
                        + "the real one", console)
            }
            let run = AttachedRun(
                app: app.identifier, environment: [], arguments: arguments, socket: nil)
            return try run.perform(client, console, inheritance)
        } catch {
            switch error {
            case .unreachable: return executeElsewhere(because: error.description, console)
            case .disconnected, .control, .service, .unknown, .system, .ambiguous, .number,
                .manifest:
                console.complain(error.description)
                return error.attachedExitCode
            }
        }
    }

    /// Finds the app by its identifier or the last component of it, else by the file of its
    /// program, else by its name for humans. The first of these that matches any app must match
    /// exactly one.
    static func app(
        called name: String, among apps: [Control.AppSummary]
    ) throws(Failure) -> Control.AppSummary {
        let meanings: [(Control.AppSummary) -> Bool] = [
            { $0.identifier == name },
            { $0.identifier.split(separator: ".").last.map(String.init) == name },
            { $0.program?.split(separator: "/").last.map(String.init) == name },
            { $0.name == name },
        ]
        for meaning in meanings {
            let matches = apps.filter(meaning)
            if matches.count == 1 { return matches[0] }
            if matches.count > 1 { throw .ambiguous(name, matches.map(\.identifier)) }
        }
        throw .control(
            .noSuchApp(name, suggestion: Spelling.closest(to: name, among: apps.map(\.identifier))))
    }

    private func executeElsewhere(because reason: String, _ console: any Console) -> Int32 {
        guard let program = ProgramSearch(call).next else {
            console.complain(reason)
            console.complain("and no other program called \(name) comes later in PATH")
            return 127
        }
        if unsafe getenv("GREENROOM_DEBUG") != nil {
            console.complain("\(reason): executing \(program)")
        }
        let words = [ByteString(name)] + arguments
        var pointers = unsafe words.map { unsafe $0.copiedCString } + [nil]
        unsafe execv(program, &pointers)
        console.complain(SystemError(code: errno, call: "execve", subject: program).description)
        return errno == ENOENT ? 127 : 126
    }
}

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
                all.firstIndex { Self.isOurselves("\($0)/\(name)") }
            }
        // This program was called by a path that is not in PATH, so every directory counts.
        directories = own.map { all[($0 + 1)...] } ?? all[...]
    }

    /// The first program of that name that is not greenroomctl.
    var next: String? {
        directories.lazy.map { "\($0)/\(name)" }.first {
            Self.isProgram($0) && !Self.isOurselves($0)
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

    /// Whether the path is the file of this process, under any name, or a link to another
    /// greenroomctl. Two of them in PATH would execute each other for ever.
    static func isOurselves(_ path: String) -> Bool {
        isThisFile(path) || isLinkToGreenroomctl(path)
    }

    /// Resolves the link with realpath(3).
    private static func isLinkToGreenroomctl(_ path: String) -> Bool {
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        return unsafe String(cString: real).hasSuffix("/" + LinkedRun.ownName)
    }

    private static func isThisFile(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        guard unsafe stat("/proc/self/exe", &own) == 0, unsafe stat(path, &other) == 0 else {
            return false
        }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }
}
