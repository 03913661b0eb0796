public import Systemd
internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux

/// `org.freedesktop.Application` of one app (Desktop Entry Specification, "D-Bus Activation"). The
/// bus starts this program when somebody calls the app's name. The program passes the calls on to
/// greenroomd, and ends soon after the last one. So a name costs nothing while nobody calls it, and
/// callers have only the rights of the session's user.
///
///                   made with an SDK       another program, DBusActivatable=true
///     Activate      Launch                 Launch
///     Open          Open, with the app     Launch with the files
///     ActivateAction  PerformAction        Launch with the action
///     Interrupt,      the calls of         (has its own service)
///     EndInterruption the same name
///
/// A program that owns its bus name takes it when it runs. So this program gives up the name before
/// the launch, and never takes it while an instance is running.
public struct ApplicationService {
    private enum Name {
        static let application = "org.freedesktop.Application"
        /// For a desktop's shell, because freedesktop.org's interface has no such methods.
        static let own = "io.greenroom.Application"
        static let introspectable = "org.freedesktop.DBus.Introspectable"
        static let error = "org.freedesktop.DBus.Error."
    }
    /// How long to wait for the next call, which is long enough for the second call of a launcher.
    private static let patience: Duration = .seconds(5)
    /// How long a program may take until it owns its name, in milliseconds. A session's message bus
    /// waits as long.
    private static let startPatience: Int64 = 120_000

    let bus: ServiceBus
    let app: String
    let requests: ApplicationRequests

    public init(_ options: BusOptions) throws(SystemdError) {
        bus = try ServiceBus()
        app = options.app
        requests = ApplicationRequests(app: options.app, daemon: Daemon(path: options.socket))
    }

    /// Serves calls until none has come for a while.
    ///
    /// - Returns: false if the calls wait for a program that has ended without taking its name.
    ///   This process must then fail, so that the bus tells the callers; otherwise they would wait
    ///   until they time out.
    public func run() throws(SystemdError) -> Bool {
        let isProgram = requests.isProgram()
        // The program will take the name itself, and will get the waiting calls.
        if isProgram, let processes = requests.runningProcesses() {
            return try awaitOwner(processes)
        }
        // Another process already serves the name.
        guard try bus.request(app) else { return true }
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
        return true
    }

    /// Waits until a process owns the name.
    ///
    /// - Returns: false if all processes ended before that, or took too long.
    private func awaitOwner(_ processes: [ProcessDescriptor]) throws(SystemdError) -> Bool {
        try bus.watchOwner(of: app)
        let end = MonotonicClock.nanoseconds + UInt64(Self.startPatience) * 1_000_000
        var processes = processes
        while try !bus.isOwned(app) {
            let now = MonotonicClock.nanoseconds
            guard !processes.isEmpty, now < end else { return false }
            var entries = processes.map { PollEntry($0.descriptor.rawValue, POLLIN) }
            entries.append(PollEntry(bus.descriptor, POLLIN))
            do throws(SystemError) {
                try PollEntry.wait(&entries, milliseconds: CInt((end - now) / 1_000_000) + 1)
            } catch { return true }
            let ended = Set(entries.dropLast().filter(\.isReady).map(\.descriptor))
            processes.removeAll { ended.contains($0.descriptor.rawValue) }
            while let call = try bus.next(within: .zero) { try answer(call) }
        }
        return true
    }

    private var objectPath: String {
        "/" + String(app.map { $0 == "." ? "/" : $0 == "-" ? "_" : $0 })
    }

    private func answer(_ call: BusCall) throws(SystemdError) {
        if call.interface == Name.introspectable, call.member == "Introspect" {
            return try call.reply(
                Introspection.text(
                    at: call.path, object: objectPath, interfaces: Self.interfaces))
        }
        guard call.path == objectPath else {
            return try call.fail(
                Name.error + "UnknownObject", "\(app) has one object, \(objectPath)")
        }
        guard [Name.application, Name.own, ""].contains(call.interface) else {
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

    /// Returns false if the call is not a method of the interface.
    private func perform(_ call: BusCall) throws(DaemonFailure) -> Bool {
        switch (call.member, call.signature) {
        case ("Interrupt", "") where call.interface != Name.application:
            try requests.change(.interrupt)
        case ("EndInterruption", "") where call.interface != Name.application:
            try requests.change(.endInterruption)
        case _ where call.interface == Name.own: return false
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

    private static let interfaces = """
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
         <interface name="io.greenroom.Application">
          <method name="Interrupt"/>
          <method name="EndInterruption"/>
         </interface>
        """
}

// The two kinds of error have different types: a failure of the daemon is an answer to the caller,
// and a failure of the bus ends the program.
extension ApplicationService {
    private func reportDone(_ call: BusCall) throws(DaemonFailure) {
        do throws(SystemdError) { try call.reply() } catch { throw .unreachable("\(error)") }
    }

    private func reportUnknown(_ call: BusCall) throws(DaemonFailure) {
        do throws(SystemdError) {
            try call.fail(
                Name.error + "UnknownMethod",
                "\(call.interface.isEmpty ? Name.application : call.interface) has no "
                    + "\(call.member)(\(call.signature))")
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
