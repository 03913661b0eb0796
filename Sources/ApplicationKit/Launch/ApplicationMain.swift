internal import Glibc
internal import GreenroomAppChannel

/// Creates the application object and its delegate, and runs the app: UIKit's `UIApplicationMain`.
///
/// **A prewarm stops exactly here.** What runs before this call (static initializers, the body of a `main` of
/// your own) runs during the prewarm: the device may be locked, and the launch may be days away or never come.
///
/// Call it on the main thread, once; it does not return. `@main` on the delegate's class does nothing else: write a
/// `main.swift` with a call of your own where something cheap and independent of the device's state is worth
/// having been done before the launch.
///
/// `CommandLine.arguments` keeps what it finds when it is first looked at: before this call, in a prewarmed process,
/// that is the prewarm's. ``LaunchInfo/arguments`` are the launch's in any case.
@MainActor
public func ApplicationMain(_ delegateClass: any ApplicationDelegate.Type) -> Never {
    let application = ApplicationStart(delegateClass)
    while true {
        application.processEvents()
        application.loop.wait()
    }
}

/// For apps with a loop of their own (GLib, Qt, epoll): pauses and creates the objects as ``ApplicationMain(_:)``
/// does, and returns. Watch ``Application/channelDescriptor`` for reading, and call
/// ``Application/processEvents()`` once before the loop begins and whenever the descriptor is readable.
@MainActor
public func ApplicationStart(_ delegateClass: any ApplicationDelegate.Type) -> Application {
    Application(PausedStart.awaitLaunch(), delegateClass: delegateClass)
}

extension Application {
    /// Readable when ``processEvents()`` has something to do: the daemon said something, or there is work for
    /// the main actor.
    public var channelDescriptor: CInt { loop.descriptor }

    /// Does everything that can be done now, without waiting. The first call runs the launch sequence.
    ///
    /// Does nothing when called from a callback.
    public func processEvents() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        if stage == .starting { finishLaunching() }
        channel?.flush()
        repeat {
            runMainQueue()
            while let event = nextEvent() {
                handle(event.event, descriptors: event.descriptors)
                runMainQueue()
            }
        } while runDeferred()
    }

    /// The daemon's next event, or our own.
    private func nextEvent() -> (event: AppEvent, descriptors: [CInt])? {
        while let channel {
            switch held.isEmpty
                ? channel.receive(waiting: false) : .message(held.removeFirst())
            {
            case .nothing: return nextOwnEvent()
            case .refused: continue
            case .end: channelEnded()
            case .message(let incoming):
                switch incoming.message {
                case .event(let event): return (event, incoming.descriptors)
                case .ping(let cookie): channel.send(.pong(cookie: cookie))
                case .quit: end()
                case .go(let go):
                    for descriptor in incoming.descriptors { close(descriptor) }
                    channel.send(.error(errno: EPROTO, cookie: go.cookie))
                }
            }
        }
        return nextOwnEvent()
    }

    private func nextOwnEvent() -> (event: AppEvent, descriptors: [CInt])? {
        ownEvents.isEmpty ? nil : (ownEvents.removeFirst(), [])
    }

    /// Runs the next thing that was put off until after the launch, if it is time. Events come first.
    private func runDeferred() -> Bool {
        guard !deferred.isEmpty, hasFirstState, applicationState != .inactive else { return false }
        let work = deferred.removeFirst()
        call("afterLaunch", work)
        if deferred.isEmpty { reached(.afterLaunch) }
        return true
    }

    /// The launch sequence is over when the app has been told whether it is in front: an app that is
    /// launched into the background is there before anybody says so.
    private var hasFirstState: Bool {
        usesScenes ? hasHadScene : hasReached(.active) || hasReached(.background)
    }
}
