internal import GreenroomControl
internal import GreenroomLinux

/// Translates the calls into calls of greenroomd. Each returns when the app has received what it
/// was launched for.
struct ApplicationRequests {
    let app: String
    let daemon: Daemon

    /// Whether the app is an unmodified program. To find out, this asks for an action without a
    /// name, which no SDK app has. The error tells whether the app can have actions. If the app is
    /// unknown, the later call will fail.
    func isProgram() -> Bool {
        do throws(DaemonFailure) {
            _ = try daemon.call(
                .application(.performAction(app: app, action: "", isBackground: true)))
        } catch {
            if case .refused(.refused("not_application_kit", _)) = error { return true }
        }
        return false
    }

    /// The processes of the app's launched instances; nil if there are none.
    func runningProcesses() -> [ProcessDescriptor]? {
        guard case .status(let instances)? = try? daemon.call(.status(.app(app))) else {
            return nil
        }
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
            if isProgram() {
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
