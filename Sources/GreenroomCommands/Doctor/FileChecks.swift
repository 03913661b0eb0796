import AppFolders
import GreenroomControl
import GreenroomManifest
import UnitFile

extension ExaminedMachine {
    /// Checks greenroom.conf and the groups that it names.
    func configurationFindings() -> [Finding] {
        let code = "configuration"
        let path = surroundings?.configurationFile ?? configurationPath
        guard status(of: path) != nil else {
            return [.good(code, "\(path) is not there: every setting has its default")]
        }
        guard let bytes = bytes(of: path) else {
            if let note = configurationNote { return [note] }
            return [.warning(code, "\(path) cannot be read by this user", "run doctor as root")]
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(bytes, file: path)
        var findings = diagnostics.map { finding(code, $0, "greenroomctl reload") }
        guard let configuration else { return findings }
        // The text is good, and the daemon did not read it, or has not read it again.
        if let note = configurationNote { findings.append(note) }
        for (key, name) in configuration.groupNames where !hasGroup(name) {
            findings.append(
                .warning(
                    code, "\(path): \(key) names the group \(name), which does not exist",
                    "groupadd --system \(name), or correct the name; then restart greenroomd"))
        }
        return findings.isEmpty ? [.good(code, "\(path) is good")] : findings
    }

    /// What the daemon says about settings that it does not use.
    private var configurationNote: Finding? {
        guard case .success(let description) = daemon,
            let note = description.degraded.first(where: { $0.code == "bad_configuration" })
        else { return nil }
        return .failure(
            "configuration", note.text, "correct what it says, then greenroomctl reload")
    }

    /// What else the daemon has to do without.
    func degradationFindings() -> [Finding] {
        guard case .success(let description) = daemon else { return [] }
        let shownElsewhere: Set = ["bad_configuration", "no_cgroups"]
        return description.degraded.filter { !shownElsewhere.contains($0.code) }
            .map {
                .warning(
                    "daemon", $0.text,
                    "correct what it says; restart greenroomd if that does not help")
            }
    }

    /// Checks every manifest of the search path.
    func manifestFindings() -> [Finding] {
        let code = "manifests"
        var findings: [Finding] = []
        var manifests: [AppManifest] = []
        let directories = surroundings?.appDirectories ?? appDirectories
        let (files, unreadable) = installedManifests(in: directories)
        findings += unreadable.map {
            .warning(code, "\($0) cannot be read by this user", "run doctor as root")
        }
        for file in files {
            findings += file.diagnostics.map { finding(code, $0, "greenroomctl reload") }
            if let manifest = file.manifest { manifests.append(manifest) }
        }
        let (kept, duplicates) = AppManifest.withoutDuplicates(manifests)
        findings += duplicates.map { finding(code, $0, "greenroomctl reload") }
        // The daemon refuses manifests for more reasons than their text.
        let faulty = Set(files.flatMap { $0.manifest == nil ? $0.diagnostics.map(\.file) : [] })
        let refused = refusedApps.filter {
            !faulty.contains($0.manifestFile ?? "") && $0.refusal?.code != Control.Note.ofSystem
        }
        for app in refused { findings.append(refusalFinding(code, app)) }
        // An app whose sockets cannot be opened is installed nevertheless.
        let told = faulty.union(refused.compactMap(\.manifestFile)).union(duplicates.map(\.file))
        let faults = reloadFaults(of: files).filter { !told.contains($0.file) }
        findings += faults.map {
            .failure(code, $0.description, "correct what it says, then greenroomctl reload")
        }
        if manifests.isEmpty, findings.isEmpty {
            return [
                .warning(
                    code, "no app has a manifest",
                    "put a manifest into \(directories.first ?? "/etc/greenroom/apps"); see "
                        + "greenroom.app(5)")
            ]
        }
        let good = max(
            0,
            kept.count - refused.count { $0.refusal?.code != "masked" }
                - Set(faults.map(\.file)).count)
        let count = "\(good) manifest\(good == 1 ? " is" : "s are")"
        return findings + [.good(code, "\(count) good")]
    }

    private func refusalFinding(_ code: String, _ app: Control.AppSummary) -> Finding {
        let text = "\(app.identifier) is not installed: \(app.refusal?.text ?? "")"
        return app.refusal?.code == "masked"
            ? .good(code, text)
            : .failure(code, text, "correct what it says, then greenroomctl reload")
    }

    private func finding(_ code: String, _ diagnostic: Diagnostic, _ then: String) -> Finding {
        let remedy = "correct the file, then \(then)"
        let place = "\(diagnostic.file):\(diagnostic.position.line):\(diagnostic.position.column)"
        switch diagnostic.severity {
        case .error: return .failure(code, "\(place): \(diagnostic.message)", remedy)
        case .warning: return .warning(code, "\(place): \(diagnostic.message)", remedy)
        }
    }

    /// The path at which greenroomd(8) looks for its configuration.
    private var configurationPath: String {
        var environment: [String: String] = [:]
        for name in ["XDG_CONFIG_HOME", "HOME"] { environment[name] = variable(name) }
        let folder = isSystem ? "/etc" : SearchPath.configurationHome(environment) ?? "/etc"
        return folder + "/greenroom/greenroom.conf"
    }
}

extension DaemonConfiguration {
    /// The groups that the settings name, each with its key.
    var groupNames: [(key: String, name: String)] {
        [
            ("ObserveGroups=", observeGroups), ("ControlGroups=", controlGroups),
            ("AdministerGroups=", administerGroups),
        ].flatMap { key, names in names.map { (key, $0) } }
    }
}
