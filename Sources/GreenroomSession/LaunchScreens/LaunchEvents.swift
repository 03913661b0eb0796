internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux

/// What one greenroomd reports about launch screens.
final class LaunchEvents {
    /// Only this user's own apps: other users' apps must not cover this display, even if this user
    /// may observe them. A daemon that does not know the parameter refuses the call, and nothing is
    /// shown.
    private static let watch = ControlCall.watch(own: true)

    /// In microseconds. No screen is shown for as long as this.
    private static let pastLimit: Int64 = 60_000_000

    private let daemon: DaemonConnection
    private let number: Int

    /// - Parameter number: the daemon's number in the launches that this object reports.
    init(path: String, number: Int) {
        daemon = DaemonConnection(path: path)
        self.number = number
        do throws(DaemonConnection.Failure) {
            _ = try daemon.call(Self.watch)
        } catch {
            daemon.close()
            daemon.retry(after: error)
        }
    }

    var descriptor: CInt? { daemon.descriptor }
    var retryAt: UInt64? { daemon.retryAt }

    /// Called when something has happened on the display, because the daemon may be there again.
    func lookAgain() {
        guard daemon.descriptor == nil, daemon.retryAt == nil else { return }
        daemon.resetAttempts()
        connect()
    }

    /// Called when the time of the next attempt has come.
    func retry() {
        daemon.clearRetry()
        connect()
    }

    /// Does not wait for the reply: a screen may be on the display, and must be removed in time.
    private func connect() {
        do throws(DaemonConnection.Failure) {
            try daemon.send(Self.watch)
        } catch {
            daemon.close()
            daemon.retry(after: error)
        }
    }

    /// The events that have come.
    func next() -> [LaunchScreenTurn.Event] {
        guard daemon.descriptor != nil else { return [] }
        var events: [LaunchScreenTurn.Event] = []
        do throws(DaemonConnection.Failure) {
            while let reply = try daemon.nextReply(to: Self.watch) {
                daemon.resetAttempts()
                guard case .watched(let event?) = reply else { continue }
                if let meant = turnEvent(event) { events.append(meant) }
            }
        } catch {
            daemon.close()
            daemon.retry(after: error)
            events.append(.daemonLost(number))
        }
        return events
    }

    private func turnEvent(_ event: Control.Event) -> LaunchScreenTurn.Event? {
        guard let instance = event.instance else { return nil }
        let end = LaunchScreenTurn.Event.launchEnded(daemon: number, instance: instance)
        switch event.kind.known {
        case .launchScreenShown?:
            guard let screen = event.launchScreen else { return nil }
            return .requested(
                ScreenedLaunch(
                    daemon: number, instance: instance, file: screen.file,
                    requestedAt: Self.monotonic(screen.shownTimestampUSec)))
        // A program counts as active as soon as it runs, which is long before its window.
        case .launchScreenDropped?: return event.step == "active" ? nil : end
        case .stateChanged?:
            switch event.to?.known {
            case .background?, .suspended?, .terminating?, .notRunning?: return end
            case _: return nil
            }
        case _: return nil
        }
    }

    /// The time of an event, which was just now (CLOCK_REALTIME in microseconds), on the monotonic
    /// clock.
    static func monotonic(_ timestamp: Int64) -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let now = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        let (difference, isTooLarge) = now.subtractingReportingOverflow(timestamp)
        let past = isTooLarge ? pastLimit : min(max(0, difference), pastLimit)
        let ago = UInt64(past) * 1000
        let monotonic = MonotonicClock.nanoseconds
        return monotonic > ago ? monotonic - ago : 0
    }
}
