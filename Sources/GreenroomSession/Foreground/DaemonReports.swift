internal import GreenroomControl
internal import GreenroomLinux

/// Reports to one greenroomd on a connection that stays open, because its end would withdraw the
/// report. Reports again to a daemon that has restarted.
final class DaemonReports {
    private let path: String
    private let daemon: DaemonConnection
    private var apps = WindowApps()

    init(path: String) {
        self.path = path
        daemon = DaemonConnection(path: path)
    }

    var descriptor: CInt? { daemon.descriptor }
    var retryAt: UInt64? { daemon.retryAt }

    /// Tells the daemon.
    func report(_ front: Front?) {
        daemon.resetAttempts()
        tell(front)
    }

    /// Called when the daemon has ended, or when the time of the next attempt has come.
    func repeatReport(_ front: Front?) {
        daemon.clearRetry()
        close()
        tell(front)
    }

    /// Tells the daemon that the app will probably be launched soon; false if the daemon does not
    /// prepare it. The report's connection stays as it is: if the daemon has restarted, the end of
    /// that connection says so, and the report is repeated.
    func prepare(_ app: String) -> Bool {
        (try? DaemonConnection(path: path).call(.prepare(app: app))) != nil
    }

    private func tell(_ front: Front?) {
        do throws(DaemonConnection.Failure) {
            switch front {
            case .process(let process): _ = try daemon.call(.reportForeground(.process(process)))
            case .app(let name): try report(appOfWindow: name)
            case nil: _ = try daemon.call(.reportForeground(nil))
            }
            daemon.resetAttempts()
        } catch {
            close()
            daemon.retry(after: error)
        }
    }

    private func close() {
        daemon.close()
        apps = WindowApps()
    }

    // MARK: Apps of windows

    private func report(appOfWindow name: String) throws(DaemonConnection.Failure) {
        let found = try apps.app(of: name, at: MonotonicClock.nanoseconds) {
            () throws(DaemonConnection.Failure) in
            guard case .listed(let apps) = try daemon.call(.list) else { return [] }
            return apps.map(\.identifier)
        }
        guard let found else {
            _ = try daemon.call(.reportForeground(nil))
            return
        }
        do throws(DaemonConnection.Failure) {
            _ = try daemon.call(.reportForeground(.app(found)))
        } catch {
            // The app is no longer installed, or is another user's.
            guard case .refused = error else { throw error }
            apps.forget(name)
            _ = try daemon.call(.reportForeground(nil))
        }
    }
}

/// The apps of windows, by the identifiers that programs give their windows.
struct WindowApps {
    /// Programs may give a window after another any identifier, so these are few, and short.
    static let countLimit = 256
    /// A longer name cannot be that of a file, and so of no app.
    static let byteLimit = 255
    /// In nanoseconds: how long a window that belongs to no app is not looked for again.
    static let pause: UInt64 = 1_000_000_000

    private(set) var names: [String: String] = [:]
    /// The latest window without an app. Its manifest may be installed later.
    private var unknown: (name: String, lookAt: UInt64)?

    /// The app of the window; nil if it belongs to none.
    ///
    /// - Parameter installed: asks for the identifiers of all apps.
    mutating func app<Failure: Error>(
        of name: String, at now: UInt64, installed: () throws(Failure) -> [String]
    ) throws(Failure) -> String? {
        if let app = names[name] { return app }
        guard !name.isEmpty, name.utf8.count <= Self.byteLimit else { return nil }
        if let unknown, unknown.name == name, now < unknown.lookAt { return nil }
        guard let app = Self.match(name, try installed()) else {
            unknown = (name, now + Self.pause)
            return nil
        }
        if names.count == Self.countLimit { names = [:] }
        names[name] = app
        return app
    }

    mutating func forget(_ name: String) { names[name] = nil }

    /// A window's identifier should be its desktop entry's name, and so the app's. Some programs
    /// write it in a different case, or only its last part.
    private static func match(_ name: String, _ all: [String]) -> String? {
        if all.contains(name) { return name }
        let lower = name.lowercased()
        let alike = all.filter { $0.lowercased() == lower }
        if let app = alike.first { return app }
        let short = all.filter { $0.lowercased().hasSuffix("." + lower) }
        return short.count == 1 ? short[0] : nil
    }
}
