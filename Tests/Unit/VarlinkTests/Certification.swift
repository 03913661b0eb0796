import Glibc
import GreenroomLinux
import Synchronization
import TestSupport
import Varlink
import VarlinkTestSupport

private let prefix = "org.varlink.certification."

/// The examiner of the certification: it knows what each call must be, and the reply to it.
final class Certification: Sendable {
    struct Fault: CallError {
        let name: String
        let parameters: JSONObject
        func encodeMembers(to writer: inout JSONWriter) { parameters.encodeMembers(to: &writer) }
    }

    private struct Progress {
        var next: [String: Int] = [:]
        var passed = 0
    }

    private let service: Service
    private let progress = Mutex(Progress())

    init(description: String) throws {
        let interface = try Interface(parsing: description, dialect: .whole)
        service = Service(
            vendor: "Greenroom", product: "certification", version: "1",
            url: "https://example.org/", descriptions: [interface.name: interface.text])
    }

    /// How many clients came to the end without a mistake.
    var passed: Int { progress.withLock(\.passed) }

    func answer(_ call: Call) -> TestServer.Answer {
        if let reply = service.reply(to: call) { return reply }
        do throws(Fault) {
            return try examine(call)
        } catch {
            return .fail(error)
        }
    }

    private func examine(_ call: Call) throws(Fault) -> TestServer.Answer {
        let name = call.method.dropFirst(prefix.count)
        guard let step = Self.steps.firstIndex(where: { $0.method == name }) else {
            throw Fault(name: "org.varlink.service.MethodNotFound", parameters: [:])
        }
        if step == 0 { return .reply([["client_id": .string(newClient())] as JSONObject]) }
        guard case .string(let client)? = call.parameters["client_id"] else {
            throw Fault(name: prefix + "ClientIdError", parameters: [:])
        }
        try advance(client, to: step, call)
        if step == Self.steps.count - 1 { progress.withLock { $0.passed += 1 } }
        return .reply(Self.steps[step].replies)
    }

    private func newClient() -> String {
        progress.withLock {
            let name = "client\($0.next.count)"
            $0.next[name] = 1
            return name
        }
    }

    private func advance(_ client: String, to step: Int, _ call: Call) throws(Fault) {
        guard let next = progress.withLock({ $0.next[client] }) else {
            throw Fault(name: prefix + "ClientIdError", parameters: [:])
        }
        var wanted = Call(method: prefix + Self.steps[next].method)
        wanted.parameters = Self.steps[next].parameters
        wanted.parameters["client_id"] = .string(client)
        wanted.wantsMore = Self.steps[next].method == "Test10"
        wanted.isOneway = Self.steps[next].method == "Test11"
        guard next == step, Self.withoutNulls(call) == wanted else {
            throw Fault(
                name: prefix + "CertificationError",
                parameters: ["wants": wanted.value, "got": call.value])
        }
        progress.withLock { $0.next[client] = next + 1 }
    }

    /// A client may send null or leave it out.
    private static func withoutNulls(_ call: Call) -> Call {
        guard case .object(var type)? = call.parameters["mytype"] else { return call }
        var call = call
        for name in ["nullable", "nullable_array_struct"] where type[name] == .null {
            type[name] = nil
        }
        call.parameters["mytype"] = .object(type)
        return call
    }

    private typealias Step = (method: String, parameters: JSONObject, replies: [JSONObject])

