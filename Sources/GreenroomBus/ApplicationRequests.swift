internal import AppFolders
internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux

/// Translates the calls into calls of greenroomd. Each returns when the app has received what it
/// was launched for.
struct ApplicationRequests {
    let app: String
    let daemon: Daemon

    enum Kind {
        /// Made with an SDK. Also if the daemon refuses the app; the later call will fail then.
        case kit
        /// An unmodified program.
        case program
        /// The daemon cannot be reached, or does not have the app for this user.
        case absent
    }

    /// What the app is. To find out, this asks for an action without a name, which no SDK app has.
    /// The error tells whether the app can have actions.
    ///
    /// - Throws: if there is a daemon that does not say it, because it is being restarted or hangs.
    func kind(_ patience: AnswerPatience = .ofCaller) throws(DaemonFailure) -> Kind {
        do throws(DaemonFailure) {
            _ = try daemon.ask(
                .application(.performAction(app: app, action: "", isBackground: true)), patience)
        } catch {
            switch error {
            case .refused(.refused("not_application_kit", _)): return .program
            case .unreachable, .refused(.noSuchApp), .refused(.permissionDenied): return .absent
            case .disconnected, .unanswered, .refused(.shuttingDown): throw error
            case .refused: break
            }
        }
        return .kit
    }

    /// Whether a daemon would find a manifest of the app, which may confine it.
    var hasManifest: Bool {
        let variables = SearchPath.variables(of: OwnProgram.environment)
        return [true, false].contains {
            AppFolders.haveManifest(of: app, isRoot: $0, variables)
        }
    }

    /// Whether a manifest may confine the app, which only the daemon can do. Also if the daemon does
    /// not say.
    func mayBeConfined() -> Bool {
        guard case .listed(let apps)? = try? daemon.ask(.list, .ofCaller),
            let summary = apps.first(where: { $0.identifier == app })
        else { return true }
        return summary.manifestFile != nil
    }

    /// The processes of the app's launched instances; nil if there are none.
    ///
    /// - Throws: if the daemon does not say it. There may be an instance that has not taken its name.
    func runningProcesses() throws(DaemonFailure) -> [ProcessDescriptor]? {
        let reply: ControlReply
        do throws(DaemonFailure) {
            reply = try daemon.ask(.status(.app(app)), .ofCaller)
        } catch {
            switch error {
            case .unreachable, .disconnected, .unanswered, .refused(.shuttingDown): throw error
            case .refused: return nil
            }
        }
        guard case .status(let instances) = reply else { return nil }
        let running = instances.filter {
            $0.state != .notRunning && $0.state != .prewarming && $0.state != .prewarmed
        }
        if running.isEmpty { return nil }
        return running.compactMap(\.processId).compactMap { try? ProcessDescriptor(pid: $0) }
    }

    func activate(platform: [String: String]) throws(DaemonFailure) {
        try launch(platform) { _ in }
    }

    /// Changes the state of the app's most recently used instance.
    func change(_ transition: Control.Transition) throws(DaemonFailure) {
        _ = try daemon.call(.transition(transition, .app(app)))
    }

    func open(_ urls: [String], platform: [String: String]) throws(DaemonFailure) {
        guard !urls.isEmpty else { return try activate(platform: platform) }
        guard urls.count <= Control.OpenCall.urlLimit else {
            // A program gets all URIs as arguments.
            if try kind() == .program {
                return try launch(platform) { $0.arguments = urls.map(ByteString.text) }
            }
            throw .refused(
                .limitExceeded(what: "URIs to open at once", limit: Control.OpenCall.urlLimit))
        }
        var call = Control.OpenCall(urls: urls)
        call.app = app
        try perform(.open(call)) { () throws(DaemonFailure) in
            try launch(platform) { $0.arguments = urls.map(ByteString.text) }
        }
    }

    func activateAction(
        _ action: String, hasParameter: Bool, platform: [String: String]
    ) throws(DaemonFailure) {
        guard !hasParameter else {
            throw .refused(
                .refused(
                    code: "action_parameter",
                    reason: "quick actions take no parameter; call \(action) without one"))
        }
        try perform(.performAction(app: app, action: action, isBackground: false)) {
            () throws(DaemonFailure) in
            try launch(platform) { $0.action = action }
        }
    }

    /// Makes the call for an SDK app, or does `otherwise` for a program.
    private func perform(
        _ call: Control.ApplicationCall, otherwise: () throws(DaemonFailure) -> Void
    ) throws(DaemonFailure) {
        do throws(DaemonFailure) {
            _ = try daemon.call(.application(call))
        } catch {
            guard case .refused(.refused("not_application_kit", _)) = error else { throw error }
            try otherwise()
        }
    }

    /// The platform data about the user's click is passed on in the variables that a desktop sets
    /// when it executes a program itself.
    private static let platformVariables = [
        "activation-token": "XDG_ACTIVATION_TOKEN", "desktop-startup-id": "DESKTOP_STARTUP_ID",
    ]

    private func launch(
        _ platform: [String: String], _ change: (inout Control.LaunchCall) -> Void
    ) throws(DaemonFailure) {
        var call = Control.LaunchCall(app: app)
        call.environment = Self.platformVariables.sorted { $0.value < $1.value }
            .compactMap { key, name in
                platform[key].map {
                    Control.EnvironmentVariable(name: .text(name), value: .text($0))
                }
            }
        change(&call)
        _ = try daemon.call(.launch(call))
    }
}
