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
/// the launch, and never takes it while an instance is running. Such a program may have other objects
/// and interfaces. For a call to one of those, the command of the program's own service file is
/// started, and the call is passed on to it. If the bus starts several processes like this one, one
/// of them starts the program.
public struct ApplicationService {
    private enum Name {
        static let application = "org.freedesktop.Application"
        /// For a desktop's shell, because freedesktop.org's interface has no such methods.
        static let own = "io.greenroom.Application"
        static let introspectable = "org.freedesktop.DBus.Introspectable"
        /// Before the app: the name that the process owns which may start the program.
        static let starter = "io.greenroom.Starter."
        static let error = "org.freedesktop.DBus.Error."
    }
    /// How long to wait for the next call, which is long enough for the second call of a launcher.
    private static let patience: Duration = .seconds(5)
    /// How long a program may take until it owns its name, in milliseconds. A session's message bus
    /// waits as long.
    private static let startPatience: Int64 = 120_000
    /// The same for a program that a command has started elsewhere. It may never take the name, and
    /// until then, a user's click would wait, too.
    private static let elsewherePatience: Int64 = 10_000

    let bus: ServiceBus
    let app: String
    let requests: ApplicationRequests
    /// Empty also while only the daemon may start the program.
    private(set) var substitute: [String]

    public init(_ options: BusOptions) throws(SystemdError) {
        bus = try ServiceBus()
        app = options.app
        substitute = options.substitute
        requests = ApplicationRequests(app: options.app, daemon: Daemon(path: options.socket))
    }

    /// Serves calls until none has come for a while. If Greenroom cannot launch the app, the command
    /// of its own service file is executed in this process's place, before a call is taken. If the
    /// daemon does not answer soon, this is done only for an app without a manifest, because nothing
    /// would confine it. Any other app waits for the daemon for as long as the callers do.
    ///
    /// - Returns: false if the calls wait for a program that has ended without taking its name.
    ///   This process must then fail, so that the bus tells the callers; otherwise they would wait
    ///   until they time out.
    public mutating func run() throws(SystemdError) -> Bool {
        let kind: ApplicationRequests.Kind
        let mayExecute = !substitute.isEmpty && !requests.hasManifest
        do throws(DaemonFailure) {
            kind = try requests.kind(mayExecute ? .ofUser : .ofCaller)
        } catch {
            if mayExecute { executeSubstitute() }
            return try failCalls(because: error)
        }
        if kind == .absent, !substitute.isEmpty { executeSubstitute() }
        if !substitute.isEmpty, requests.mayBeConfined() { substitute = [] }
        guard kind == .program else {
            // Another process may already serve the name.
            guard try bus.request(app) else { return true }
            while let call = try bus.next(within: Self.patience) { try answer(call) }
            try bus.release(app)
            while let late = try bus.next(within: .zero) { try answer(late) }
            return true
        }
        guard try becomeStarter() else { return try bus.isOwned(app) }
        var others: [BusCall] = []
        let launched: [ProcessDescriptor]?
        do throws(DaemonFailure) { launched = try requests.runningProcesses() } catch {
            return try failCalls(because: error)
        }
        // The program will take the name itself, and will get the waiting calls.
        if let launched { return try passOn(&others, to: launched) }
        guard try bus.request(app) else { return true }
        var call = try bus.next(within: Self.patience)
        try bus.release(app)
        while let one = call {
            try take(one, &others)
            call = try bus.next(within: .zero)
        }
        if others.isEmpty { return true }
        let answered: [ProcessDescriptor]?
        do throws(DaemonFailure) { answered = try requests.runningProcesses() } catch {
            for call in others { try report(error, call) }
            return true
        }
        // An answer has launched the program.
        if let answered { return try passOn(&others, to: answered) }
        guard let child = start() else { return false }
        return try passOn(&others, to: [child], areChildren: true)
    }

    /// Answers the calls that wait with an error. Later ones have a process of their own.
    private func failCalls(because failure: DaemonFailure) throws(SystemdError) -> Bool {
        guard try bus.request(app) else { return true }
        var call = try bus.next(within: Self.patience)
        try bus.release(app)
        while let one = call {
            try report(failure, one)
            call = try bus.next(within: .zero)
        }
        return true
    }

