internal import Systemd

/// The reports of shells on the session's message bus, for desktops whose scripts can call a method
/// there. The bus starts this program at the first call, and lets only the session's user call.
///
///     ReportProcess (number)   the process whose window has the focus
///     ReportApp (s)            the app, by its identifier
///     ReportNone ()            no app has it
///     Prepare (s)              the app, by its identifier, is about to be launched
///
/// Each report replaces the caller's former one, and holds until the caller leaves the bus. The
/// latest report of all counts.
final class BusDisplay: Display {
    private enum Name {
        static let own = "io.greenroom.Foreground"
        static let path = "/io/greenroom/Foreground"
        static let introspectable = "org.freedesktop.DBus.Introspectable"
        static let error = "org.freedesktop.DBus.Error."
    }
    /// At most this many shells report at a time. A login session has one.
    private static let callerLimit = 16
    /// The call that started this program must come within this time, and, while no shell reports,
    /// so must each next hint.
    private static let patience: Duration = .seconds(5)

    private let bus: ServiceBus
    /// Passes on a hint that the app will be launched; false if no daemon takes it.
    private let prepare: (String) -> Bool
    private let present: BusCallers
    /// The reports, the latest last.
    private var reports: [(caller: String, front: Front?)] = []

    var descriptor: CInt { bus.descriptor }
    private(set) var hasMore = false

    init(prepare: @escaping (String) -> Bool) throws(DisplayFailure) {
        self.prepare = prepare
        let isOwner: Bool
        do throws(SystemdError) {
            bus = try ServiceBus()
            present = try BusCallers(on: bus)
            isOwner = try bus.request(Name.own)
        } catch {
            throw .unusable("the session's message bus: \(error)")
        }
        guard isOwner else {
            throw .unusable("another process has the name \(Name.own)")
        }
        do throws(SystemdError) {
            while reports.isEmpty, let call = try bus.next(within: Self.patience) {
                try answer(call)
            }
        } catch {
            throw .ended
        }
    }

    func front() throws(DisplayFailure) -> Front? {
        do throws(SystemdError) {
            try answerCalls()
            if !hasMore, reports.isEmpty {
                // A call that comes from now on starts another process; this one answers those before.
                try bus.release(Name.own)
                repeat { try answerCalls() } while hasMore
                // Another process may have the name by now.
                if !reports.isEmpty, try !bus.request(Name.own) { reports = [] }
            }
        } catch {
            throw .ended
        }
        guard hasMore || !reports.isEmpty else { throw .ended }
        return reports.last?.front
    }

    private func answerCalls() throws(SystemdError) {
        hasMore = true
        for _ in 0..<DisplayStream.messageLimit {
            guard let call = try bus.next(within: .zero) else {
                hasMore = false
                break
            }
            try answer(call)
        }
        reports.removeAll { !present.contains($0.caller) }
    }

    // MARK: Calls

    private func answer(_ call: BusCall) throws(SystemdError) {
        if call.interface == Name.introspectable, call.member == "Introspect" {
            return try call.reply(
                Introspection.text(
                    at: call.path, object: Name.path, interfaces: Self.interfaces))
        }
        guard call.path == Name.path, [Name.own, ""].contains(call.interface) else {
            return try call.fail(
                Name.error + "UnknownObject",
                "there is one object, \(Name.path), with the interface \(Name.own)")
        }
        let front: Front?
        switch (call.member, call.signature) {
        case ("ReportProcess", "i"), ("ReportProcess", "u"), ("ReportProcess", "x"),
            ("ReportProcess", "t"), ("ReportProcess", "d"):
            guard let process = call.number().flatMap(Int32.init(exactly:)), process > 0 else {
                return try call.fail(
                    Name.error + "InvalidArgs", "not the number of a process (1 or more)")
            }
            front = .process(process)
        case ("ReportApp", "s"): front = call.string().map { .app($0) }
        case ("ReportNone", ""): front = nil
        case ("Prepare", "s"): return try passOnHint(call)
        case _:
            return try call.fail(
                Name.error + "UnknownMethod",
                "\(Name.own) has no \(call.member)(\(call.signature))")
        }
        try note(front, of: call)
    }

    private func passOnHint(_ call: BusCall) throws(SystemdError) {
        let app = call.string() ?? ""
        guard prepare(app) else {
            return try call.fail(
                Name.error + "Failed",
                "no greenroomd prepares \(app); \"greenroomctl prepare \(app)\" says why")
        }
        try call.reply()
    }

    private func note(_ front: Front?, of call: BusCall) throws(SystemdError) {
        let caller = call.sender
        reports.removeAll { $0.caller == caller || !present.contains($0.caller) }
        guard reports.count < Self.callerLimit else {
            return try call.fail(
                Name.error + "LimitsExceeded", "\(Self.callerLimit) shells report already")
        }
        if !present.contains(caller) { try present.add(caller) }
        reports.append((caller, front))
        try call.reply()
    }

    private static let interfaces = """
         <interface name="io.greenroom.Foreground">
          <method name="ReportProcess">
           <arg type="i" name="process" direction="in"/>
          </method>
          <method name="ReportApp">
           <arg type="s" name="app" direction="in"/>
          </method>
          <method name="ReportNone"/>
          <method name="Prepare">
           <arg type="s" name="app" direction="in"/>
          </method>
         </interface>
        """
}
