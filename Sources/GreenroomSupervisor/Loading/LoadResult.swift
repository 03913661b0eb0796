internal import AppFolders
internal import GreenroomControl
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// The result of one loading of manifests.
struct LoadResult {
    /// New apps, and apps in which something may have changed.
    var apps: [InstalledApp] = []
    /// Apps that have not changed, and (`moved`) those among them that now start on other
    /// occasions.
    var unchanged: [InstalledApp] = []
    var moved: [InstalledApp] = []
    var faults: [Control.ManifestFault] = []
    var warnings: [Control.ManifestFault] = []
    /// What is wrong with the manifests, as the log has it. What the last reading found as well is
    /// not logged again.
    private(set) var complaints: Set<String> = []
    var formerComplaints: Set<String> = []
    /// A folder could not be read, so manifests that were not found may still be there.
    var isPartial = false
    /// The apps that have a manifest and are not installed, by the identifier in its file's name.
    var absent: [String: AbsentApp] = [:]
    /// The identifiers of templates, `name@`.
    var templates: Set<String> = []
    /// Programs that are missing now: an upgrade may be about to bring them back.
    var missingPrograms: [String] = []
}

/// Something that a manifest names, for example a user or a program, is missing or unusable.
struct LoadFailure: Error {
    let message: String
    /// True if the program is missing now: an upgrade may be about to bring it back.
    var isMissingProgram = false
}

@LoopActor
extension LoadResult {
    /// Reads one manifest with all files that extend it. Mistakes are logged and recorded as
    /// faults.
    mutating func read(
        _ file: AppFile, _ cache: LoadingCache, _ log: Log
    ) -> AppManifest? {
        if let objection = file.objection {
            refuse(file.main.path, objection, log)
            return nil
        }
        let sources: [ManifestSource]
        do throws(SystemError) { sources = try file.read() } catch {
            complain(.error, error.description, log)
            faults.append(
                .init(
                    file: error.subject ?? file.main.path, line: 0, column: 0,
                    message: SystemError.text(of: error.code)))
            return nil
        }
        let (manifest, diagnostics) = AppManifest.parse(
            sources, name: file.name, cache.manifestContext)
        report(diagnostics, log)
        return manifest
    }

    /// Records that a file is not read because somebody else could have written it.
    mutating func refuse(
        _ path: String, _ objection: PathOwners.Objection, _ log: Log
    ) {
        let message = "not read: \(objection)"
        complain(.error, "\(path): \(message)", log)
        faults.append(.init(file: path, line: 0, column: 0, message: message))
    }

    mutating func report(_ diagnostics: [Diagnostic], _ log: Log) {
        for diagnostic in diagnostics {
            let fault = Control.ManifestFault(diagnostic)
            switch diagnostic.severity {
            case .error: faults.append(fault)
            case .warning: warnings.append(fault)
            }
            complain(diagnostic.severity == .error ? .error : .warning, fault.description, log)
        }
    }

    mutating func report(
        _ failure: LoadFailure, of manifest: AppManifest, _ log: Log
    ) {
        complain(.error, "\(manifest.file): \(failure.message)", log, of: manifest.identifier)
        faults.append(.init(file: manifest.file, line: 0, column: 0, message: failure.message))
        if failure.isMissingProgram, let program = manifest.command.first, program.hasPrefix("/") {
            missingPrograms.append(program)
        }
    }

    mutating func complain(
        _ level: LogLevel, _ text: String, _ log: Log, of app: String? = nil
    ) {
        complaints.insert(text)
        guard !formerComplaints.contains(text) else { return }
        if let app { log.say(level, text, of: app) } else { log.say(level, text) }
    }
}

extension [Diagnostic] {
    /// The errors among the diagnostics, as clients get them.
    var errors: [Control.ManifestFault] {
        filter { $0.severity == .error }.map(Control.ManifestFault.init)
    }
}
