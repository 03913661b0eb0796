import GreenroomControl
import GreenroomManifest
import UnitFile

extension Patient {
    /// greenroom.conf, and the groups that it names.
    func configurationFindings() -> [Finding] {
        let code = "configuration"
        let path = surroundings?.configurationFile ?? configurationPath
        guard status(of: path) != nil else {
            return [.good(code, "\(path) is not there: every setting has its default")]
        }
        guard let bytes = bytes(of: path) else {
            return [.warning(code, "\(path) cannot be read by you", "run doctor as root")]
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(bytes, file: path)
        var findings = diagnostics.map { finding(code, $0, "greenroomctl reload") }
        guard let configuration else { return findings }
        let groups = [
            ("ObserveGroups=", configuration.observeGroups),
            ("ControlGroups=", configuration.controlGroups),
            ("AdministerGroups=", configuration.administerGroups),
        ]
        for (key, names) in groups {
            for name in names where !hasGroup(name) {
                findings.append(
                    .warning(
                        code, "\(path): \(key) names the group \(name), which does not exist",
                        "groupadd --system \(name), or correct the name; then restart greenroomd"))
            }
        }
        return findings.isEmpty ? [.good(code, "\(path) is good")] : findings
    }

    /// Every manifest of the search path.
    func manifestFindings() -> [Finding] {
        let code = "manifests"
        var findings: [Finding] = []
        var manifests: [AppManifest] = []
        var seen: Set<String> = []
        let directories = surroundings?.appDirectories ?? appDirectories
        for directory in directories {
            guard let names = names(in: directory) else {
                if status(of: directory) != nil {
                    findings.append(
                        .warning(code, "\(directory) cannot be read by you", "run doctor as root"))
                }
                continue
            }
            for name in names
            where name.hasSuffix(AppManifest.fileSuffix) && !name.hasPrefix(".")
                && seen.insert(name).inserted
            {
                let path = directory + "/" + name
                guard let bytes = bytes(of: path) else {
                    findings.append(
                        .warning(code, "\(path) cannot be read by you", "run doctor as root"))
                    continue
                }
                let (manifest, diagnostics) = AppManifest.parse(
                    bytes, file: path, findExecutable: ManifestFile.findExecutable)
                findings += diagnostics.map { finding(code, $0, "greenroomctl reload") }
                if let manifest { manifests.append(manifest) }
            }
        }
        let (kept, duplicates) = AppManifest.withoutDuplicates(manifests)
        findings += duplicates.map { finding(code, $0, "greenroomctl reload") }
        if manifests.isEmpty, findings.isEmpty {
            return [
                .warning(
                    code, "no app is installed",
                    "put a manifest into \(directories.first ?? "/etc/greenroom/apps"); see "
                        + "greenroom.app(5)")
            ]
        }
        let count = "\(kept.count) manifest\(kept.count == 1 ? " is" : "s are")"
        return findings + [.good(code, "\(count) good")]
    }

    private func finding(_ code: String, _ diagnostic: Diagnostic, _ then: String) -> Finding {
        let remedy = "correct the file, then \(then)"
        let place = "\(diagnostic.file):\(diagnostic.position.line):\(diagnostic.position.column)"
        switch diagnostic.severity {
        case .error: return .failure(code, "\(place): \(diagnostic.message)", remedy)
        case .warning: return .warning(code, "\(place): \(diagnostic.message)", remedy)
        }
    }

    /// As greenroomd(8) finds them.
    private var userDirectory: String? {
        variable("XDG_CONFIG_HOME") ?? variable("HOME").map { $0 + "/.config" }
    }

    private var configurationPath: String {
        isSystem || userDirectory == nil
            ? "/etc/greenroom/greenroom.conf" : userDirectory! + "/greenroom/greenroom.conf"
    }

    private var appDirectories: [String] {
        let system = ["/etc/greenroom/apps", "/run/greenroom/apps", "/usr/lib/greenroom/apps"]
        guard !isSystem, let userDirectory else { return system }
        return [userDirectory + "/greenroom/apps"] + system
    }
}
