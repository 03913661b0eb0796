internal import Glibc
internal import GreenroomAppChannel

/// Creates the application object and its delegate, and runs the app; UIKit's `UIApplicationMain`.
///
/// **A prewarm stops exactly here.** Code that runs before this call (static initializers, the body
/// of your own `main`) runs during the prewarm. The device may be locked then, and the launch may
/// be days away or never come.
///
/// Call it once, on the main thread. It does not return. `@main` on the delegate's class only makes
/// this call. Write a `main.swift` that makes it if the app has cheap work that does not depend on
/// the device's state and is worth doing before the launch.
///
/// `CommandLine.arguments` keeps the values that it has when the program first reads it. If a
/// prewarmed process reads it before this call, it keeps the arguments of the prewarm.
/// ``LaunchInfo/arguments`` always are those of the launch.
@MainActor
public func ApplicationMain(_ delegateClass: any ApplicationDelegate.Type) -> Never {
    let application = ApplicationStart(delegateClass)
    while true {
        application.processEvents()
        application.loop.wait()
    }
}

/// Pauses and creates the objects as ``ApplicationMain(_:)`` does, and then returns: for apps that
/// have their own event loop (GLib, Qt, epoll). Watch ``Application/channelDescriptor`` for
/// reading, and call ``Application/processEvents()`` once before the loop begins and whenever the
/// descriptor is readable.
@MainActor
public func ApplicationStart(_ delegateClass: any ApplicationDelegate.Type) -> Application {
    Application(PausedStart.awaitLaunch(), delegateClass: delegateClass)
}

extension Application {
    /// A descriptor that is readable when ``processEvents()`` has something to do: the daemon has
    /// sent a message, or the main actor has a job. Do not read from it or close it.
    public var channelDescriptor: CInt { loop.descriptor }

    /// Handles all pending events and runs all pending jobs, without waiting. The first call
    /// runs the launch sequence, which can wait for the daemon to send the state to restore.
    ///
    /// A call from a callback does nothing.
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

    /// The next event of the daemon, or of the library itself.
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
                case .nameIsWatched: break
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

    /// Runs the next job that ``afterLaunch(_:)`` put off, if its time has come. Events come first.
    private func runDeferred() -> Bool {
        guard !deferred.isEmpty, hasFirstState, applicationState != .inactive else { return false }
        let work = deferred.removeFirst()
        call("afterLaunch", work)
        if deferred.isEmpty { reached(.afterLaunch) }
        return true
    }

    /// Whether the app has been told whether it is in the foreground or in the background. Only
    /// then is the launch over: an app that is launched into the background is in that state before
    /// it is told.
    private var hasFirstState: Bool {
        usesScenes ? hasHadScene : hasReached(.active) || hasReached(.background)
    }
}
