import Glibc

/// What only systemd-logind's bus interface tells (org.freedesktop.login1(5)): locked sessions, and
/// that the machine is about to sleep or to shut down.
///
/// Believed is logind alone: whoever may talk to the bus may send us signals that look the same.
@LoopActor
public final class Logind {
    public enum News: Hashable, Sendable {
        case lockChanged(user: UInt32, isLocked: Bool)
        case sleepChanged(isAsleep: Bool)
        case shutdownChanged(isShuttingDown: Bool)
        /// Something could not be asked for: for people, once.
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
    /// logind's unique name, as the bus itself has it.
    private var owner: String?
    /// Locked sessions and whose they are. A user is locked while any of their sessions is.
    private var locked: [String: UInt32] = [:]
    /// More sessions than a machine has.
    private static let sessionLimit = 4096
    /// As told last.
    private var isAsleep = false
    private var isShuttingDown = false
    /// While it is open, logind waits with a shutdown (InhibitDelayMaxSec=, logind.conf(5)).
    private var inhibitor: CInt = -1
    /// A connection that may bring a descriptor, as long as it is asked for one.
    private var asking: SystemBus?
    private var askingEnds: EventSource?

    /// - Throws: where there is no system bus.
    public init(onNews: @escaping @LoopActor (News) -> Void) throws(SystemdError) {
        bus = try SystemBus()
        self.onNews = onNews
        try listen()
        try bus.call(
            Name.bus, "/org/freedesktop/DBus", Name.bus, "GetNameOwner", [Name.service]
        ) { [unowned self] reply in
            // None: its NameOwnerChanged will come.
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
            // The library's own, and never a peer's: that one has a sender.
            if message.sender == nil || message.sender == "org.freedesktop.DBus.Local" {
                // Nobody would say that it is over.
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
                let session = SystemBus.child(of: Name.sessions, in: path),
                let isLocked = message.boolean(named: "LockedHint")
            else { return }
            setLock(of: session, to: isLocked)
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

    /// logind is there, or there again: asks for what it does not say by itself.
    private func found(_ owner: String) {
        guard owner != self.owner else { return }
        self.owner = owner
        holdShutdown()
        // Also that it is over, which a logind that died in between has not said.
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
        // What cannot be asked is as if nothing had happened: the session may have gone.
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

    /// Makes logind wait with the next shutdown until ``goAhead()``.
    public func holdShutdown() {
        guard inhibitor < 0 else { return }
        asking = try? SystemBus(takesDescriptors: true)
        try? asking?.call(
            Name.service, Name.path, Name.manager, "Inhibit",
            ["shutdown", "Greenroom", "Apps save their state", "delay"]
        ) { [unowned self] reply in
            // Not in a callback of its own.
            askingEnds = try? LoopActor.deferred { [unowned self] in asking = nil }
            if let failure = reply.failure {
                return onNews(.failed("asking logind to wait with a shutdown: \(failure)"))
            }
            goAhead()
            inhibitor = reply.takeDescriptor() ?? -1
        }
    }

    /// Nothing is left to save.
    public func goAhead() {
        if inhibitor >= 0 { close(inhibitor) }
        inhibitor = -1
    }
}
