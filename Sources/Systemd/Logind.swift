import Glibc

/// Events that only systemd-logind's bus interface reports (org.freedesktop.login1(5)): sessions
/// are locked or unlocked, and the machine is about to sleep or to shut down.
///
/// Only signals from logind itself are used, because every client of the bus can send signals that
/// look the same.
@LoopActor
public final class Logind {
    public enum News: Hashable, Sendable {
        case lockChanged(user: UInt32, isLocked: Bool)
        /// A session came to the foreground of its seat.
        case becameActive
        case sleepChanged(isAsleep: Bool)
        case shutdownChanged(isShuttingDown: Bool)
        /// A request failed. The text is for people. Sent at most once.
        case failed(String)
        case disconnected
    }

    private enum Name {
        static let service = "org.freedesktop.login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
        static let path = "/org/freedesktop/login1"
        static let sessions = "/org/freedesktop/login1/session"
        static let properties = "org.freedesktop.DBus.Properties"
        static let bus = "org.freedesktop.DBus"
    }

    private let bus: SystemBus
    private let onNews: @LoopActor (News) -> Void
    /// logind's unique name, as reported by the bus.
    private var owner: String?
    /// The locked sessions and their users. A user counts as locked while any of the user's
    /// sessions is locked.
    private var locked: [String: UInt32] = [:]
    /// At most this many sessions. Real machines have fewer.
    private static let sessionLimit = 4096
    /// The state that was reported last.
    private var isAsleep = false
    private var isShuttingDown = false
    /// While this descriptor is open, logind delays a shutdown (InhibitDelayMaxSec=,
    /// logind.conf(5)).
    private var inhibitor: CInt = -1
    /// A connection that can receive a descriptor. It exists only while one is requested.
    private var asking: SystemBus?
    private var askingEnds: EventSource?

    /// - Throws: if there is no system bus.
    public init(onNews: @escaping @LoopActor (News) -> Void) throws(SystemdError) {
        bus = try SystemBus()
        self.onNews = onNews
        try listen()
        try bus.call(
            Name.bus, "/org/freedesktop/DBus", Name.bus, "GetNameOwner", [Name.service]
        ) { [unowned self] reply in
            // If there is no logind now, NameOwnerChanged will come when it appears.
            if reply.failure == nil, let owner = reply.string() { found(owner) }
        }
    }

    isolated deinit { goAhead() }

    private func listen() throws(SystemdError) {
        try bus.match(
            "type='signal',sender='\(Name.bus)',interface='\(Name.bus)',"
                + "member='NameOwnerChanged',arg0='\(Name.service)'"
        ) { [unowned self] message in
            guard message.sender == Name.bus, message.string() == Name.service,
                message.string() != nil, let owner = message.string()
            else { return }
            if owner.isEmpty { self.owner = nil } else { found(owner) }
        }
        try bus.match(
            "type='signal',interface='org.freedesktop.DBus.Local',member='Disconnected'"
        ) { [unowned self] message in
            // This comes from the library itself, never from a peer, because a peer's messages have
            // a sender.
            if message.sender == nil || message.sender == "org.freedesktop.DBus.Local" {
                // Without a connection, nobody would report the end of the sleep.
                noteSleep(false)
                onNews(.disconnected)
            }
        }
        try matchManager("PrepareForSleep") { [unowned self] message in
            if let begins = message.boolean() { noteSleep(begins) }
        }
        try matchManager("PrepareForShutdown") { [unowned self] message in
            if let begins = message.boolean() { noteShutdown(begins) }
        }
        try matchManager("SessionRemoved") { [unowned self] message in
            if let session = message.string() { setLock(of: session, to: false) }
        }
        try bus.match(
            "type='signal',sender='\(Name.service)',interface='\(Name.properties)',"
                + "member='PropertiesChanged',path_namespace='\(Name.sessions)',"
                + "arg0='\(Name.session)'"
        ) { [unowned self] message in
            guard message.sender == owner, message.string() == Name.session,
                let path = message.path,
                let session = SystemBus.child(of: Name.sessions, in: path)
            else { return }
            let values = message.booleans(named: ["LockedHint", "Active"])
            if let isLocked = values["LockedHint"] { setLock(of: session, to: isLocked) }
            if values["Active"] == true { onNews(.becameActive) }
        }
    }

