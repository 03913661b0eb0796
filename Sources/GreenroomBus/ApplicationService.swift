public import Systemd
internal import GreenroomControl

/// `org.freedesktop.Application` of one app (Desktop Entry Specification, "D-Bus Activation"): the bus
/// starts this program when somebody calls the app's name, the calls become calls of greenroomd, and
/// it ends soon after the last. So a name costs nothing while nobody calls it, and whoever calls has
/// the rights of the session's user and no others.
///
///                   made with the SDK      another program, DBusActivatable=true
///     Activate      Launch                 Launch
///     Open          Open, with the app     Launch with the files
///     ActivateAction  PerformAction        Launch with the action
///
/// A program that has its own name on the bus takes it when it runs: the name is given up before the
/// launch, and never taken while an instance runs, so that the two do not meet.
public struct ApplicationService {
    private enum Name {
        static let application = "org.freedesktop.Application"
        static let introspectable = "org.freedesktop.DBus.Introspectable"
        static let error = "org.freedesktop.DBus.Error."
    }
    /// Long enough for a launcher's second call.
    private static let patience: Duration = .seconds(5)

    let bus: ServiceBus
    let app: String
    let requests: ApplicationRequests

    public init(_ options: BusOptions) throws(SystemdError) {
        bus = try ServiceBus()
        app = options.app
        requests = ApplicationRequests(app: options.app, daemon: Daemon(path: options.socket))
    }

    /// Serves until nobody calls any more.
    public func run() throws(SystemdError) {
        let isProgram = requests.isProgram()
        // It takes the name itself, and with it what waits.
        if isProgram, requests.isRunning() { return }
        // Nor where somebody serves the name already.
        guard try bus.request(app) else { return }
        if !isProgram {
            while let call = try bus.next(within: Self.patience) { try answer(call) }
        }
        var call = isProgram ? try bus.next(within: Self.patience) : nil
        try bus.release(app)
        while let one = call {
            try answer(one)
            call = try bus.next(within: .zero)
        }
        while let late = try bus.next(within: .zero) { try answer(late) }
    }

    private var objectPath: String {
        "/" + String(app.map { $0 == "." ? "/" : $0 == "-" ? "_" : $0 })
    }

    private func answer(_ call: BusCall) throws(SystemdError) {
        if call.interface == Name.introspectable, call.member == "Introspect" {
            return try call.reply(introspection(of: call.path))
        }
        guard call.path == objectPath else {
            return try call.fail(
                Name.error + "UnknownObject", "\(app) has one object, \(objectPath)")
        }
        guard call.interface == Name.application || call.interface.isEmpty else {
            return try call.fail(
                Name.error + "UnknownInterface", "\(app) has no interface \(call.interface)")
        }
        let failure: DaemonFailure
        do throws(DaemonFailure) {
            guard try perform(call) else {
                return try reportUnknown(call)
            }
            return try reportDone(call)
        } catch {
            failure = error
        }
        try report(failure, call)
    }

    /// False for what is no method of the interface.
    private func perform(_ call: BusCall) throws(DaemonFailure) -> Bool {
        switch (call.member, call.signature) {
        case ("Activate", "a{sv}"):
            try requests.activate(platform: call.stringValues())
        case ("Open", "asa{sv}"):
            let urls = call.strings() ?? []
            try requests.open(urls, platform: call.stringValues())
        case ("ActivateAction", "sava{sv}"):
            let action = call.string() ?? ""
            let hasParameter = call.hasVariants() ?? false
            try requests.activateAction(
                action, hasParameter: hasParameter, platform: call.stringValues())
        case _: return false
        }
        return true
    }

    private func introspection(of path: String) -> String {
        let header = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">

            """
        guard path == objectPath else {
            let parent = path == "/" ? "/" : path + "/"
            let rest = objectPath.hasPrefix(parent) ? objectPath.dropFirst(parent.count) : ""
            let child = rest.prefix { $0 != "/" }
            return header + (child.isEmpty ? "<node/>" : "<node><node name=\"\(child)\"/></node>")
        }
        return header + """
            <node>
             <interface name="org.freedesktop.Application">
              <method name="Activate">
               <arg type="a{sv}" name="platform_data" direction="in"/>
              </method>
              <method name="Open">
               <arg type="as" name="uris" direction="in"/>
               <arg type="a{sv}" name="platform_data" direction="in"/>
              </method>
              <method name="ActivateAction">
               <arg type="s" name="action_name" direction="in"/>
               <arg type="av" name="parameter" direction="in"/>
               <arg type="a{sv}" name="platform_data" direction="in"/>
              </method>
             </interface>
            </node>
            """
    }
}

// Answers are typed apart: a failure of the daemon's is an answer, one of the bus ends the program.
extension ApplicationService {
    private func reportDone(_ call: BusCall) throws(DaemonFailure) {
        do throws(SystemdError) { try call.reply() } catch { throw .unreachable("\(error)") }
    }

    private func reportUnknown(_ call: BusCall) throws(DaemonFailure) {
        do throws(SystemdError) {
            try call.fail(
                Name.error + "UnknownMethod",
                "org.freedesktop.Application has no \(call.member)(\(call.signature))")
        } catch { throw .unreachable("\(error)") }
    }

    private func report(_ failure: DaemonFailure, _ call: BusCall) throws(SystemdError) {
        switch failure {
        case .unreachable(let text): try call.fail(Name.error + "NoServer", text)
        case .refused(let error): try call.fail(Name.error + Self.name(of: error), "\(error)")
        }
    }

    private static func name(of error: ControlError) -> String {
        switch error {
        case .noSuchApp: "ServiceUnknown"
        case .permissionDenied: "AccessDenied"
        case .limitExceeded: "LimitsExceeded"
        case .refused: "InvalidArgs"
        case .notRunning, .noSuchLaunch, .illegalTransition, .ineligible, .spawnFailed, .backOff,
            .shuttingDown:
            "Failed"
        }
    }
}
