import GreenroomManifest
import Testing
import UnitFile

/// `[Supervision]` and `[Dependencies]`.
@Suite struct `Supervision settings` {
    private func parse(
        _ text: String, _ identifier: String = "a.b"
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        AppManifest.parse("[App]\nExec=/bin/true\n" + text, file: "/\(identifier).app")
    }

    @Test func `all keys are read, and a manifest without any has no settings`() throws {
        #expect(parse("").manifest?.supervision == nil)
        let settings = try #require(
            parse(
                """
                [Supervision]
                Restart=on-abnormal
                RestartSec=2
                RestartMaxDelaySec=1min
                StartLimitBurst=3
                StartLimitIntervalSec=30
                SuccessExitStatus=3 SIGUSR1
                RestartPreventExitStatus=64 KILL
                """
            ).manifest?.supervision)
        #expect(settings.restart == .onAbnormal)
        #expect(settings.restartDelay == .seconds(2))
        #expect(settings.maximumDelay == .seconds(60))
        #expect(settings.startLimitBurst == 3)
        #expect(settings.startLimitInterval == .seconds(30))
        #expect(settings.success.statuses == [3] && settings.success.signals == [10])
        #expect(settings.preventing.statuses == [64] && settings.preventing.signals == [9])
    }

    @Test(arguments: [
        ("Restart=on-crash", "4:9: Restart=: 'on-crash' is not one of no, on-failure, on-abnormal"),
        ("StartLimitBurst=17", "4:17: StartLimitBurst=: '17' is not a whole number from 0 to 16"),
        ("SuccessExitStatus=0 256", "4:21: SuccessExitStatus=: '256' is not an exit status"),
    ])
    func `a mistake is reported with its place`(line: String, complaint: String) {
        let diagnostics = parse("[Supervision]\n" + line).diagnostics
        #expect(diagnostics.count == 1)
        #expect(diagnostics[0].description.hasPrefix("/a.b.app:" + complaint))
    }

    private func apps(_ lines: [String: String]) -> [AppManifest] {
        lines.sorted { $0.key < $1.key }.compactMap {
            parse("[Dependencies]\n" + $0.value, $0.key).manifest
        }
    }

    @Test func `apps in a circle are refused, the circle is named, and the other apps stay`() {
        let (kept, diagnostics) = AppManifest.withoutCircles(
            apps([
                "a.a": "After=a.b", "a.b": "Requires=a.c", "a.c": "Requires=a.a",
                "a.d": "Requires=a.a",
            ]))
        #expect(kept.map(\.identifier) == ["a.d"])
        #expect(
            diagnostics.map(\.description) == [
                "/a.a.app:4:7: the apps wait for each other in a circle: a.a -> a.b -> a.c -> a.a; "
                    + "take one of these out of After= or Requires=",
                "/a.b.app:4:10: the apps wait for each other in a circle: a.b -> a.c -> a.a -> a.b; "
                    + "take one of these out of After= or Requires=",
                "/a.c.app:4:10: the apps wait for each other in a circle: a.c -> a.a -> a.b -> a.c; "
                    + "take one of these out of After= or Requires=",
            ])
    }

    @Test func `an unknown app is a warning`() {
        let (kept, diagnostics) = AppManifest.withoutCircles(apps(["a.a": "Conflicts=x.y"]))
        #expect(kept.count == 1)
        #expect(
            diagnostics.map(\.description) == [
                "/a.a.app:4:11: warning: no app x.y is installed; ignoring it until it is"
            ])
    }

    @Test func `sockets are read in the order of the file`() throws {
        let socket = try #require(
            parse(
                """
                [Socket]
                ListenStream=/run/x
                ListenDatagram=@y
                ListenStream=[::1]:80
                ListenSequentialPacket=/run/z
                FileDescriptorName=front
                SocketMode=0600
                Backlog=7
                Accept=no
                RemoveOnStop=yes
                """
            ).manifest?.socket)
        #expect(
            socket.listeners.map { "\($0.kind.rawValue)=\($0.address)" } == [
                "ListenStream=/run/x", "ListenDatagram=@y", "ListenStream=[::1]:80",
                "ListenSequentialPacket=/run/z",
            ])
        #expect(socket.name == "front" && socket.mode == 0o600 && socket.backlog == 7)
        #expect(socket.removesOnStop)
    }

    @Test(arguments: [
        ("Accept=yes", "4:8: Accept=: only no is supported: the app accepts by itself"),
        ("KeepAlive=yes", "4:11: KeepAlive=: is not supported; remove it"),
        ("ListenStream=relative", "4:14: ListenStream=: 'relative' is not a socket address: /path"),
        ("ListenSequentialPacket=80", "4:24: ListenSequentialPacket=: '80' must be a path"),
        ("FileDescriptorName=a:b", "4:20: FileDescriptorName=: 'a:b' is not the name of"),
    ])
    func `an unsupported socket is refused`(line: String, complaint: String) {
        let diagnostics = parse("[Socket]\n" + line).diagnostics
        #expect(diagnostics.count == 1)
        #expect(diagnostics[0].description.hasPrefix("/a.b.app:" + complaint))
    }
}
