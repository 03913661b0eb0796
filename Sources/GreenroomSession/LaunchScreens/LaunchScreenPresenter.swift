internal import Glibc
internal import GreenroomLinux

/// Shows the launch screens that greenroomd tells of, as a desktop's shell would. It sleeps until an
/// app is launched or a window appears, and ends with the display.
public struct LaunchScreenPresenter {
    private let display: any ScreenDisplay
    private let daemons: [LaunchEvents]
    private var turn = LaunchScreenTurn()

    /// Connects to the display that the environment names. If a Wayland compositor cannot show
    /// screens, the X server beside it is not used either, because that does not know all windows.
    public init(_ options: SessionOptions) throws(UnusableSession) {
        do throws(DisplayFailure) {
            if let path = options.displays.waylandPath {
                display = try WaylandScreenDisplay(path: path)
            } else if let text = options.displays.xDisplay {
                let (name, authority) = try XName.find(
                    text, authorityPath: options.displays.authorityPath)
                display = try XScreenDisplay(name, authority)
            } else {
                throw .unusable("neither WAYLAND_DISPLAY nor DISPLAY is set")
            }
        } catch {
            throw UnusableSession("\(error)", isTemporary: error.mayStartLater)
        }
        daemons = options.sockets.enumerated().map { LaunchEvents(path: $1, number: $0) }
    }

    /// Returns when the display has ended.
    public mutating func run() throws(UnusableSession) {
        do throws(DisplayFailure) {
            // From now on, no launch is missed.
            try? ServiceNotification.send("READY=1")
            // Events may have come with the first reply.
            for daemon in daemons { for event in daemon.next() { try handle(event) } }
            while true {
                let ready = wait()
                // Windows come first: a launch whose window has already appeared needs no screen.
                if try display.hear() {
                    try handle(.windowAppeared)
                    for daemon in daemons { daemon.lookAgain() }
                }
                for daemon in daemons {
                    if let descriptor = daemon.descriptor, ready.contains(descriptor) {
                        for event in daemon.next() { try handle(event) }
                    } else if let time = daemon.retryAt, time <= MonotonicClock.nanoseconds {
                        daemon.retry()
                    }
                }
                try handle(.timePassed)
            }
        } catch {
            guard error.isEnd else { throw UnusableSession(error) }
        }
    }

    private mutating func handle(_ event: LaunchScreenTurn.Event) throws(DisplayFailure) {
        for effect in turn.handle(event, at: MonotonicClock.nanoseconds) {
            switch effect {
            case .remove: try display.remove()
            case .show(let launch): try show(launch)
            }
        }
    }

    private mutating func show(_ launch: ScreenedLaunch) throws(DisplayFailure) {
        let screen: ScreenDescription
        do throws(ScreenDescription.Fault) {
            screen = try ScreenDescription(file: launch.file)
        } catch {
            turn.giveUp()
            sayNothingIsShown("\(error)")
            return
        }
        try display.show(screen)
    }

    private func wait() -> Set<CInt> {
        var entries = [PollEntry(display.descriptor, POLLIN)]
        entries += daemons.compactMap(\.descriptor).map { PollEntry($0, POLLIN) }
        let now = MonotonicClock.nanoseconds
        let times =
            daemons.compactMap(\.retryAt) + [turn.deadline, display.lookAt].compactMap(\.self)
        let pause =
            display.hasMore ? 0 : times.min().map { $0 > now ? ($0 - now) / 1_000_000 + 1 : 0 }
        _ = try? PollEntry.wait(&entries, milliseconds: pause.map { CInt(clamping: $0) } ?? -1)
        return Set(entries.filter(\.isReady).map(\.descriptor))
    }
}