    /// Makes this the only process that may start the program, until this process ends. From the time
    /// when a process like this one has given up the name until the program takes it, the bus starts
    /// a further one for each call.
    ///
    /// - Returns: false if the program owns its name already, or if it takes too long.
    private func becomeStarter() throws(SystemdError) -> Bool {
        try bus.watchOwner(of: app)
        let starter = Name.starter + app
        // A name may have 255 bytes.
        guard starter.utf8.count <= 255 else { return true }
        try bus.watchOwner(of: starter)
        let end = MonotonicClock.nanoseconds + UInt64(Self.startPatience) * 1_000_000
        while try !bus.request(starter) {
            let now = MonotonicClock.nanoseconds
            guard now < end, try !bus.isOwned(app) else { return false }
            try bus.wait(within: .nanoseconds(end - now))
            while let call = try bus.next(within: .zero) { try answer(call) }
        }
        return try !bus.isOwned(app)
    }

    /// Answers a call, or adds it to those that only the program itself can answer.
    private func take(_ call: BusCall, _ others: inout [BusCall]) throws(SystemdError) {
        if substitute.isEmpty || isOurs(call) { try answer(call) } else { others.append(call) }
    }

    private func isOurs(_ call: BusCall) -> Bool {
        (call.path == objectPath && Self.isServed(call.interface))
            || call.interface == Name.introspectable
    }

    private static func isServed(_ interface: String) -> Bool {
        [Name.application, Name.own, ""].contains(interface)
    }

    /// Waits until one of the processes owns the name, and makes it answer the calls.
    ///
    /// - Parameter areChildren: whether this process has started the processes. If such a one ends
    ///   with status 0, it has started the program elsewhere (`systemctl start`).
    /// - Returns: false if none has taken the name.
    private func passOn(
        _ calls: inout [BusCall], to processes: [ProcessDescriptor], areChildren: Bool = false
    ) throws(SystemdError) -> Bool {
        guard try awaitOwner(processes, areChildren: areChildren, &calls) else { return false }
        for call in calls { try bus.pass(call, to: app) }
        return true
    }

    /// Returns only if it failed (execvp(3)).
    private func executeSubstitute() {
        var words = unsafe substitute.map { unsafe strdup($0) } + [nil]
        unsafe execvp(substitute[0], &words)
        unsafe words.forEach { unsafe free($0) }
    }

    /// Starts the program by its own command (posix_spawnp(3)).
    private func start() -> ProcessDescriptor? {
        var words = unsafe substitute.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        guard unsafe posix_spawnp(&child, substitute[0], nil, nil, &words, environ) == 0 else {
            return nil
        }
        return try? ProcessDescriptor(pid: child)
    }

    /// Waits until a process owns the name.
    ///
    /// - Returns: false if all processes ended before that, or took too long.
    private func awaitOwner(
        _ processes: [ProcessDescriptor], areChildren: Bool, _ others: inout [BusCall]
    ) throws(SystemdError) -> Bool {
        var end = MonotonicClock.nanoseconds + UInt64(Self.startPatience) * 1_000_000
        var processes = processes
        var isElsewhere = false
        while try !bus.isOwned(app) {
            let now = MonotonicClock.nanoseconds
            guard isElsewhere || !processes.isEmpty, now < end else { return false }
            var entries = processes.map { PollEntry($0.descriptor.rawValue, POLLIN) }
            entries.append(PollEntry(bus.descriptor, POLLIN))
            do throws(SystemError) {
                try PollEntry.wait(&entries, milliseconds: CInt((end - now) / 1_000_000) + 1)
            } catch { return true }
            let ended = Set(entries.dropLast().filter(\.isReady).map(\.descriptor))
            for process in processes where ended.contains(process.descriptor.rawValue) {
                guard areChildren, (try? process.wait()) == .exited(0) else { continue }
                isElsewhere = true
                end = min(end, now + UInt64(Self.elsewherePatience) * 1_000_000)
            }
            processes.removeAll { ended.contains($0.descriptor.rawValue) }
            while let call = try bus.next(within: .zero) { try take(call, &others) }
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
        guard Self.isServed(call.interface) else {
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
        case .unreachable(let text), .disconnected(let text), .unanswered(let text):
            try call.fail(Name.error + "NoServer", text)
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
