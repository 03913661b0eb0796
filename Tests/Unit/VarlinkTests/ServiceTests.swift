import Testing
import Varlink
import VarlinkTestSupport

@Suite struct `A service` {
    private static let interface = Interface(
        trusted: """
            # For this test.
            interface org.example.test
            method Echo(text: string) -> (text: string)
            method Count(to: int) -> (n: int)
            error Odd (n: int)

            """)
    private static let service = Service(
        vendor: "V", product: "P", version: "1", url: "https://example.org/",
        descriptions: [interface.name: interface.text])

    private func answer(_ text: String) -> String {
        var connection = ServerConnection()
        connection.receive(Array(text.utf8) + [0])
        guard let call = connection.nextCall() else { return "no call" }
        guard Self.service.answer(call, on: &connection) else { return "not answered" }
        return connection.withOutput { span, _ in
            String(decoding: span.indices.dropLast().map { span[$0] }, as: UTF8.self)
        } ?? "nothing"
    }

    @Test func `a service answers the calls that every service must answer`() {
        #expect(
            answer(#"{"method":"org.varlink.service.GetInfo"}"#)
                == #"{"parameters":{"vendor":"V","product":"P","version":"1","#
                + #""url":"https://example.org/","#
                + #""interfaces":["org.example.test","org.varlink.service"]}}"#)
        #expect(
            answer(
                #"{"method":"org.varlink.service.GetInterfaceDescription","#
                    + #""parameters":{"interface":"org.example.test"}}"#
            ).hasPrefix(##"{"parameters":{"description":"# For this test.\ninterface "##))
        #expect(
            answer(
                #"{"method":"org.varlink.service.GetInterfaceDescription","#
                    + #""parameters":{"interface":"org.example.other"}}"#)
                == #"{"error":"org.varlink.service.InterfaceNotFound","#
                + #""parameters":{"interface":"org.example.other"}}"#)
        #expect(
            answer(#"{"method":"org.varlink.service.GetInfo","parameters":{"x":1}}"#)
                == #"{"error":"org.varlink.service.InvalidParameter","#
                + #""parameters":{"parameter":"x"}}"#)
        #expect(
            answer(#"{"method":"org.varlink.service.Get"}"#)
                == #"{"error":"org.varlink.service.MethodNotFound","#
                + #""parameters":{"method":"org.varlink.service.Get"}}"#)
        #expect(
            answer(#"{"method":"org.example.other.Get"}"#)
                == #"{"error":"org.varlink.service.InterfaceNotFound","#
                + #""parameters":{"interface":"org.example.other"}}"#)
        #expect(answer(#"{"method":"org.example.test.Echo"}"#) == "not answered")
    }

    private struct Odd: CallError {
        let n: Int64
        let name = "org.example.test.Odd"
        func encodeMembers(to writer: inout JSONWriter) { writer.member("n", n) }
    }

    @Test(.enabled(if: PythonClient.isThere))
    func `the Python client understands a service`() throws {
        let server = try TestServer { incoming in
            let call = incoming.call
            if call.interfaceName == "org.varlink.service" {
                var connection = ServerConnection()
                var writer = JSONWriter()
                call.encode(to: &writer)
                connection.receive(writer.bytes + [0])
                _ = connection.nextCall()
                _ = Self.service.answer(call, on: &connection)
                let text = connection.withOutput { span, _ in
                    String(decoding: span.indices.dropLast().map { span[$0] }, as: UTF8.self)
                }
                guard let text,
                    case .object(let reply)? = try? JSONValue(parsing: text)["parameters"]
                else { return .hangUp }
                return .reply([reply])
            }
            switch call.method {
            case "org.example.test.Echo": return .reply([call.parameters])
            case "org.example.test.Count":
                guard case .integer(let n)? = call.parameters["to"] else { return .hangUp }
                if n % 2 == 1 { return .fail(Odd(n: n)) }
                return .reply((1...n).map { ["n": .integer($0)] as JSONObject })
            case _: return .fail(ServiceError.methodNotFound(call.method))
            }
        }
        let result = PythonClient.run(
            """
            import sys, varlink
            with varlink.Client.new_with_address("unix:" + sys.argv[1]) as client:
                with client.open("org.varlink.service") as service:
                    info = service.GetInfo()
                print(info["product"], info["interfaces"])
                with client.open("org.example.test") as test:
                    print(test.Echo(text="é\\n\\"\\U0001F600")["text"] == "é\\n\\"\\U0001F600")
                    print([reply["n"] for reply in test.Count(4, _more=True)])
                    try:
                        test.Count(3)
                    except varlink.VarlinkError as error:
                        print(error.error(), error.parameters())
            """, arguments: [server.path])
        #expect(
            result.output.split(separator: "\n") == [
                "P ['org.example.test', 'org.varlink.service']", "True", "[1, 2, 3, 4]",
                "org.example.test.Odd {'n': 3}",
            ])
        #expect(result.status == 0)
    }
}