    /// The steps in their order. The parameters of a call are the reply to the call before it.
    private static let steps: [Step] = {
        let values: JSONObject = [
            "bool": false, "int": 2, "float": .double(.pi), "string": "a lot of string",
        ]
        let map: JSONObject = ["map": ["foo": "Foo", "bar": "Bar"]]
        let set: JSONObject = ["set": ["one": [:], "two": [:], "three": [:]]]
        let type: JSONObject = [
            "mytype": [
                "object": ["method": .string(prefix + "Test09"), "parameters": .object(map)],
                "enum": "two", "struct": ["first": 1, "second": "2"],
                "array": ["one", "two", "three"], "dictionary": ["foo": "Foo", "bar": "Bar"],
                "stringset": ["one": [:], "two": [:], "three": [:]],
                "interface": [
                    "foo": [
                        nil, ["foo": "foo", "bar": "bar"], nil, ["one": "foo", "two": "bar"],
                    ],
                    "anon": ["foo": true, "bar": false],
                ],
            ]
        ]
        let texts = (1...10).map { JSONValue.string("Reply number \($0)") }
        return [
            ("Start", [:], []),
            ("Test01", [:], [["bool": true]]),
            ("Test02", ["bool": true], [["int": 1]]),
            ("Test03", ["int": 1], [["float": 1.0]]),
            ("Test04", ["float": 1.0], [["string": "ping"]]),
            ("Test05", ["string": "ping"], [values]),
            ("Test06", values, [["struct": .object(values)]]),
            ("Test07", ["struct": .object(values)], [map]),
            ("Test08", map, [set]),
            ("Test09", set, [type]),
            ("Test10", type, texts.map { ["string": $0] }),
            ("Test11", ["last_more_replies": .array(texts)], [[:]]),
            ("End", [:], [["all_ok": true]]),
        ]
    }()
}

extension Call {
    /// The call as it is in its message.
    fileprivate var value: JSONValue {
        var writer = JSONWriter()
        encode(to: &writer)
        return (try? JSONValue(parsing: writer.text)) ?? .null
    }
}

extension Service {
    /// The answer to a call that every service must answer; nil for calls to its own interfaces.
    func reply(to call: Call) -> TestServer.Answer? {
        var connection = ServerConnection()
        var writer = JSONWriter()
        call.encode(to: &writer)
        connection.receive(writer.bytes + [0])
        guard let call = connection.nextCall(), answer(call, on: &connection) else { return nil }
        let text = connection.withOutput { span, _ in
            String(decoding: span.indices.dropLast().map { span[$0] }, as: UTF8.self)
        }
        guard let text, let message = try? JSONValue(parsing: text) else { return .hangUp }
        guard case .object(let parameters)? = message["parameters"] else { return .hangUp }
        if case .string(let name)? = message["error"] {
            return .fail(Certification.Fault(name: name, parameters: parameters))
        }
        return .reply([parameters])
    }
}

/// A client that passes each reply on to the next call.
final class Examinee {
    private let socket: UnixSocket
    private var connection = ClientConnection()
    private var client: JSONValue = nil

    init(_ path: String) throws {
        socket = try UnixSocket.connect(to: path, .stream, nonblocking: false)
    }

    func run() throws {
        var parameters = try call("Start")[0]
        client = parameters["client_id"] ?? nil
        for number in 1...9 { parameters = try call("Test0\(number)", parameters)[0] }
        let texts = try call("Test10", parameters, wantsMore: true).map { $0["string"] ?? nil }
        _ = try call("Test11", ["last_more_replies": .array(texts)], isOneway: true)
        guard try call("End")[0]["all_ok"] == true else { throw TestError("not all is well") }
    }

    private func call(
        _ method: String, _ parameters: JSONObject = [:], wantsMore: Bool = false,
        isOneway: Bool = false
    ) throws -> [JSONObject] {
        var parameters = parameters
        if method != "Start" { parameters["client_id"] = client }
        connection.call(
            Call(
                method: prefix + method, parameters: parameters, wantsMore: wantsMore,
                isOneway: isOneway))
        while let count = try send() { connection.sent(byteCount: count) }
        var replies: [JSONObject] = []
        while connection.isWaiting {
            guard let reply = connection.nextReply() else {
                try receive()
                continue
            }
            if let error = reply.error {
                throw TestError("\(method): \(error) \(reply.parameters)")
            }
            replies.append(reply.parameters)
        }
        return replies
    }

    private func send() throws -> Int? {
        let sent = try connection.withOutput { span, _ in
            try span.withUnsafeBytes { try socket.send($0) }
        }
        return sent ?? nil
    }

    private func receive() throws {
        if let violation = connection.violation { throw violation }
        guard try socket.descriptor.waitUntilReadable(milliseconds: 60_000) else {
            throw TestError("no reply")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let message = try buffer.withUnsafeMutableBytes { try socket.receive(into: $0) }
        guard let count = message?.byteCount, count > 0 else { throw TestError("hung up") }
        connection.receive(buffer.span.extracting(..<count))
    }
}
