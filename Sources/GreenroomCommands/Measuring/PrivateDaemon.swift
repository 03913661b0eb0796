import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux

/// A greenroomd of this process's own, with a folder of manifests and a spawner of its own. It
/// knows nothing of the machine's daemon, and ends with this object.
final class PrivateDaemon {
    let folder: String
    private var process: pid_t = 0
    var socket: String { folder + "/run/control" }

    /// Starts the daemon, and returns when it is ready.
    /// - Parameters:
    ///   - manifests: the text of each app's manifest, by identifier.
    /// - startsSession: whether the daemon is out of reach of the terminal's signals.
    init(
        _ manifests: [(identifier: String, text: String)], startsSession: Bool = false
    ) throws(Failure) {
        let program = try HelperProgram.find("greenroomd")
        folder = try Self.makeFolder()
        for name in ["run", "apps", "state", "cache"] {
            unsafe _ = mkdir("\(folder)/\(name)", 0o700)
        }
        do throws(SystemError) {
            for manifest in manifests {
                try AppFolderChange.write(
                    Array(manifest.text.utf8), to: "\(folder)/apps/\(manifest.identifier).app")
            }
            // No shortage of memory, load or battery keeps this daemon from prewarming. Its display
            // is its own, so nobody needs a session. It keeps no history, because that would be
            // written after its end, into the folder that is removed then.
            let configuration = """
                [Greenroom]
                PrewarmMaxLoad=0
                PrewarmMinMemory=0
                PrewarmMinBattery=0
                WindowBudget=1G
                WindowNeedsSession=no
                History=no

                """
            try AppFolderChange.write(
                Array(configuration.utf8), to: folder + "/greenroom.conf")
            let ready = try DatagramSocket(boundAt: folder + "/ready", mode: 0o600)
            process = try Self.start(program, in: folder, startsSession)
            while true {
                guard
                    try ready.descriptor.waitUntilReadable(milliseconds: Self.startMilliseconds)
                else { break }
                if try ready.receive()?.text.contains("READY=1") == true { return }
            }
        } catch {
            throw .system(error)
        }
        throw .system(
            SystemError(
                code: ETIMEDOUT, call: "starting a daemon for the measurement", subject: program))
    }

    /// A daemon starts in some 10 ms; on a busy machine it may take a hundred times as long.
    private static let startMilliseconds: CInt = 20_000

    deinit {
        if process > 0 {
            kill(process, SIGTERM)
            var status: CInt = 0
            while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        }
        Caller.remove(folder)
    }

    /// A folder that only this user can enter.
    static func makeFolder() throws(Failure) -> String {
        let parent = Caller.variables["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(parent)/greenroom-measure-XXXXXX".utf8CString)
        let isMade = unsafe template.withUnsafeMutableBufferPointer {
            unsafe mkdtemp($0.baseAddress!) != nil
        }
        guard isMade else {
            throw .system(SystemError(code: errno, call: "making a folder", subject: parent))
        }
        return unsafe template.withUnsafeBufferPointer { unsafe String(cString: $0.baseAddress!) }
    }

    private static func start(
        _ program: String, in folder: String, _ startsSession: Bool
    ) throws(SystemError) -> pid_t {
        // The daemon ends with this process, however this process ends, and its apps end with the
        // daemon.
        let searchPath = Caller.variables["PATH"] ?? ExecutableInspection.defaultSearchPath
        let setter = try? ExecutableInspection.find("setpriv", in: searchPath)
        let prefix = setter.map { [$0, "--pdeathsig", "TERM", "--"] } ?? []
        let words =
            prefix + [
                program, "--runtime-directory", folder + "/run", "--state-directory",
                folder + "/state",
                "--cache-directory", folder + "/cache", "--apps", folder + "/apps", "--config",
                folder + "/greenroom.conf",
            ]
        let kept = Caller.environment().filter { !$0.hasPrefix("NOTIFY_SOCKET=") }
        return try MeasuredProcess.spawn(
            words[0], words, environment: kept + ["NOTIFY_SOCKET=\(folder)/ready"],
            output: folder + "/log", startsSession: startsSession)
    }
}
