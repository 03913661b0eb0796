import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// What `greenroomctl doctor` examines: this machine, or a test's idea of one. Nothing in it fails:
/// what cannot be had is nil.
protocol Patient {
    var socketPath: String { get }
    /// Ours, with links resolved.
    var program: String { get }
    var user: UInt32 { get }
    func variable(_ name: String) -> String?

    /// The running daemon, or why it does not answer.
    var daemon: Result<Control.Description, Failure> { get }
    /// The process that holds the daemon's socket, if it can be connected to.
    var daemonProcess: Int32? { get }

    func bytes(of path: String) -> [UInt8]?
    /// Names of a directory, sorted.
    func names(in directory: String) -> [String]?
    /// Of what a path leads to.
    func status(of path: String) -> PathStatus?
    func link(at path: String) -> String?
    /// Where manifests are looked for unless the daemon says otherwise, first to last.
    var appDirectories: [String] { get }
    /// Every manifest with what extends it, masked ones and templates left out; and the paths that
    /// cannot be read.
    func installedManifests(
        in directories: [String]
    ) -> (files: [CheckedManifest], unreadable: [String])
    func hasGroup(_ name: String) -> Bool
    /// Whether the kernel has it, and lets us use it.
    func has(_ feature: KernelFeature) -> Bool
    /// Runs a program for a few seconds at most; nil if there is none of that name.
    func run(_ words: [String]) -> (status: Int32, output: String)?
}

struct CheckedManifest {
    /// Nil if there is an error.
    var manifest: AppManifest?
    var diagnostics: [Diagnostic]
}

extension CheckedManifest {
    /// One that the daemon does not read.
    init(path: String, _ objection: PathOwners.Objection) {
        self.init(
            manifest: nil,
            diagnostics: [
                Diagnostic(
                    severity: .error, file: path, position: Position(line: 1, column: 1),
                    message: "not read: \(objection)")
            ])
    }
}

struct PathStatus: Equatable {
    enum Kind { case file, directory, socket, other }
    var kind: Kind
    /// Of chmod(2), 0 to 0o7777.
    var mode: UInt32
    var user: UInt32 = 0
    var group: UInt32 = 0
}

enum KernelFeature: String, CaseIterable {
    /// clone3(2), Linux 5.3.
    case clone3
    /// pidfd_open(2), Linux 5.3.
    case pidfd = "pidfd_open"
    /// close_range(2), Linux 5.9.
    case closeRange = "close_range"
    /// memfd_create(2) with seals, Linux 3.17.
    case memfd = "memfd_create"
}

extension Patient {
    func text(of path: String) -> String? {
        bytes(of: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The system's daemon is meant, not one of a user.
    var isSystem: Bool { socketPath == SocketPath.system }

    var runtimeDirectory: String { socketPath.directory }

    /// As the running daemon says, if it does.
    var surroundings: Control.Surroundings? {
        if case .success(let description) = daemon { description.surroundings } else { nil }
    }

    /// systemd runs this machine (sd_booted(3)).
    var isBooted: Bool { status(of: "/run/systemd/system")?.kind == .directory }
}

extension String {
    /// As dirname(1).
    var directory: String {
        guard let slash = lastIndex(of: "/"), slash != startIndex else { return "/" }
        return String(self[..<slash])
    }
}