    private func matchManager(
        _ member: String, _ fire: @escaping @LoopActor (BusMessage) -> Void
    ) throws(SystemdError) {
        try bus.match(
            "type='signal',sender='\(Name.service)',path='\(Name.path)',"
                + "interface='\(Name.manager)',member='\(member)'"
        ) { [unowned self] message in
            if message.sender == owner { fire(message) }
        }
    }

    /// logind has appeared, perhaps again. Asks for the states that it does not report by itself.
    private func found(_ owner: String) {
        guard owner != self.owner else { return }
        self.owner = owner
        holdShutdown()
        // The answer may also be that a sleep is over, if logind died in the meantime and did not
        // report it.
        ask(Name.path, Name.manager, "PreparingForSleep") { [unowned self] in noteSleep($0) }
        ask(Name.path, Name.manager, "PreparingForShutdown") { [unowned self] in noteShutdown($0) }
        for session in Logins.sessions.prefix(Self.sessionLimit) {
            guard let path = SystemBus.path(of: session, in: Name.sessions) else { continue }
            ask(path, Name.session, "LockedHint") { [unowned self] in setLock(of: session, to: $0) }
        }
    }

    private func ask(
        _ path: String, _ interface: String, _ property: String,
        _ answer: @escaping @LoopActor (Bool) -> Void
    ) {
        // A failed request is ignored, because the session may have ended.
        try? bus.call(Name.service, path, Name.properties, "Get", [interface, property]) { reply in
            if reply.failure == nil, let value = reply.booleanVariant() { answer(value) }
        }
    }

    private func noteSleep(_ begins: Bool) {
        guard begins != isAsleep else { return }
        isAsleep = begins
        onNews(.sleepChanged(isAsleep: begins))
    }

    private func noteShutdown(_ begins: Bool) {
        guard begins != isShuttingDown else { return }
        isShuttingDown = begins
        onNews(.shutdownChanged(isShuttingDown: begins))
    }

    // MARK: Locks

    private func setLock(of session: String, to isLocked: Bool) {
        if !isLocked {
            guard let user = locked.removeValue(forKey: session) else { return }
            if !locked.values.contains(user) { onNews(.lockChanged(user: user, isLocked: false)) }
        } else if let user = Logins.user(ofSession: session), locked.count < Self.sessionLimit {
            let isNews = !locked.values.contains(user)
            locked[session] = user
            if isNews { onNews(.lockChanged(user: user, isLocked: true)) }
        }
    }

    /// Whether logind says that a session of the user is locked.
    public func hasLockedSession(_ user: UInt32) -> Bool { locked.values.contains(user) }

    // MARK: Shutdown

    /// Makes logind delay the next shutdown until ``goAhead()``.
    public func holdShutdown() {
        guard inhibitor < 0 else { return }
        asking = try? SystemBus(takesDescriptors: true)
        try? asking?.call(
            Name.service, Name.path, Name.manager, "Inhibit",
            ["shutdown", "Greenroom", "Apps save their state", "delay"]
        ) { [unowned self] reply in
            // The connection must not be released in its own callback.
            askingEnds = try? LoopActor.deferred { [unowned self] in asking = nil }
            if let failure = reply.failure {
                return onNews(.failed("asking logind to delay a shutdown: \(failure)"))
            }
            goAhead()
            inhibitor = reply.takeDescriptor() ?? -1
        }
    }

    /// Lets the shutdown proceed.
    public func goAhead() {
        if inhibitor >= 0 { close(inhibitor) }
        inhibitor = -1
    }
}
