internal import GreenroomLinux
internal import GreenroomSession
internal import Systemd

/// Watches what tells programs of changed settings: the session's message bus and the displays. A
/// source that ends or fails is begun anew, later each time. What has changed meanwhile is not known,
/// so each beginning counts as a change; a display says whether it looks as before.
struct SettingsWatch {
    enum Source: String, Hashable {
        case bus, display
    }

    /// In nanoseconds: the first pause before a source is begun anew, and the longest.
    static let shortestPause: UInt64 = 1_000_000_000
    static let longestPause: UInt64 = 300_000_000_000
    /// In nanoseconds. A source that has stayed for this long is no longer suspected of ending soon.
    static let trial: UInt64 = 60_000_000_000

    private struct Watched {
        let source: Source
        let begin: () throws -> any SettingsConnection
        var connection: (any SettingsConnection)?
        /// That of the last connection.
        var appearance: Appearance?
        /// When it was begun, or is to be begun.
        var beginAt: UInt64 = 0
        var pause = SettingsWatch.shortestPause
    }

    private var sources: [Watched]
    /// Changes that nobody has asked for yet.
    private var change = DisplaySettings.Change.none
    /// Lost sources that nobody has asked for yet. A source that was never there is not lost.
    private var lost: Set<Source> = []

    /// Watches the sources that the environment names.
    init() {
        var sources: [(Source, () throws -> any SettingsConnection)] = [
            (.bus, { try SettingsOfBus() })
        ]
        for server in DisplaySettings.Server.all() {
            sources.append((.display, { try DisplaySettings(server) }))
        }
        self.init(sources)
    }

    init(_ sources: [(Source, () throws -> any SettingsConnection)]) {
        self.sources = sources.map { Watched(source: $0.0, begin: $0.1) }
    }

    var descriptors: [CInt] { sources.compactMap { $0.connection?.descriptor } }
    var hasMore: Bool { sources.contains { $0.connection?.hasMore == true } }
    /// When `hear` must be called next, on the monotonic clock; nil if no source waits.
    var beginAt: UInt64? { sources.filter { $0.connection == nil }.map(\.beginAt).min() }

    /// Reads what has come, and begins the sources whose time has come. A source may take its time.
    mutating func hear(by clock: () -> UInt64 = { MonotonicClock.nanoseconds }) {
        for index in sources.indices {
            let now = clock()
            do {
                if let connection = sources[index].connection {
                    if now > sources[index].beginAt + Self.trial {
                        sources[index].pause = Self.shortestPause
                    }
                    note(try connection.hear())
                } else if sources[index].beginAt <= now {
                    let connection = try sources[index].begin()
                    sources[index].connection = connection
                    sources[index].beginAt = now
                    let isAsBefore =
                        sources[index].appearance.map { $0 == connection.appearance } ?? true
                    note(isAsBefore ? .changed : .restyled)
                }
            } catch {
                if let connection = sources[index].connection {
                    lost.insert(sources[index].source)
                    sources[index].appearance = connection.appearance
                }
                sources[index].connection = nil
                sources[index].beginAt = clock() + sources[index].pause
                sources[index].pause = min(sources[index].pause * 2, Self.longestPause)
            }
        }
    }

    private mutating func note(_ new: DisplaySettings.Change) {
        if new == .restyled || change == .none { change = new }
    }

    mutating func takeChange() -> DisplaySettings.Change {
        defer { change = .none }
        return change
    }

    mutating func takeLost() -> Set<Source> {
        defer { lost = [] }
        return lost
    }
}

/// A connection to a source of settings.
protocol SettingsConnection: AnyObject {
    /// Readable when something has happened.
    var descriptor: CInt { get }
    var hasMore: Bool { get }
    /// Nil if the source does not say it.
    var appearance: Appearance? { get }
    func hear() throws -> DisplaySettings.Change
}

extension DisplaySettings: SettingsConnection {
    var appearance: Appearance? { lastAppearance }
}

/// A connection to the session's bus that hears the signals by which desktops tell of settings.
final class SettingsOfBus: SettingsConnection {
    /// dconf(7), the portal of sandboxed apps, Xfce and KDE. Programs write their own settings into
    /// dconf and xfconf, too; these do not count.
    private static let rules = [
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/gnome/desktop/'"),
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/mate/'"),
        ("ca.desrt.dconf.Writer", "Notify", ",arg0path='/org/cinnamon/'"),
        ("org.freedesktop.portal.Settings", "SettingChanged", ""),
        ("org.xfce.Xfconf", "PropertyChanged", ",arg0='xsettings'"),
        ("org.kde.kconfig.notify", "ConfigChanged", ""),
        ("org.kde.KGlobalSettings", "notifyChange", ""),
    ].map { "type='signal',interface='\($0)',member='\($1)'\($2)" }

    private let monitor: BusMonitor

    init() throws(SystemdError) {
        monitor = try BusMonitor(matching: Self.rules, at: try ServiceBus().address())
    }

    var descriptor: CInt { monitor.descriptor }
    var hasMore: Bool { false }
    var appearance: Appearance? { nil }

    func hear() throws -> DisplaySettings.Change {
        try monitor.hasHeardSignal() ? .changed : .none
    }
}
