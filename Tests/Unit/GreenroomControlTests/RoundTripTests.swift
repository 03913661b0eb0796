import GreenroomControl
import Testing
import Varlink

private func object(_ value: some ParametersEncodable) throws -> JSONObject {
    var writer = JSONWriter()
    writer.beginObject()
    value.encodeMembers(to: &writer)
    writer.endObject()
    guard case .object(let object) = try JSONValue(parsing: writer.text) else { return [:] }
    return object
}

private func lastName(_ name: String) -> String { String(name.split(separator: ".").last!) }

@Suite struct `Typed messages` {
    @Test(arguments: Samples.calls)
    func `calls are written and read back, as described`(call: ControlCall) throws {
        let parameters = try object(call)
        try Control.interface.check(input: parameters, of: lastName(call.method))
        let message = Call(
            method: call.method, parameters: parameters, wantsMore: call.wantsMore,
            descriptorCount: 3)
        #expect(try ControlCall(message) == call)
    }

    @Test(arguments: Samples.replies)
    func `replies are written and read back, as described`(
        reply: ControlReply, call: ControlCall
    ) throws {
        let parameters = try object(reply)
        try Control.interface.check(output: parameters, of: lastName(call.method))
        #expect(try ControlReply(parameters, to: call) == reply)
        var newer = parameters
        newer["memberOfTheFuture"] = 1
        #expect(try ControlReply(newer, to: call) == reply)
    }

    @Test(arguments: Samples.errors)
    func `errors are written and read back, as described`(error: ControlError) throws {
        let parameters = try object(error)
        try Control.interface.check(error: parameters, of: lastName(error.name))
        #expect(try ControlError(Reply(error: error.name, parameters: parameters)) == error)
    }

