extension ExaminedMachine {
    /// Checks whether a user's daemon can give desktop apps a display.
    func displayFindings() -> [Finding] {
        guard !isSystem, isBooted,
            let (status, output) = run(["systemctl", "--user", "show-environment"]), status == 0
        else { return [] }
        let lines = output.split(separator: "\n")
        let isThere = lines.contains { line in
            ["DISPLAY=", "WAYLAND_DISPLAY="].contains {
                line.hasPrefix($0) && line.count > $0.count
            }
        }
        let code = "display"
        if isThere { return [.good(code, "the session has told systemd its display")] }
        return [
            .warning(
                code,
                "systemd knows no DISPLAY and no WAYLAND_DISPLAY of your session: desktop apps are "
                    + "refused unless their launch brings one",
                "run \"dbus-update-activation-environment --systemd DISPLAY WAYLAND_DISPLAY "
                    + "XAUTHORITY\" in the session")
        ]
    }
}
