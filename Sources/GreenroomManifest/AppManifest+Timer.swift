internal import UnitFile

extension AppManifest {
    /// `[Timer]`: when an SDK app is launched in the background without being asked
    /// (systemd.timer(5)).
    public struct Timer: Hashable, Sendable {
        /// `OnActiveSec=`: once, so long after the daemon has started or read the manifest.
        public var afterActivation: Duration?
        /// `OnUnitActiveSec=`: again, so long after each launch by this timer.
        public var afterLaunch: Duration?
    }

    /// Below it a timer is a mistake: the app would never rest.
    static let timerMinimum: Duration = .milliseconds(100)

    static func readTimer(_ reader: inout SectionReader, _ kind: Kind) -> Timer? {
        let section = "Timer"
        let timer = Timer(
            afterActivation: reader.last(section, "OnActiveSec", timerSpan),
            afterLaunch: reader.last(section, "OnUnitActiveSec", timerSpan))
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return nil }
        guard kind == .applicationKit else {
            reader.error(
                reader.position(of: section),
                "[Timer] is for apps made with the SDK; set Type=application-kit in [App], or use "
                    + "a systemd timer that calls greenroomctl")
            return nil
        }
        guard timer.afterActivation != nil || timer.afterLaunch != nil else { return nil }
        return timer
    }

    private static func timerSpan(_ value: Value) throws(ValueError) -> Duration {
        let span = try positiveDuration(value)
        guard span >= timerMinimum else {
            throw ValueError(message: "a timer takes at least 100ms")
        }
        return span
    }
}
