internal import Glibc
internal import GreenroomLinux
internal import GreenroomSession
internal import Systemd

/// Watches the names of one held program and the settings of its desktop, for greenroomd, which has
/// started this process with a socket of packets. A packet from the daemon is a name. The answer is
/// `watched NAME` once calls of the name are seen, `taken NAME` if somebody owns the name already, or
/// `unwatchable NAME`. After `watched`, each call of the name is a packet, too: `launch` or `question`.
/// When settings have changed, the packet is `changed`, or `restyled` if the scale, the theme or
/// the font is among them; and `unheard SOURCE` says that a source of settings was lost and is
/// looked for again. This process ends when the daemon closes its end of the socket, or when the
/// bus of a name ends.
///
/// The process only listens, so it delays no call. The daemon learns nothing about a call or a
/// setting but one of these words.
public struct HeldProgramWatch {
    private let socket: UnixSocket
    private var bus: ServiceBus?
    private var monitors: [BusMonitor] = []
    private var settings = SettingsWatch()
    private var nextChangeAt: UInt64 = 0
    private var unsent = UnsentReports()

    /// The least time between two reports of changes, in nanoseconds: whoever changes settings
    /// without an end must not keep the held program thawed.
    private static let changePause: UInt64 = 1_000_000_000

    /// A name has at most this many bytes (D-Bus Specification, "Valid Names").
    private static let nameLimit = 255

    public init(on descriptor: CInt) { socket = UnixSocket(FileDescriptor(owning: descriptor)) }

    public mutating func run() throws {
        while true {
            // This comes before the wait, because calls may have been read together with an answer
            // of the bus.
            for monitor in monitors { try note(monitor) }
            noteChange(at: MonotonicClock.nanoseconds)
            try send()
            // Names come first: the program waits for them, and a display may take its time.
            guard try wait() else {
                settings.hear()
                continue
            }
            guard let name = try name() else { return }
            let answer = watch(name)
            guard try send("\(answer) \(name)") else { throw Self.noRoom }
        }
    }

    /// Returns whether the daemon has sent something.
    private mutating func wait() throws -> Bool {
        let hasUnsent = unsent.next != nil
        let events = hasUnsent ? POLLIN | POLLOUT : POLLIN
        var entries = [PollEntry(socket.descriptor.rawValue, events)]
        // Changes that come during the pause are left where they are.
        let now = MonotonicClock.nanoseconds
        let hearsSettings = nextChangeAt <= now
        entries += monitors.map { PollEntry($0.descriptor, POLLIN) }
        if hearsSettings { entries += settings.descriptors.map { PollEntry($0, POLLIN) } }
        var due = [settings.beginAt].compactMap(\.self)
        if !hearsSettings { due.append(nextChangeAt) }
        if hearsSettings, settings.hasMore { due.append(now) }
        let pause = due.min().map { $0 > now ? ($0 - now) / 1_000_000 + 1 : 0 }
        try PollEntry.wait(&entries, milliseconds: pause.map { CInt(clamping: $0) } ?? -1)
        return entries[0].happened & ~Int16(POLLOUT) != 0
    }

    /// The next name from the daemon; nil at the end.
    private func name() throws -> String? {
        var bytes = [UInt8](repeating: 0, count: Self.nameLimit)
        let message = try unsafe bytes.withUnsafeMutableBytes {
            try unsafe socket.receive(into: $0)
        }
        guard let count = message?.byteCount, count > 0 else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// The owner is looked up only after calls can be seen, so that no call in between is missed.
    private mutating func watch(_ name: String) -> String {
        // Any other character could change the match rule by which the bus selects what this
        // process receives.
        guard name.utf8.allSatisfy(Self.isOfName) else { return "unwatchable" }
        do {
            let bus = try self.bus ?? ServiceBus()
            self.bus = bus
            let address = try bus.address()
            monitors.append(try BusMonitor(of: name, at: address))
            return try bus.hasOwner(name) ? "taken" : "watched"
        } catch { return "unwatchable" }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        case _: false
        }
    }

    private mutating func note(_ monitor: BusMonitor) throws {
        while let call = try monitor.next() {
            let method = CalledMethod(interface: call.interface, member: call.member)
            if method.starts { unsent.hasLaunch = true } else { unsent.hasQuestion = true }
        }
    }

    private mutating func noteChange(at now: UInt64) {
        unsent.lost.formUnion(settings.takeLost())
        guard nextChangeAt <= now else { return }
        switch settings.takeChange() {
        case .none: return
        case .changed: unsent.hasChanged = true
        case .restyled: unsent.isRestyled = true
        }
        nextChangeAt = now + Self.changePause
    }

    /// Sends what the daemon has room for. The rest is sent once there is room.
    private mutating func send() throws {
        while let report = unsent.next, try send(report) { unsent.removeNext() }
    }

    /// - Returns: false if the daemon has left too much unread.
    private func send(_ text: String) throws -> Bool {
        try socket.send(Array(text.utf8)) != nil
    }

    private static let noRoom = SystemError(code: EAGAIN, call: "sendmsg")
}

/// What the daemon was not told yet. Reports of the same kind are one report, however many have come
/// since the daemon had no room.
struct UnsentReports: Hashable {
    var hasLaunch = false
    var hasQuestion = false
    var hasChanged = false
    var isRestyled = false
    var lost: Set<SettingsWatch.Source> = []

    /// The most urgent report, which says everything that those of less urgency would say: a program
    /// that is launched answers questions, and one that is aired for a question takes settings.
    var next: String? {
        if hasLaunch { return "launch" }
        if isRestyled { return "restyled" }
        if hasQuestion { return "question" }
        if hasChanged { return "changed" }
        return lost.map(\.rawValue).min().map { "unheard \($0)" }
    }

    mutating func removeNext() {
        if hasLaunch {
            hasLaunch = false
            hasQuestion = false
        } else if isRestyled || hasQuestion || hasChanged {
            isRestyled = false
            hasQuestion = false
            hasChanged = false
        } else if let first = lost.min(by: { $0.rawValue < $1.rawValue }) {
            lost.remove(first)
        }
    }
}

/// A method that was called: it starts a program or brings it to the front, or it is a question
/// that programs answer without a window.
struct CalledMethod: Hashable {
    let interface: String
    let member: String

    /// A call to an unknown interface counts as one that starts the program, because the caller may
    /// want to see the program, which would otherwise stay held.
    var starts: Bool {
        if Self.questioning.contains(where: interface.hasPrefix) { return false }
        // For GApplication's actions, describing one is a question, and only activating one starts
        // the program.
        if interface == "org.gtk.Actions" { return member == "Activate" }
        // A shell asks at every key that is typed into its search; only choosing a result starts
        // the program.
        if interface.hasPrefix("org.gnome.Shell.SearchProvider") {
            return member == "ActivateResult" || member == "LaunchSearch"
        }
        return true
    }

    /// Interfaces of questions that buses and desktops ask every program: about its presence, its
    /// objects and its menus.
    private static let questioning = [
        "org.freedesktop.DBus.", "org.gtk.Menus", "com.canonical.dbusmenu", "org.a11y.",
    ]
}
