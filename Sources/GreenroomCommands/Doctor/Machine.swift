import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest

/// The machine on which this process runs.
struct Machine: ExaminedMachine {
    let socketPath: String
    let program: String
    let daemon: Result<Control.Description, Failure>
    let daemonProcess: Int32?
    private let daemonUser: UInt32?
    let refusedApps: [Control.AppSummary]

    /// - Parameter patience: in milliseconds.
    init(socketPath: String, patience: CInt = ControlClient.patience) {
        self.socketPath = socketPath
        program = Self.link("/proc/self/exe") ?? CommandLine.arguments[0]
        do throws(Failure) {
            let client = try ControlClient(path: socketPath)
            daemonProcess = client.serverProcess
            daemonUser = client.serverUser
            var answer = client.describe(patience: patience)
            if case .success(var description) = answer, client.belongsToAnother {
                // The paths are of programs and a library that the checks run, so a stranger must
                // not name them.
                description.surroundings = nil
                answer = .success(description)
            }
            daemon = answer
            var refused: [Control.AppSummary] = []
            // An older daemon does not know this question.
            if case .success = answer, !client.belongsToAnother,
                case .listed(let apps)? = try? client.call(.listAll, milliseconds: patience)
            {
                refused = apps.filter { $0.refusal != nil }
            }
            refusedApps = refused
        } catch {
            (daemonProcess, daemonUser, refusedApps) = (nil, nil, [])
            daemon = .failure(error)
        }
    }

    var user: UInt32 { getuid() }

    func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    func bytes(of path: String) -> [UInt8]? {
        // Only files are read: a FIFO could block for ever.
        guard status(of: path)?.kind == .file else { return nil }
        do throws(SystemError) { return try ManifestFile.read(path) } catch { return nil }
    }

    func names(in directory: String) -> [String]? {
        (try? FolderContents.names(in: directory, atMost: 10_000))?.sorted()
    }

    func status(of path: String) -> PathStatus? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        let kind: PathStatus.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFSOCK: .socket
            case _: .other
            }
        return PathStatus(
            kind: kind, mode: status.st_mode & 0o7777, user: status.st_uid, group: status.st_gid)
    }

    func link(at path: String) -> String? { Self.link(path) }

    private static func link(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe readlink(
                path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    var appDirectories: [String] { SearchPath.paths(Caller.variables, isRoot: isSystem) }

    func installedManifests(
        in directories: [String]
    ) -> (files: [CheckedManifest], unreadable: [String]) {
        let folders = AppFolders(directories, user: daemonUser)
        var unreadable = folders.unreadable.map(\.path)
        var files = folders.refused.map { CheckedManifest(path: $0, $1) }
        let machineValues = MachineValues(of: try? daemon.get(), user: daemonUser)
        let context = machineValues.context
        for name in folders.names {
            guard let file = folders.file(of: name), !file.isMasked else { continue }
            if let objection = file.objection {
                files.append(CheckedManifest(path: file.main.path, objection))
                continue
            }
            do throws(SystemError) {
                let sources = try file.read()
                let (manifest, diagnostics) = AppManifest.parse(sources, name: name, context)
                files.append(
                    CheckedManifest(
                        manifest: manifest, diagnostics: diagnostics,
                        draft: manifest.map {
                            .init(manifest: $0, name: name, sources: sources)
                        }))
            } catch {
                unreadable.append(file.main.path)
            }
        }
        return (files, unreadable)
    }

    func reloadFaults(of files: [CheckedManifest]) -> [Control.ManifestFault] {
        guard case .success = daemon, let client = try? ControlClient(path: socketPath),
            !client.belongsToAnother
        else { return [] }
        var faults: [Control.ManifestFault] = []
        for call in Control.ManifestDraft.calls(for: files.compactMap(\.draft)) {
            guard
                case .verified(let found)? = try? client.call(
                    call, milliseconds: ControlClient.patience)
            else { break }
            faults += found
        }
        return faults
    }

    func hasGroup(_ name: String) -> Bool {
        // A static program should not load name services, so getent(1) does it.
        UInt32(name) != nil || run(["getent", "group", name]).map { $0.status == 0 } ?? true
    }

    func has(_ feature: KernelFeature) -> Bool {
        switch feature {
        case .clone3: KernelProbe.hasClone3
        case .pidfd: KernelProbe.hasPidfd
        case .closeRange: KernelProbe.hasCloseRange
        case .memfd: KernelProbe.hasMemfd
        }
    }

    func run(_ words: [String]) -> (status: Int32, output: String)? {
        let quoted = words.map { "'" + $0.replacing("'", with: "'\\''") + "'" }
        let command = "timeout 10 " + quoted.joined(separator: " ") + " 2>&1 </dev/null"
        guard let stream = unsafe popen(command, "r") else { return nil }
        var output: [UInt8] = []
        // The programs that are run print only a few lines.
        while output.count < 64 << 10, case let byte = unsafe getc(stream), byte != EOF {
            output.append(UInt8(truncatingIfNeeded: byte))
        }
        let status = unsafe pclose(stream)
        // The shell returns 127 for a program that it did not find.
        guard status >= 0, status >> 8 != 127 else { return nil }
        return (status >> 8, String(decoding: output, as: UTF8.self))
    }
}
