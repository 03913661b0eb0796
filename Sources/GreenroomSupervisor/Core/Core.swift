internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Carries out what the core decides.
@LoopActor
protocol EffectPerformer: AnyObject {
    /// The core begins to handle events; nothing that follows from them has been reported yet.
    func beganTurn()
    func perform(_ effect: Effect)
    func endedTurn()
}

/// The core as the rooms of the shell use it: takes events, and answers questions about its state.
///
///     control calls, channels, exits, files, time ──> Event ──> Lifecycle.handle ──> [Effect] ──> performer
///
/// Performing an effect may cause an event at once, for example if a channel turns out to be
/// broken. The event waits in the queue until the effects before it have been performed. Events
/// that come before there is a performer wait there, too.
@LoopActor
final class Core {
    /// The core's state, read in place. To call a method of a stored property, Swift would copy the
    /// property and retain the dozens of members that the state has.
    var lifecycle: Lifecycle { _read { yield state } }
    private var state: Lifecycle
    private let log: Log
    private var performer: (any EffectPerformer)?
    private var queue: [Event] = []
    private var isHandling = false
    private var eventTime = Instant(nanoseconds: 0)
    private var timer: EventSource?
    private var armedDeadline: Instant?
    /// Whether a deadline is over and was put off until everything that is ready has been handled.
    private var isPutOff = false
    /// Called when every instance has ended after a shutdown was requested.
    private var whenEmpty: (() -> Void)?

    init(_ lifecycle: Lifecycle, log: Log) throws(SystemdError) {
        state = lifecycle
        self.log = log
        timer = try LoopActor.timer { [unowned self] in deadlineReached() }
    }

    /// The present time. Everything that one event leads to happens at the same instant.
    var now: Instant {
        isHandling ? eventTime : Instant(nanoseconds: MonotonicClock.nanoseconds)
    }

    // MARK: Questions on the path of a launch

    func depth(of app: AppIdentifier, _ key: EnvironmentKey) -> PrewarmDepth {
        ask { $0.depth(of: app, key) }
    }

    func hasBooted(_ app: AppIdentifier) -> Bool { ask { $0.hasBooted(app) } }

    func coldReason(for app: AppIdentifier, _ key: EnvironmentKey) -> ColdReason? {
        ask { $0.coldReason(for: app, key: key) }
    }

    /// Asks the state without copying it, and changes nothing: an inout argument is not copied.
    private func ask<Answer>(_ question: (inout Lifecycle) -> Answer) -> Answer {
        question(&state)
    }

    // MARK: Events

    /// Performs effects from now on, and first handles the events that have come so far.
    func begin(performing performer: some EffectPerformer) {
        self.performer = performer
        handleQueue()
    }

    /// Handles one event completely: decides, then acts.
    func handle(_ event: Event) {
        queue.append(event)
        handleQueue()
    }

    private func handleQueue() {
        guard !isHandling, !queue.isEmpty, let performer else { return }
        isHandling = true
        performer.beganTurn()
        var next = 0
        while next < queue.count {
            let event = queue[next]
            next += 1
            eventTime = Instant(nanoseconds: MonotonicClock.nanoseconds)
            for effect in state.handle(event, at: eventTime) { performer.perform(effect) }
        }
        queue.removeAll(keepingCapacity: true)
        isHandling = false
        performer.endedTurn()
        armTimer()
        if lifecycle.isShuttingDown, lifecycle.liveCount == 0, let whenEmpty {
            self.whenEmpty = nil
            whenEmpty()
        }
    }

    /// Arms the one timer for all deadlines. It is set again only if the soonest deadline becomes
    /// earlier: a wake-up that comes too early is harmless and arms the timer again.
    private func armTimer() {
        guard let deadline = ask({ $0.nextDeadline }) else { return }
        if let armedDeadline, armedDeadline <= deadline { return }
        arm(deadline)
    }

    private func arm(_ deadline: Instant) {
        armedDeadline = deadline
        do throws(SystemdError) {
            try timer?.setDeadline(nanoseconds: deadline.nanoseconds)
        } catch {
            log.failed("arming the timer", error)
        }
    }

    /// A deadline is over. The loop may have come to it late, because it waited for something or the
    /// daemon was stopped, and an instance that has started in time must not count as late. So
    /// whatever is ready by now is handled first: of such sources, the loop takes the one that was
    /// ready first.
    private func deadlineReached() {
        isPutOff.toggle()
        armedDeadline = nil
        guard isPutOff else { return handle(.deadlineReached) }
        arm(Instant(nanoseconds: MonotonicClock.nanoseconds))
    }

    // MARK: The end

    /// Ends every instance, and calls back once there is none.
    func shutDown(then done: @escaping () -> Void) {
        whenEmpty = done
        handle(.shutdownRequested)
    }

    func cancelShutdown() {
        whenEmpty = nil
        handle(.shutdownCancelled)
    }
}
