internal import GreenroomLinux

/// The options on the spawner's command line.
public struct SpawnerOptions: Sendable {
    /// The directory that contains the socket `spawner`.
    public var runtimeDirectory: String
    /// Whether a supervisor started the spawner for itself, without systemd. Then the spawner ends,
    /// with every instance, after a minute without a supervisor.
    public var isPrivate = false
    /// Whether to behave as on a host without cgroups.
    public var avoidsCgroups = false
    /// Whether to hold a unit's cgroup, and do nothing else.
    public var isHolder = false
    /// The unit beside ours whose cgroup was delegated for the instances; nil means our own.
    public var cgroup: String?
    /// Whether systemd executed the spawner and delegated its cgroup.
    public var isManaged: Bool

    /// The path of our own program. An upgrade executes whatever file is there at that time.
    var program = OwnProgram.path
    /// The memfd in which the last execution described what it leaves to this one.
    var succession: CInt?

    public init(runtimeDirectory: String) {
        self.runtimeDirectory = runtimeDirectory
        isManaged = ServiceNotification.isManaged
    }

    public var socketPath: String { runtimeDirectory + "/spawner" }
    /// The file with what the next spawner needs if this one is killed.
    var ledgerPath: String { runtimeDirectory + "/instances" }
    var statePath: String { runtimeDirectory + "/state" }

    /// The command line that yields these options again.
    var commandLine: [String] {
        [program, "--runtime-directory", runtimeDirectory]
            + (isPrivate ? ["--private"] : []) + (avoidsCgroups ? ["--no-cgroups"] : [])
            + (cgroup.map { ["--cgroup", $0] } ?? [])
    }

    /// An internal option, so it is not in the usage.
    static let successionOption = "--succession"

    public static let version = productVersion

    public static let usage = """
        Usage: greenroom-spawner [--runtime-directory DIR] [--cgroup UNIT] [--private]
                                 [--no-cgroups]
               greenroom-spawner --hold

        Parent of every app that Greenroom runs. Started by greenroom-spawner.service, or by
        greenroomd itself where there is no systemd.

          --runtime-directory DIR  make the socket "spawner" there; default:
                                   $GREENROOM_RUNTIME_DIRECTORY, or greenroom below
                                   $XDG_RUNTIME_DIR, or for root below /run
          --cgroup UNIT            run apps in the cgroup of this unit, which is beside our own and
                                   delegated; default: in our own
          --hold                   be the only process of a unit that another spawner's --cgroup
                                   names, and do nothing; needs no other option
          --private                end, with every app, after a minute without greenroomd
          --no-cgroups             behave as on a host without cgroup v2
          --version                show the version
          --help                   show this

        Signals: SIGTERM ends every app, then the spawner; SIGUSR1 executes the program again (an
        upgrade) and keeps every app.

        """

    /// Reads the command line.
    ///
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - environment: looks up a variable.
    /// - Returns: nil if help is wanted.
    public static func parse(
        _ arguments: [String], isRoot: Bool, environment: (String) -> String?
    ) throws(UsageError) -> SpawnerOptions? {
        var directory =
            environment("GREENROOM_RUNTIME_DIRECTORY")
            ?? (isRoot
                ? "/run/greenroom" : environment("XDG_RUNTIME_DIR").map { $0 + "/greenroom" })
        var isPrivate = false
        var avoidsCgroups = false
        var succession: CInt?
        var cgroup: String?
        var isHolder = false
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--runtime-directory":
                guard let value = rest.popFirst() else {
                    throw UsageError(message: "--runtime-directory needs a directory")
                }
                directory = value
            case successionOption: succession = rest.popFirst().flatMap { CInt($0) }
            case "--cgroup":
                guard let value = rest.popFirst(), !value.isEmpty, !value.contains("/") else {
                    throw UsageError(message: "--cgroup needs the name of a unit")
                }
                cgroup = value
            case "--hold": isHolder = true
            case "--private": isPrivate = true
            case "--no-cgroups": avoidsCgroups = true
            case "--help": return nil
            default: throw UsageError(message: "\(argument) is not an option")
            }
        }
        guard let directory, !directory.isEmpty else {
            throw UsageError(message: "no runtime directory: give --runtime-directory DIR")
        }
        var options = SpawnerOptions(runtimeDirectory: directory)
        options.isPrivate = isPrivate
        options.succession = succession
        options.avoidsCgroups = avoidsCgroups
        options.cgroup = cgroup
        options.isHolder = isHolder
        return options
    }

    /// A command line that cannot be used, and why.
    public struct UsageError: Error, Hashable, Sendable {
        public let message: String
    }
}
