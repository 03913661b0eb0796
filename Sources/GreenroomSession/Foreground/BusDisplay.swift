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
            while let call = try bus.next(within: .zero) { try answer(call) }
        } catch {
            throw .ended
        }
        reports.removeAll { !present.contains($0.caller) }
        guard let last = reports.last else { throw .ended }
        return last.front
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
