import Glibc
import GreenroomControl
import GreenroomLinux

extension ExaminedMachine {
    /// Checks whether the daemon answers, and whether everybody who may use it can connect.
    func socketFindings() -> [Finding] {
        var findings: [Finding] = []
        switch daemon {
        case .success(let description):
            findings.append(
                .good(
                    "daemon",
                    "greenroomd \(description.version) answers at \(socketPath), as "
                        + "process \(description.processId)"))
            findings += spawnerFindings(description)
        case .failure(.unreachable(let path, let error)) where error.code != EACCES:
            findings.append(
                .failure(
                    "daemon", "greenroomd does not run: nobody listens at \(path) (\(error))",
                    startRemedy))
        case .failure(.system(let error)) where error.code == ETIMEDOUT && daemonProcess == 1:
            // systemd listens until greenroomd has taken the socket over.
            findings.append(
                .failure(
                    "daemon", "greenroomd does not answer; systemd holds its socket for it",
                    "\"\(systemctl) status greenroomd\" and \"journalctl -u greenroomd\" say why it "
                        + "does not start"))
        case .failure(.system(let error)) where error.code == ETIMEDOUT:
            let process = daemonProcess.map { ", process \($0)," } ?? ""
            findings.append(
                .failure(
                    "daemon", "greenroomd\(process) accepts connections and does not answer",
                    isBooted
                        ? "its watchdog ends it in half a minute; or \(systemctl) restart greenroomd: "
                            + "no app notices"
                        : "end it and start it again: no app notices"))
        case .failure(let failure):
            findings.append(.failure("daemon", failure.description, startRemedy))
        }
        if let status = status(of: socketPath) {
            findings.append(permissionFinding(status))
        } else if case .failure = daemon, status(of: runtimeDirectory) == nil {
            findings.append(
                .warning(
                    "runtime_directory", "\(runtimeDirectory) does not exist",
                    "greenroomd.socket or greenroomd makes it"))
        }
        return findings
    }

    private var startRemedy: String {
        guard isBooted else { return "run greenroomd; its first lines say what is wrong" }
        return "\(systemctl) start greenroomd; \"\(systemctl) status greenroomd\" says why it does "
            + "not run"
    }

    /// Checks that everybody can connect. What a client may do is decided for each call.
    private func permissionFinding(_ status: PathStatus) -> Finding {
        let code = "socket"
        let mode = String(status.mode, radix: 8)
        guard status.kind == .socket else {
            return .failure(
                code, "\(socketPath) is not a socket", "remove it, and restart greenroomd.socket")
        }
        if isSystem, status.mode & 0o006 != 0o006 {
            return .warning(
                code,
                "\(socketPath) has mode \(mode): only its owner and group \(status.group) can "
                    + "use Greenroom",
                "SocketMode=0666 in greenroomd.socket lets all users connect; who may do what is "
                    + "decided by greenroom.conf")
        }
        if let directory = self.status(of: runtimeDirectory), isSystem, directory.mode & 0o001 == 0
        {
            return .failure(
                code, "\(runtimeDirectory) is closed to other users",
                "chmod 755 \(runtimeDirectory)")
        }
        return .good(code, "\(socketPath) has mode \(mode)")
    }

    private func spawnerFindings(_ description: Control.Description) -> [Finding] {
        guard let surroundings = description.surroundings else { return [] }
        guard let process = surroundings.spawnerProcessId else {
            return [
                .failure(
                    "spawner", "greenroomd has no spawner, so nothing can be started",
                    isBooted
                        ? "\(systemctl) restart greenroom-spawner; greenroomd connects by itself"
                        : "\(surroundings.spawnerFile) must be executable; restart greenroomd")
            ]
        }
        return [.good("spawner", "greenroom-spawner is process \(process)")]
    }

    /// Checks that all four parts have the same version, and that none was replaced on disk since
    /// it was started.
    func versionFindings() -> [Finding] {
        guard case .success(let description) = daemon else {
            return shimVersion(Greenroomctl.version)
        }
        var findings: [Finding] = []
        let own = Greenroomctl.version
        if description.version != own {
            findings.append(
                .failure(
                    "version",
                    "greenroomctl is version \(own), greenroomd is version \(description.version)",
                    "install both from one build, then \(systemctl) restart greenroomd"))
        }
        findings += spawnerVersion(description)
        findings += shimVersion(description.version)
        let processes = [
            ("greenroomd", daemonProcess, "\(systemctl) restart greenroomd; no app notices"),
            (
                "greenroom-spawner", description.surroundings?.spawnerProcessId,
                "\(systemctl) reload greenroom-spawner; it keeps every app"
            ),
        ]
        for (name, process, remedy) in processes {
            if let process, link(at: "/proc/\(process)/exe")?.hasSuffix(" (deleted)") == true {
                findings.append(
                    .warning(
                        "version",
                        "\(name) was replaced on disk; process \(process) is the old one",
                        remedy))
            }
        }
        if findings.isEmpty {
            findings.append(.good("version", "all parts have version \(own)"))
        }
        return findings
    }

    private func spawnerVersion(_ description: Control.Description) -> [Finding] {
        guard let process = description.surroundings?.spawnerProcessId,
            link(at: "/proc/\(process)/exe") != nil,
            let (status, output) = run(["/proc/\(process)/exe", "--version"])
        else { return [] }
        let version = output.trimmed.split(separator: " ").last.map(String.init) ?? ""
        if status == 0, version == description.version { return [] }
        return [
            .failure(
                "version",
                "greenroom-spawner does not have greenroomd's version \(description.version)",
                "\(systemctl) reload greenroom-spawner: it executes itself again "
                    + "and keeps every app")
        ]
    }

    /// Checks the version that the library contains.
    private func shimVersion(_ wanted: String) -> [Finding] {
        guard let file = shimFile, let bytes = bytes(of: file) else { return [] }
        let mark = Array("greenroom-prewarm \(wanted)".utf8) + [0]
        if bytes.contains(mark) { return [] }
        return [
            .failure(
                "version", "\(file) is not version \(wanted)",
                "install all parts from one build (make install), then \(systemctl) restart greenroomd"
            )
        ]
    }
}
