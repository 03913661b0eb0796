import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// What `greenroomctl doctor` examines: this machine, or a machine that a test makes up. Nothing
/// here throws: a value that cannot be read is nil.
protocol ExaminedMachine {
    var socketPath: String { get }
    /// The path of this program, with links resolved.
    var program: String { get }
    var user: UInt32 { get }
    func variable(_ name: String) -> String?

    /// The running daemon, or why it does not answer.
    var daemon: Result<Control.Description, Failure> { get }
    /// The process that holds the daemon's socket, if it can be connected to.
    var daemonProcess: Int32? { get }

    func bytes(of path: String) -> [UInt8]?
    /// The names in a directory, sorted.
    func names(in directory: String) -> [String]?
    /// The status of the file at a path, following links.
    func status(of path: String) -> PathStatus?
    func link(at path: String) -> String?
    /// The directories of manifests in order of precedence, unless the daemon names others.
    var appDirectories: [String] { get }
    /// Every manifest with its drop-ins, without masked ones and templates; and the paths that
    /// cannot be read.
    func installedManifests(
        in directories: [String]
    ) -> (files: [CheckedManifest], unreadable: [String])
    /// The apps that the daemon has refused, and those that are masked.
    var refusedApps: [Control.AppSummary] { get }
    /// The faults that a reload would report in manifests whose text has no error, as far as the
    /// daemon answers.
    func reloadFaults(of files: [CheckedManifest]) -> [Control.ManifestFault]
    func hasGroup(_ name: String) -> Bool
    /// Whether the kernel has a feature and lets this process use it.
    func has(_ feature: KernelFeature) -> Bool
    /// Runs a program for at most a few seconds; nil if there is no such program.
    func run(_ words: [String]) -> (status: Int32, output: String)?
}

struct CheckedManifest {
    /// Nil if the manifest has an error.
    var manifest: AppManifest?
    var diagnostics: [Diagnostic]
    /// The manifest with its texts.
    var draft: ManifestChecks.Draft?
}

extension CheckedManifest {
    /// Creates the entry of a manifest that the daemon does not read.
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
    /// The mode as in chmod(2), 0 to 0o7777.
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

extension ExaminedMachine {
    func text(of path: String) -> String? {
        bytes(of: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the system's daemon is examined, and not a user's.
    var isSystem: Bool { socketPath == SocketPath.system }

    var runtimeDirectory: String { socketPath.directory }

    /// What the running daemon says about its files and processes; nil if it says nothing.
    var surroundings: Control.Surroundings? {
        if case .success(let description) = daemon { description.surroundings } else { nil }
    }

    /// Whether systemd runs this machine (sd_booted(3)).
    var isBooted: Bool { status(of: "/run/systemd/system")?.kind == .directory }
}

extension String {
    /// The directory of a path, as by dirname(1).
    var directory: String {
        guard let slash = lastIndex(of: "/"), slash != startIndex else { return "/" }
        return String(self[..<slash])
    }
}
