internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// Watches the names of one held program, for greenroomd, which has started this process with a
/// socket of packets. A packet from the daemon is a name. The answer is `watched NAME` once calls of
/// the name are seen, `taken NAME` if somebody owns the name already, or `unwatchable NAME`. After
/// `watched`, each call of the name is a packet, too: `launch` or `question`. A change of a setting of
/// the desktop counts as a question: the program, which is thawed for it, takes it before it is shown.
/// Many changes that come together are one question.
/// This process ends when the daemon closes its end of the socket, or when the bus ends.
///
/// The process only listens, so it delays no call. The daemon learns nothing about a call but one
/// of the two words.
public struct NameWatch {
    private let socket: UnixSocket
    private var bus: ServiceBus?
    private var monitors: [BusMonitor] = []
    private var settings: BusMonitor?
    private var hasChangedSetting = false
    private var nextSettingAt: UInt64 = 0

    /// By which settings of desktops are told: dconf(7), the portal of sandboxed apps, Xfce and KDE.
    /// Programs write their own settings into dconf and xfconf, too; these do not count.
    private static let settingRules = [
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/gnome/desktop/'"),
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/mate/'"),
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/cinnamon/'"),
        ("org.freedesktop.portal.Settings", "SettingChanged", ""),
        ("org.xfce.Xfconf", "PropertyChanged", ",arg0='xsettings'"),
        ("org.kde.kconfig.notify", "ConfigChanged", ""),
        ("org.kde.KGlobalSettings", "notifyChange", ""),
    ].map { "type='signal',interface='\($0)',member='\($1)'\($2)" }

    /// A program that changes settings without an end does not keep the held program thawed. In
    /// nanoseconds.
    private static let settingPause: UInt64 = 1_000_000_000

    /// A name has at most this many bytes (D-Bus Specification, "Valid Names").
    private static let nameLimit = 255

    public init(on descriptor: CInt) { socket = UnixSocket(FileDescriptor(owning: descriptor)) }

    public mutating func run() throws {
        while true {
            // This comes before the wait, because calls may have been read together with an answer
            // of the bus.
            for monitor in monitors { try report(monitor) }
            if try settings?.hasHeardSignal() == true { hasChangedSetting = true }
            let pause = try tellSetting()
            var entries = [PollEntry(socket.descriptor.rawValue, POLLIN)]
            entries += (monitors + [settings].compactMap(\.self)).map {
                PollEntry($0.descriptor, POLLIN)
            }
            try PollEntry.wait(&entries, milliseconds: pause)
            guard entries[0].isReady else { continue }
            guard let name = try name() else { return }
            let answer = watch(name)
            guard try send("\(answer) \(name)") else { throw Self.noRoom }
        }
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
            // Without this, the program still takes a changed setting when it is next thawed.
            settings = settings ?? (try? BusMonitor(matching: Self.settingRules, at: address))
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

    private func report(_ monitor: BusMonitor) throws {
        var (asks, starts) = (false, false)
        while let call = try monitor.next() {
            asks = true
            starts =
                starts || CalledMethod(interface: call.interface, member: call.member).starts
        }
        if starts {
            guard try send("launch") else { throw Self.noRoom }
        } else if asks {
            try ask()
        }
    }

    /// Tells of changed settings, at most once in ``settingPause``.
    ///
    /// - Returns: after how many milliseconds there is something to tell; -1 if nothing waits.
    private mutating func tellSetting() throws -> CInt {
        guard hasChangedSetting else { return -1 }
        let now = MonotonicClock.nanoseconds
        guard now >= nextSettingAt else { return CInt((nextSettingAt - now) / 1_000_000) + 1 }
        hasChangedSetting = false
        nextSettingAt = now + Self.settingPause
        try ask()
        return -1
    }

    /// If there is no room for a question, the daemon has not read many others yet, and one more
    /// would change nothing.
    private func ask() throws { _ = try send("question") }

    /// - Returns: false if the daemon has left too much unread.
    private func send(_ text: String) throws -> Bool {
        try socket.send(Array(text.utf8)) != nil
    }

    private static let noRoom = SystemError(code: EAGAIN, call: "sendmsg")
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
