extension ExaminedMachine {
    /// Checks whether systemd knows the units, runs them, and will run them after the next boot.
    func unitFindings() -> [Finding] {
        guard isBooted else {
            return [
                .warning(
                    "systemd", "systemd does not run this machine: nobody restarts greenroomd",
                    "make whatever starts it here start it again when it ends")
            ]
        }
        // A daemon with another socket does not belong to a unit.
        guard
            isSystem || socketPath == variable("XDG_RUNTIME_DIR").map({ $0 + "/greenroom/control" })
        else { return [] }
        return [
            "greenroomd.socket", "greenroomd.service", "greenroom-spawner.service",
            "greenroom-apps.service",
        ].map(unitFinding)
    }

    /// The command for that daemon's units.
    var systemctl: String { isSystem ? "systemctl" : "systemctl --user" }

    private func unitFinding(_ unit: String) -> Finding {
        let words =
            systemctl.split(separator: " ").map(String.init) + [
                "show", "--property=LoadState,ActiveState,UnitFileState,NeedDaemonReload,Result",
                "--", unit,
            ]
        guard let (status, output) = run(words), status == 0 else {
            return .warning(
                unit, "systemd does not answer about \(unit)", "try \"\(systemctl) status \(unit)\""
            )
        }
        var properties: [Substring: Substring] = [:]
        for line in output.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            properties[line[..<equals]] = line[line.index(after: equals)...]
        }
        let state = properties["ActiveState"] ?? "unknown"
        switch (properties["LoadState"], state) {
        case ("masked", _):
            return .failure(unit, "\(unit) is masked", "\(systemctl) unmask \(unit)")
        case ("not-found", _):
            return .failure(
                unit, "systemd does not know \(unit)",
                "install Greenroom's units (make install), then \(systemctl) daemon-reload")
        case (_, "failed"):
            return .failure(
                unit, "\(unit) has failed (\(properties["Result"] ?? "unknown"))",
                "see \"journal\(systemctl.dropFirst(6)) -eu \(unit)\"; then \(systemctl) restart \(unit)"
                    .replacing("journalctl --user -eu", with: "journalctl --user -e --user-unit"))
        case (_, "active") where properties["NeedDaemonReload"] == "yes":
            return .warning(
                unit, "\(unit) has changed on disk", "\(systemctl) daemon-reload, then restart it")
        case (_, "active"): return .good(unit, "\(unit) is active")
        case _ where unit.hasPrefix("greenroom-"):
            return .warning(
                unit, "\(unit) is \(state); greenroomd starts it", "\(systemctl) start greenroomd")
        case _:
            return .failure(
                unit, "\(unit) is \(state)",
                "\(systemctl) enable --now greenroomd.socket greenroomd.service")
        }
    }
}
