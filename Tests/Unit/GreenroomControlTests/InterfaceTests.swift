import GreenroomControl
import Testing
import Varlink
import VarlinkTestSupport

extension Control {
    static let interface = Interface(trusted: interfaceText)
}

@Suite struct `The control interface` {
    @Test func `the control interface is described in Varlink's language`() {
        #expect(Control.interface.name == Control.interfaceName)
        #expect(Control.interface.methods.count == 42)
        #expect(Control.interface.errors.count == 11)
    }

    @Test(arguments: [
        ("ExecutionState", Control.ExecutionState.allCases.map(\.rawValue)),
        ("LaunchKind", Control.LaunchKind.allCases.map(\.rawValue)),
        ("ColdReason", Control.ColdReason.allCases.map(\.rawValue)),
        ("ExitReason", Control.ExitReason.allCases.map(\.rawValue)),
        ("EventKind", Control.EventKind.allCases.map(\.rawValue)),
        ("LaunchMetric", Control.LaunchMetric.allCases.map(\.rawValue)),
        ("PlanVerdict", Control.PlanVerdict.allCases.map(\.rawValue)),
        ("PlanTerm", Control.PlanTerm.allCases.map(\.rawValue)),
        ("MetricExit", Control.MetricExit.allCases.map(\.rawValue)),
        ("DiagnosticKind", Control.DiagnosticKind.allCases.map(\.rawValue)),
    ])
    func `the enumerations of the description have the same words as the code`(
        type: String, words: [String]
    ) {
        #expect(Control.interface.types[type] == .enumeration(words))
    }

    @Test(.enabled(if: PythonClient.isThere))
    func `the Python client reads the control interface`() throws {
        let service = Control.service(version: "1.2.3")
        let server = try TestServer { incoming in
            switch incoming.call.method {
            case "org.varlink.service.GetInfo":
                let names = service.descriptions.keys.sorted().map { JSONValue.string($0) }
                return .reply([
                    [
                        "vendor": .string(service.vendor), "product": .string(service.product),
                        "version": .string(service.version), "url": .string(service.url),
                        "interfaces": .array(names),
                    ] as JSONObject
                ])
            case "org.varlink.service.GetInterfaceDescription":
                return .reply([["description": .string(Control.interfaceText)] as JSONObject])
            case _:
                do throws(ServiceError) {
                    switch try ControlCall(incoming.call) {
                    case .launch(let launch):
                        return .fail(ControlError.noSuchApp(launch.app, suggestion: "a.b"))
                    case .watch:
                        return .reply([
                            ControlReply.watching(latest: 1),
                            ControlReply.watched(Samples.fullEvent),
                        ])
                    case .status: return .reply([ControlReply.status([Samples.fullInstance])])
                    case .describe, .list, .listAll, .listCalled, .prewarm, .wait, .transition,
                        .signal, .reload, .verify, .explain, .resetFailed, .application, .prepare,
                        .debugPressure,
                        .metrics, .task, .history, .forgetHistory,
                        .keepHistory, .forgetImports, .plan, .pauseHistory, .reportForeground:
                        return .fail(ControlError.shuttingDown)
                    }
                } catch {
                    return .fail(error)
                }
            }
        }
        let result = PythonClient.run(
            """
            import sys, varlink
            with varlink.Client.new_with_address("unix:" + sys.argv[1]) as client:
                with client.open("io.greenroom.Control") as control:
                    print(control.Status()["instances"][0]["exit"]["signal"])
                    print([(reply.get("event") or {}).get("text")
                           for reply in control.Watch(_more=True)])
                    for call in [
                        lambda: control.Launch(app="x.y", environment={"A": "1"}, umask=18),
                        lambda: control.Launch(app="x.y", umask=0o1000),
                        lambda: control.Watch(),
                        lambda: control.List(),
                    ]:
                        try:
                            call()
                        except varlink.VarlinkError as error:
                            print(error.error(), error.parameters())
            """, arguments: [server.path])
        #expect(
            result.output == """
                11
                [None, 'x']
                io.greenroom.Control.NoSuchApp {'app': 'x.y', 'suggestion': 'a.b'}
                org.varlink.service.InvalidParameter {'parameter': 'umask'}
                org.varlink.service.ExpectedMore {}
                io.greenroom.Control.ShuttingDown {}

                """)
    }
}
