internal import UnitFile

extension AppManifest {
    /// `[Timer]`: the times at which the daemon launches an app in the background
    /// (systemd.timer(5)).
    public struct Timer: Hashable, Sendable {
        /// `OnActiveSec=`: once, this long after the daemon first read the manifest since the boot.
        public var afterActivation: Duration?
        /// `OnUnitActiveSec=`: again, this long after each launch by this timer.
        public var afterLaunch: Duration?
        /// `OnCalendar=`: at each time of any of these expressions.
        public var calendar: [CalendarExpression] = []
        /// `Persistent=`: whether a calendar time that passed while no daemon ran leads to one
        /// launch.
        public var isPersistent = false
        /// `AccuracySec=`: a launch may come up to this much later, together with other wake-ups.
        public var accuracy: Duration?
        /// `RandomizedDelaySec=`: a launch comes later by a random span of up to this much.
        public var randomizedDelay: Duration?

        /// The span before the first launch.
        public var first: Duration? { afterActivation ?? afterLaunch }
    }

    /// A shorter span is a mistake, because the app would be launched without a break.
    static let timerMinimum: Duration = .milliseconds(100)
    /// At most this many calendar expressions for one app.
    static let calendarLimit = 16

    static func readTimer(
        _ reader: inout SectionReader, _ context: ManifestContext
    ) -> Timer? {
        let section = "Timer"
        var timer = Timer(
            afterActivation: reader.last(section, "OnActiveSec", timerSpan),
            afterLaunch: reader.last(section, "OnUnitActiveSec", timerSpan))
        timer.calendar = reader.fold(section, "OnCalendar", []) {
            (all: inout [CalendarExpression], value) throws(ValueError) in
            // As in systemd, an empty value removes the earlier ones.
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
