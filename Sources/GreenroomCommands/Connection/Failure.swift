import Glibc
import GreenroomControl
import GreenroomLinux
import Varlink

/// Why a verb did not succeed, as a message and as an exit code.
enum Failure: Error {
    /// Nobody listens at the path.
    case unreachable(path: String, SystemError)
    /// The connection ended before the reply.
    case disconnected
    case control(ControlError)
    case service(ServiceError)
    /// An error or a reply that this client does not know.
    case unknown(String)
    case system(SystemError)
    /// A short name that several apps have.
    case ambiguous(String, [String])
    /// A number where an app is expected.
    case number(String)
    /// A file of an app cannot be found or changed.
    case manifest(ManifestFailure)
}

extension Failure {
    /// A refusal by this client, in the form of the daemon's.
    static func refused(_ code: String, _ reason: String) -> Failure {
        .control(.refused(code: code, reason: reason))
    }

    /// The app is not running, and whoever wanted to end it does not want to start it.
    static func nothingToEnd(of app: String) -> Failure {
        .refused("not_running", "\(app) is not running, so there is nothing to end")
    }
}

extension Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .unreachable(let path, let error) where error.code == EACCES:
            "you may not use \(path); you must be root or a member of its group"
        case .unreachable(let path, let error)
        where error.code == ENOENT || error.code == ECONNREFUSED:
            "greenroomd is not running: nobody listens at \(path). "
                + "Start it with \"systemctl start greenroomd\" "
                + "(yours: \"systemctl --user start greenroomd\"), or run \"greenroomd\"; "
                + "if it listens elsewhere, name its socket with --socket"
        case .unreachable(_, let error), .system(let error): error.description
        case .disconnected:
            "greenroomd closed the connection; \"journalctl -u greenroomd\" may say why"
        case .control(let error): error.description
        case .service(.invalidParameter(let name)):
            "greenroomd does not accept this \"\(name)\"; is it another version?"
        case .service(.methodNotFound(let name)), .service(.methodNotImplemented(let name)),
            .service(.interfaceNotFound(let name)):
            "greenroomd does not know \(name); is it another version?"
        case .service(.permissionDenied): "you may not do this"
        case .service(.expectedMore): "greenroomd expected another kind of call"
        case .unknown(let what): "greenroomd answered \(what), which this client does not know"
        case .ambiguous(let name, let apps):
            "several apps are called \(name): \(apps.joined(separator: ", ")); name one in full"
        case .number(let number):
            "no app \(number) is installed; an instance is named with --instance \(number)"
        case .manifest(let failure): failure.description
        }
    }

    /// The exit status that greenroomctl(1) documents.
    var exitStatus: ExitStatus {
        switch self {
        case .unreachable(_, let error) where error.code == EACCES: .permission
        case .unreachable, .disconnected: .unreachable
        case .control(.permissionDenied), .service(.permissionDenied): .permission
        case .manifest(let failure): failure.exitStatus
        case .control, .service, .unknown, .system, .ambiguous, .number: .failed
        }
    }

    /// Whether the daemon does not have the app.
    var isOfMissingApp: Bool {
        switch self {
        case .control(.noSuchApp): true
        case .control(.refused(let code, _)): code == Control.Note.ofSystem
        case .control, .unreachable, .disconnected, .service, .unknown, .system, .ambiguous,
            .number,
            .manifest:
            false
        }
    }

    /// Whether this caller cannot launch the app, so that a link executes the program itself: the
    /// app is not there or hidden, or nobody could be asked for it.
    var isOfUnreachableApp: Bool {
        switch self {
        case .unreachable, .control(.permissionDenied), .service(.permissionDenied): true
        case .control, .disconnected, .service, .unknown, .system, .ambiguous, .number, .manifest:
            isOfMissingApp
        }
    }

    /// The same failure; if the app could not enter its working directory, one that says which
    /// directories that may be. The daemon does not tell the manifest's from the caller's.
    func naming(directory: String) -> Failure {
        guard case .control(.spawnFailed(let stage, let code, let reason)) = self,
            stage == SpawnError.Stage.directory.activity, code == ENOENT || code == EACCES
        else { return self }
        let cause = code == ENOENT ? "its sandbox may hide it: " : ""
        return .refused(
            "directory",
            "the app cannot enter its WorkingDirectory= or, if it has none, \(directory): "
                + "\(reason); \(cause)call it from elsewhere, or correct WorkingDirectory=")
    }

    /// What is being done when a spawn fails because of the program or its interpreter.
    private static let programStages = [
        SpawnError.Stage.execute.activity, "finding the program's interpreter",
    ]

    /// The exit status for verbs that end as the app did. 126 and 127 are about the program, so the
    /// same errors of an earlier stage of the spawn do not count.
    var attachedExitStatus: ExitStatus {
        switch self {
        case .control(.noSuchApp), .ambiguous, .number: .notFound
        // The app has a manifest and is not installed, for example because its program is missing.
        case .control(.refused(Control.Note.ofSystem, _)),
            .control(.refused("manifest_refused", _)), .control(.refused("masked", _)):
            .notFound
        case .control(.spawnFailed(let stage, let code, _))
        where Self.programStages.contains(where: stage.hasPrefix):
            switch code {
            case ENOENT: .notFound
            case EACCES, ENOEXEC: .notExecutable
            case _: .notStarted
            }
        case .unreachable, .disconnected, .control, .service, .unknown, .system, .manifest:
            .notStarted
        }
    }

    var exitCode: Int32 { exitStatus.rawValue }
    var attachedExitCode: Int32 { attachedExitStatus.rawValue }
}
