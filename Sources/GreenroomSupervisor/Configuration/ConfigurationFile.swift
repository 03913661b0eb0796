internal import AppFolders
internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Reads greenroom.conf. If the default file is missing, the defaults apply. A mistake in the file
/// does not keep the daemon from starting: the settings of the last good file apply, or the
/// defaults if there was none. The defaults give nobody a right that a good file could take away.
struct ConfigurationFile {
    let path: String
    /// True if the file was named, so that its absence is an error.
    let isRequired: Bool
    /// Where the text of the last good file is kept.
    var keptPath: String { folder + "/greenroom.conf" }
    let folder: String

    /// The settings to start with.
    /// - Returns: the settings, and a note for clients if they are not those of the file.
    @LoopActor
    func read(_ log: Log) throws -> (DaemonConfiguration, Control.Note?) {
        let (configuration, errors) = try parse(log)
        if let configuration { return (configuration, nil) }
        for error in errors { log.say(.error, error.description) }
        let kept = (try? SmallFile.text(of: keptPath)).flatMap {
            DaemonConfiguration.parse($0, file: keptPath).configuration
        }
        let note = Self.clientNote(
            errors, kept == nil ? "the defaults apply" : "those of the last good file apply")
        return (kept ?? DaemonConfiguration(), note)
    }

    /// Says which settings apply instead of the file's.
    static func clientNote(_ errors: [Diagnostic], _ what: String) -> Control.Note {
        .init(
            code: noteCode,
            text: "the settings have an error, so \(what): "
                + (errors.first?.description ?? "it cannot be read"))
    }

    static let noteCode = "bad_configuration"

    /// Keeps the text of a good file. If it cannot be kept, a later start with a faulty file uses
    /// an older one, or the defaults.
    private func keep(_ text: String) {
        if (try? SmallFile.text(of: keptPath)) == text { return }
        do throws(SystemError) {
            try AppFolderChange.makeFolder(folder)
            try AppFolderChange.write(Array(text.utf8), to: keptPath + ".new")
            try AppFolderChange.install(keptPath + ".new", as: keptPath)
        } catch {
            return
        }
    }

    /// Reads the file while the daemon runs. Faults are logged, and the settings in force stay.
    @LoopActor
    func readAgain(
        _ log: Log
    ) -> (DaemonConfiguration?, [Control.ManifestFault], Control.Note?) {
        let stays = "the settings in force stay"
        do throws(SystemError) {
            let (configuration, errors) = try parse(log)
            for error in errors { log.say(.error, error.description) }
            return (
                configuration, errors.map(Control.ManifestFault.init),
                configuration == nil ? Self.clientNote(errors, stays) : nil
            )
        } catch {
            log.say(.error, "\(error); \(stays)")
            return (
                nil, [.init(file: path, line: 0, column: 0, message: "\(error)")],
                .init(code: Self.noteCode, text: "\(path): \(error); \(stays)")
            )
        }
    }

    @LoopActor
    private func parse(
        _ log: Log
    ) throws(SystemError) -> (DaemonConfiguration?, errors: [Diagnostic]) {
        let text: String
        do throws(SystemError) {
            // The file decides who may launch other users' apps.
            if let objection = PathOwners().objection(to: path) {
                throw objection.systemError
            }
            if let objection = Self.objection(to: path) { return (nil, [objection]) }
            text = try SmallFile.text(of: path)
        } catch {
            if error.code == ENOENT, !isRequired {
                _ = unsafe unlink(keptPath)
                return (DaemonConfiguration(), [])
            }
            throw error
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            text, file: path)
        for diagnostic in diagnostics where diagnostic.severity == .warning {
            log.say(.warning, diagnostic.description)
        }
        if configuration != nil { keep(text) }
        return (configuration, diagnostics.filter { $0.severity == .error })
    }
}

extension ConfigurationFile {
    /// Why the file is not opened: reading what is at the path might never end.
    private static func objection(to path: String) -> Diagnostic? {
        let message: String
        switch FileStatus(path: path)?.kind {
        // What does not exist is reported by open(2).
        case .file, nil: return nil
        case .characterDevice where PathOwners.realPath(of: path) == "/dev/null": return nil
        case .folder: message = "this is a directory, not a file; remove it"
        case .characterDevice, .other:
            message = "this is a pipe, a socket or a device, not a file; remove it"
        }
        return Diagnostic(
            severity: .error, file: path, position: Position(line: 1, column: 1),
            message: message)
    }
}

extension Policy {
    /// The configured policy, and what this process adds to it.
    init(_ configuration: DaemonConfiguration) {
        self = configuration.policy
        pagesOutSuspended = configuration.pageOutSuspended != .no
        instanceLimit = min(instanceLimit, RuntimeState.instanceSlotCount / 2)
        administrator = geteuid()
        windowByteBudget = configuration.windowBudget ?? Self.ownWindowByteBudget
        processorCount = max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    }

    /// A sixteenth of the memory has room for some programs in use, and leaves the rest to those
    /// that run: 128 MiB with 2 GiB, 512 MiB with 8. More than a gibibyte of windows is hardly ever
    /// launched.
    private static var ownWindowByteBudget: UInt64 {
        let pages = UInt64(max(0, sysconf(CInt(_SC_PHYS_PAGES))))
        let memory = pages * UInt64(max(0, sysconf(CInt(_SC_PAGESIZE))))
        return min(memory / 16, 1 << 30)
    }
}

extension Access {
    /// Resolves the groups once, when the file is read. An unknown group is logged and ignored.
    @LoopActor
    init(_ configuration: DaemonConfiguration, log: Log) throws {
        func resolve(_ names: [String]) throws -> Set<gid_t> {
            var groups: Set<gid_t> = []
            for name in names {
                if let group = try UInt32(name) ?? Account.group(named: name) {
                    groups.insert(group)
                } else {
                    log.say(.warning, "greenroom.conf: no group “\(name)”, ignoring it")
                }
            }
            return groups
        }
        self.init(
            daemonUser: getuid(), observers: try resolve(configuration.observeGroups),
            controllers: try resolve(configuration.controlGroups),
            administrators: try resolve(configuration.administerGroups))
    }
}

extension ControlListener.ConnectionLimits {
    /// The configured limits, reduced if this process may not open enough descriptors for them.
    init(_ configuration: DaemonConfiguration) {
        self =
            ControlListener.ConnectionLimits(
                connections: configuration.connectionsMax,
                connectionsPerUser: configuration.connectionsPerUser
            ).fittingHere
    }
}
