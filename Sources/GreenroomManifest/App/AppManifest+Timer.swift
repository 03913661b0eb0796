internal import UnitFile

extension AppManifest {
    /// `[Timer]`: when an SDK app is launched in the background without being asked
    /// (systemd.timer(5)).
    public struct Timer: Hashable, Sendable {
        /// `OnActiveSec=`: once, so long after the daemon has first read the manifest since the
        /// machine was started.
        public var afterActivation: Duration?
        /// `OnUnitActiveSec=`: again, so long after each launch by this timer.
        public var afterLaunch: Duration?
        /// `OnCalendar=`: whenever one of them says so.
        public var calendar: [CalendarExpression] = []
        /// `Persistent=`: a calendar time that came while no daemon ran is made up for, once.
        public var isPersistent = false
        /// `AccuracySec=`: may come so much later, together with other wake-ups.
        public var accuracy: Duration?
        /// `RandomizedDelaySec=`: comes later by a random span up to this.
        public var randomizedDelay: Duration?

        /// A first time without any launch before it.
        public var first: Duration? { afterActivation ?? afterLaunch }
    }

    /// Below it a timer is a mistake: the app would never rest.
    static let timerMinimum: Duration = .milliseconds(100)
    /// Expressions of one app.
    static let calendarLimit = 16

    static func readTimer(
        _ reader: inout SectionReader, _ kind: Kind, _ context: ManifestContext
    ) -> Timer? {
        let section = "Timer"
        var timer = Timer(
            afterActivation: reader.last(section, "OnActiveSec", timerSpan),
            afterLaunch: reader.last(section, "OnUnitActiveSec", timerSpan))
        timer.calendar = reader.fold(section, "OnCalendar", []) {
            (all: inout [CalendarExpression], value) throws(ValueError) in
            // As in systemd, an empty value takes back what was said before.
            if value.text.isEmpty { return all = [] }
            guard all.count < calendarLimit else {
                throw ValueError(message: "more than \(calendarLimit) expressions")
            }
            let expression = try CalendarExpression(value.text)
            if let zone = expression.zone, context.knowsTimeZone?(zone) == false {
                throw ValueError(
                    offset: value.text.utf8.count - zone.utf8.count,
                    message: "no time zone is called \(zone) here; the machine's are below "
                        + "/usr/share/zoneinfo (package tzdata)")
            }
            all.append(expression)
        }
        timer.isPersistent = reader.last(section, "Persistent", boolean) ?? false
        timer.accuracy = reader.last(section, "AccuracySec", positiveDuration)
        timer.randomizedDelay = reader.last(section, "RandomizedDelaySec", duration)
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return nil }
        guard kind == .applicationKit else {
            reader.error(
                reader.position(of: section),
                "[Timer] is for apps made with the SDK; set Type=application-kit in [App], or use "
                    + "a systemd timer that calls greenroomctl")
            return nil
        }
        guard timer.first != nil || !timer.calendar.isEmpty else { return nil }
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
