internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The display of the user's session, for desktop apps whose launch brings none.
///
/// A desktop tells systemd's user manager which display it has (dbus-update-activation-environment(1)),
/// perhaps after this daemon was started. So the manager is asked when a launch needs to know. Only the
/// manager of the daemon's own user is asked: a stranger could answer whatever it likes.
@LoopActor
final class LoginDisplay {
    /// A desktop app needs one of these.
    private static let needed: [ByteString] = ["DISPLAY", "WAYLAND_DISPLAY"]
    private static let names = ["DISPLAY=", "WAYLAND_DISPLAY=", "XAUTHORITY="]
    /// The manager answers in less than a millisecond.
    private static let patience = Duration.seconds(1)

    private let address: String
    private let user: UInt32
    private var manager: SystemBus?
    private var timer: EventSource?
    private var waiters: [([String]) -> Void] = []

    /// - Parameter daemon: the daemon's environment.
    init(daemon: [String], user: UInt32) {
        let own = daemon.first { $0.hasPrefix("XDG_RUNTIME_DIR=") }?.dropFirst(16)
        address = "unix:path=\(own.map(String.init) ?? "/run/user/\(user)")/systemd/private"
        self.user = user
    }

    /// Whether a launch lacks a display that the app needs. An app that runs in its caller's terminal
    /// has its caller's environment.
    func isNeeded(by app: InstalledApp, _ call: Control.LaunchCall) -> Bool {
        guard let desktop = app.desktop, desktop.facts.isShown, !desktop.facts.isTerminal,
            app.kind == .program, !call.isAttached
        else { return false }
        let base =
            call.callerEnvironment.map { $0.compactMap(\.variableName) }
            ?? app.environment.strings.compactMap { ByteString.text($0).variableName }
        let names = Set(base + call.environment.map(\.name))
        return !Self.needed.contains(where: names.contains)
    }

    /// Adds the session's display to a launch that needs one, and calls back; with an error if the
    /// session has none.
    func add(
        to call: Control.LaunchCall, of app: InstalledApp,
        then launch: @escaping (Result<Control.LaunchCall, ControlError>) -> Void
    ) {
        let identifier = app.identifier
        guard app.account.user == user else { return launch(.failure(Self.refusal(identifier))) }
        ask { variables in
            let found = variables.filter { entry in
                Self.names.contains { entry.hasPrefix($0) && entry.utf8.count > $0.utf8.count }
            }
            guard found.contains(where: { !$0.hasPrefix("XAUTHORITY=") }) else {
                return launch(.failure(Self.refusal(identifier)))
            }
            var call = call
            call.environment += found.compactMap {
                Control.EnvironmentVariable(assignment: .text($0))
            }
            launch(.success(call))
        }
    }

    private static func refusal(_ app: AppIdentifier) -> ControlError {
        .refused(
            code: "no_display",
            reason:
                "\(app) is a desktop app, and neither its launch nor its user's session has DISPLAY "
                + "or WAYLAND_DISPLAY; run \"dbus-update-activation-environment --systemd DISPLAY "
                + "WAYLAND_DISPLAY XAUTHORITY\" in the session, or launch it with --env DISPLAY=…")
    }

    /// Asks systemd's user manager for its environment (org.freedesktop.systemd1(5)). There is no
    /// manager where nobody is logged in.
    private func ask(_ answer: @escaping ([String]) -> Void) {
        waiters.append(answer)
        guard waiters.count == 1 else { return }
        do throws(SystemdError) {
            let manager = try SystemBus(directly: address)
            self.manager = manager
            timer = try LoopActor.timer { [unowned self] in finish([]) }
            try timer?.setDeadline(after: Self.patience)
            try manager.call(
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                "org.freedesktop.DBus.Properties", "Get",
                ["org.freedesktop.systemd1.Manager", "Environment"]
            ) { [unowned self] message in
                finish(message.failure == nil ? message.stringsVariant() ?? [] : [])
            }
        } catch {
            finish([])
        }
    }

    private func finish(_ variables: [String]) {
        // The bus must outlive its handler, which may be running now.
        let former = (manager, timer)
        (manager, timer) = (nil, nil)
        let served = waiters
        waiters = []
        for waiter in served { waiter(variables) }
        withExtendedLifetime(former) {}
    }
}
