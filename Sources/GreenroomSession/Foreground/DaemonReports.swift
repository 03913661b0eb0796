internal import GreenroomControl

/// Reports to one greenroomd on a connection that stays open, because its end would withdraw the
/// report. Reports again to a daemon that has restarted.
final class DaemonReports {
    private let path: String
    private let daemon: DaemonConnection
    /// The apps of windows, by the identifiers of the windows; nil for a window without an app.
    private var names: [String: String?] = [:]

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
        names = [:]
    }

    // MARK: Apps of windows

    private func report(appOfWindow name: String) throws(DaemonConnection.Failure) {
        if names[name] == nil { names[name] = .some(try app(ofWindow: name)) }
        guard let app = names[name] ?? nil else {
            _ = try daemon.call(.reportForeground(nil))
            return
        }
        do throws(DaemonConnection.Failure) {
            _ = try daemon.call(.reportForeground(.app(app)))
        } catch {
            // The app is no longer installed, or is another user's.
            guard case .refused = error else { throw error }
            names[name] = nil
            _ = try daemon.call(.reportForeground(nil))
        }
    }

    /// A window's identifier should be its desktop entry's name, and so the app's. Some programs
    /// write it in a different case, or only its last part.
    private func app(ofWindow name: String) throws(DaemonConnection.Failure) -> String? {
        guard !name.isEmpty, case .listed(let apps) = try daemon.call(.list) else { return nil }
        let all = apps.map(\.identifier)
        if all.contains(name) { return name }
        let lower = name.lowercased()
        let alike = all.filter { $0.lowercased() == lower }
        if let app = alike.first { return app }
        let short = all.filter { $0.lowercased().hasSuffix("." + lower) }
        return short.count == 1 ? short[0] : nil
    }
}