    @Test func `unknown words from a newer daemon are kept`() throws {
        let member = "word_of_the_future"
        let instance: JSONObject = [
            "instance": 1, "app": "a.b", "state": .string(member), "sinceTimestampUSec": 1,
            "kind": .string(member), "coldReason": .string(member), "attached": false,
            "exit": [
                "reason": .string(member), "coreDumped": false, "lastState": .string(member),
                "timestampUSec": 1,
            ],
        ]
        let status: JSONObject = ["instances": [.object(instance)]]
        #expect(try object(ControlReply(status, to: .status(nil))) == status)
        let event: JSONObject = [
            "sequence": 1, "timestampUSec": 1, "kind": .string(member), "from": .string(member),
            "launchKind": .string(member), "text": "new", "activation": .string(member),
        ]
        #expect(
            try object(ControlReply(["event": .object(event)], to: .watch())) == [
                "event": .object(event)
            ])
        let error: JSONObject = ["instance": 1, "from": .string(member), "to": "active"]
        let reply = Reply(error: "io.greenroom.Control.IllegalTransition", parameters: error)
        let decoded = try #require(try ControlError(reply))
        #expect(try object(decoded) == error)
        #expect(decoded.description.contains(member))
    }

    @Test func `every method and error of the description has a typed message`() {
        let methods = Set(Samples.calls.map { lastName($0.method) })
        #expect(methods == Set(Control.interface.methods.keys))
        let errors = Set(Samples.errors.map { lastName($0.name) })
        #expect(errors == Set(Control.interface.errors.keys))
    }

    @Test func `an error of another interface is not read as one of this interface`() throws {
        #expect(try ControlError(Reply(error: "org.varlink.service.PermissionDenied")) == nil)
        #expect(try ControlError(Reply(error: "io.greenroom.Control.Newer")) == nil)
        #expect(try ControlError(Reply()) == nil)
    }

    @Test(
        arguments: [
            ("Launch", [:], "app"),
            ("Launch", ["app": ""], "app"),
            ("Launch", ["app": 1], "app"),
            ("Launch", ["app": nil], "app"),
            ("Launch", ["app": "a\u{0}b"], "app"),
            ("Launch", ["app": "a", "arguments": "x"], "arguments"),
            ("Launch", ["app": "a", "arguments": [1]], "arguments"),
            ("Launch", ["app": "a", "arguments": ["x\u{0}"]], "arguments"),
            ("Launch", ["app": "a", "environment": ["A": 1]], "environment"),
            ("Launch", ["app": "a", "environment": ["A=B": "1"]], "environment"),
            ("Launch", ["app": "a", "environment": ["": "1"]], "environment"),
            ("Launch", ["app": "a", "environment": ["A": "\u{0}"]], "environment"),
            ("Launch", ["app": "a", "umask": 512], "umask"),
            ("Launch", ["app": "a", "umask": -1], "umask"),
            ("Launch", ["app": "a", "umask": 18.0], "umask"),
            ("Launch", ["app": "a", "background": 1], "background"),
            ("Launch", ["app": "a", "launchIdentifier": ""], "launchIdentifier"),
            ("Launch", ["app": "a", "launchIdentifier": "a b"], "launchIdentifier"),
            ("Launch", ["app": "a", "standardInputDescriptor": 2], "standardInputDescriptor"),
            ("Launch", ["app": "a", "standardErrorDescriptor": -1], "standardErrorDescriptor"),
            ("Launch", ["app": "a", "nonsense": 1], "nonsense"),
            ("Status", ["app": "a", "instance": 1], "instance"),
            ("Status", ["instance": -1], "instance"),
            ("Status", ["apps": 1], "apps"),
            ("Suspend", [:], "app"),
            ("Suspend", ["app": nil], "app"),
            ("Kill", ["app": 1], "app"),
            ("Wait", [:], "instance"),
            ("Wait", ["instance": 1, "launchIdentifier": "a"], "launchIdentifier"),
            ("Signal", ["instance": 1], "signal"),
            ("Signal", ["signal": 1], "instance"),
            ("Signal", ["instance": 1, "signal": 0], "signal"),
            ("Signal", ["instance": 1, "signal": 65], "signal"),
            ("Prewarm", [:], "app"),
            ("Prewarm", ["app": "a", "count": 0], "count"),
            ("Prewarm", ["app": "a", "count": 17], "count"),
            ("Explain", [:], "app"),
            ("Explain", ["app": "a", "x": 1], "x"),
            ("List", ["x": 1], "x"),
            ("Watch", ["x": 1], "x"),
        ] as [(String, JSONObject, String)])
    func `an invalid parameter is refused by its name`(
        method: String, parameters: JSONObject, name: String
    ) {
        let call = Call(
            method: "io.greenroom.Control." + method, parameters: parameters, wantsMore: true,
            descriptorCount: 2)
        #expect(throws: ServiceError.invalidParameter(name)) { try ControlCall(call) }
    }

    @Test func `null for an optional parameter of Launch is the same as its absence`() throws {
        func nulls(for fields: [Interface.Field]) -> JSONObject {
            var object = JSONObject()
            for field in fields {
                if case .optional = field.type { object[field.name] = JSONValue.null }
            }
            return object
        }
        let method = try #require(Control.interface.methods["Launch"])
        var parameters = nulls(for: method.input)
        #expect(!parameters.isEmpty)
        parameters["app"] = "a"
        var launch = Control.LaunchCall(app: "a")
        let name = "io.greenroom.Control.Launch"
        #expect(try ControlCall(Call(method: name, parameters: parameters)) == .launch(launch))

        let type = try #require(Control.interface.types["CallerState"])
        guard case .structure(let fields) = type else {
            Issue.record("CallerState is not a structure")
            return
        }
        #expect(!nulls(for: fields).isEmpty)
        parameters["callerState"] = .object(nulls(for: fields))
        launch.callerState = Control.CallerState()
        #expect(try ControlCall(Call(method: name, parameters: parameters)) == .launch(launch))
    }

    @Test func `an unknown method is refused, and so is Watch without a stream`() {
        for method in ["Lunch", "", "launch", "Launch.x"] {
            let name = "io.greenroom.Control." + method
            #expect(throws: ServiceError.methodNotFound(name)) {
                try ControlCall(Call(method: name))
            }
        }
        #expect(throws: ServiceError.methodNotFound("io.greenroom.Contro")) {
            try ControlCall(Call(method: "io.greenroom.Contro"))
        }
        #expect(throws: ServiceError.expectedMore) {
            try ControlCall(Call(method: "io.greenroom.Control.Watch"))
        }
    }

    @Test func `an error's message says what went wrong and what to do`() {
        #expect(
            Samples.errors.map(\.description) == [
                "no app ffmpg is installed; did you mean org.ffmpeg.ffmpeg?",
                "no app x is installed; \"greenroomctl list\" shows all that are",
                "a.b is not running; start it with \"greenroomctl launch a.b\"",
                "there is no instance 7; \"greenroomctl status\" shows all instances",
                "no launch abc is known; it was never made, or was forgotten",
                "instance 1 is terminating and cannot become suspended from there",
                "a.b cannot be prewarmed; \"greenroomctl explain a.b\" says why",
                "it ended before it was ready",
                "you may not do this; it requires membership in the group greenroom",
                "the program could not be started: entering cgroup: permission denied (errno 13)",
                "a.b failed recently; try again in 2 s", "a.b keeps crashing; try again in 1 s",
                "the memory of a.b was taken back recently, so it is not prewarmed yet; "
                    + "try again in 1 s",
                "the limit of 2048 instances is reached; use fewer, or end some first",
                "the daemon is shutting down; try again when it is back",
            ])
    }

    @Test func `a limit of one message asks for a smaller message`() {
        #expect(
            ControlError.limitExceeded(what: "values in one message", limit: 80_000).description
                == "the limit of 80000 values in one message is reached; send less at once, such as "
                + "fewer or shorter arguments")
    }

    @Test(arguments: [
        (0, "0"), (1, "1"), (1_000_000, "1"), (1_000_001, "2"), (-5, "0"),
        (Int64.max, "9223372036855"), (.min, "-9223372036854"),
    ])
    func `a wait of any length is shown in seconds`(microseconds: Int64, seconds: String) {
        let error = ControlError.backOff(
            app: "a.b", retryAfterUSec: microseconds, isCrashLooping: false)
        #expect(error.description == "a.b failed recently; try again in \(seconds) s")
    }
}
