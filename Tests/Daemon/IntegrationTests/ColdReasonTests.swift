import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Every launch that no paused instance serves says why.
@Suite struct ColdReasonTests {
    private static let app = "org.example.app"

    @Test func `a static program is ineligible, and explain gives the reason`() throws {
        let program = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-static"]), output: "static")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let client = try daemon.client()
        let (launched, text, exit) = try client.run(Self.app, ["print", "x", "exit", "5"])
        #expect(launched.kind == .cold && launched.coldReason == .ineligible)
        #expect(text == "x\n" && exit.status == 5)
        let explanation = try client.explain(Self.app)
        #expect(!explanation.isEligible)
        #expect(explanation.reasons.map(\.code) == ["statically_linked"])
        #expect(explanation.lastLaunch?.coldReason == .ineligible)
        let refusal = #expect(throws: ControlError.self) { try client.prewarm(Self.app) }
        #expect(
            refusal == .ineligible(app: Self.app, reason: explanation.reasons.first?.text))
    }

    /// With these variables, the dynamic linker looks for files from its caller's directory, or
    /// prints something itself. A paused instance can do neither.
    @Test(arguments: [
        "LD_LIBRARY_PATH=:/usr/lib", "LD_LIBRARY_PATH=lib", "LD_PRELOAD=./x.so",
        "LD_AUDIT=lib/x.so", "LD_DEBUG=statistics", "LD_SHOW_AUXV=1", "LD_PROFILE=libc.so.6",
    ])
    func `a launch whose environment depends on its directory is cold, and the pool stays`(
        variable: String
    ) throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let client = try daemon.client()
        for _ in 0..<2 {
            let (launched, _, _) = try client.run(Self.app) {
                $0.callerEnvironment = [.text("PATH=/bin"), .text(variable)]
            }
            #expect(launched.kind == .cold && launched.coldReason == .environmentMismatch)
        }
        #expect(try client.run(Self.app).launched.instance == paused.instance)
    }

    @Test func `a launch with another environment is cold, and the pool follows it`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let client = try daemon.client()
        let french: (inout Control.LaunchCall) -> Void = {
            $0.environment = [.init(name: "LC_ALL", value: "fr_FR.UTF-8")]
        }
        let (launched, _, _) = try client.run(Self.app, [], french)
        #expect(launched.kind == .cold && launched.coldReason == .environmentMismatch)
        try daemon.await("a pool of the new environment") { client in
            try client.paused(Self.app).contains { $0.instance > launched.instance } ? true : nil
        }
        let explained = try #require(try client.explain(Self.app).lastLaunch)
        #expect(explained.differingVariables == ["LC_ALL"])
        #expect(daemon.log.contains("cold (environment_mismatch: LC_ALL)"))
        #expect(try client.wait(paused.instance).signal == SIGKILL)
        #expect(try client.run(Self.app, [], french).launched.kind == .prewarmed)
        // Variables that are not read before main make no difference.
        try daemon.awaitPaused(Self.app)
        let (third, _, _) = try client.run(Self.app) {
            $0.environment = [
                .init(name: "LC_ALL", value: "fr_FR.UTF-8"), .init(name: "OTHER", value: "1"),
            ]
        }
        #expect(third.kind == .prewarmed)
        // An instance is kept for an environment that was used: a terminal's, in addition to the
        // session's.
        try daemon.awaitPaused(Self.app)
        #expect(try client.run(Self.app).launched.kind == .cold)
        try daemon.awaitPaused(Self.app, count: 2)
        #expect(try client.run(Self.app, [], french).launched.kind == .prewarmed)
        try daemon.awaitPaused(Self.app, count: 2)
        #expect(try client.run(Self.app).launched.kind == .prewarmed)
    }

    @Test(arguments: ["DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN"])
    func `a token of one launch reaches a paused instance`(name: String) throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/usr/bin/env", prewarm: 1))
        let client = try daemon.client()
        for token in ["one", "two"] {
            try daemon.awaitPaused(Self.app)
            let (launched, text, _) = try client.run(Self.app) {
                $0.environment = [.init(name: .text(name), value: .text(token))]
            }
            #expect(launched.kind == .prewarmed, "\(token)")
            #expect(text.split(separator: "\n").contains("\(name)=\(token)"))
        }
    }

    @Test func `a launch before the first prewarm is cold because no instance is ready`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, prewarmLines: ["When=demand"]))
        let (launched, _, _) = try daemon.client().run(Self.app)
        #expect(launched.kind == .cold && launched.coldReason == .noneReady)
    }

    @Test func `a launch is cold because the manifest disables prewarming`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program))
        let client = try daemon.client()
        let (launched, _, _) = try client.run(Self.app)
        #expect(launched.kind == .cold && launched.coldReason == .prewarmingDisabled)
        #expect(try client.explain(Self.app).reasons.map(\.code) == ["disabled"])
    }

    /// The new program does not reach its pause, so that the pool stays as the change left it.
    @Test func `a launch is cold because the program changed, until the pool is refilled`() throws {
        let folder = try TemporaryDirectory()
        let program = try folder.script("old")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let client = try daemon.client()
        let source = try folder.write(
            """
            #include <unistd.h>
            #ifdef LIBRARY
            __attribute__((constructor)) static void wait(void) { for (;;) pause(); }
            #else
            int main(void) { return 0; }
            #endif
            """, to: "waits.c")
        try folder.copy(try compileWithLibrary(source: source), to: "program")
        #expect(try client.wait(paused.instance).reason == .stale)
        let launched = try client.launch(Self.app)
        #expect(launched.kind == .cold && launched.coldReason == .stale)
        try client.change(.kill, launched.instance)
    }

    @Test func `a launch is cold because a failed prewarm causes a back-off`() throws {
        let program = try compileWithLibrary(source: "\(packageRoot)/Tests/Probes/behave.c")
        var options = TestDaemon.Options()
        options.configuration = ["BackOffFirstSec=60"]
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, "Environment=BEHAVE_CONSTRUCTOR=exit"),
            options: options)
        try daemon.await("the back-off") {
            try $0.explain(Self.app).reasons.contains { $0.code == "back_off" } ? true : nil
        }
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        #expect(launched.kind == .cold && launched.coldReason == .backOff)
        let error = #expect(throws: ControlError.self) { try client.prewarm(Self.app) }
        guard case .backOff(Self.app, 1..., false, false) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
    }

    @Test func `a paused instance that does not start is replaced by a cold launch`() throws {
        let program = try compileProbe("behave.c")
        var options = TestDaemon.Options()
        options.configuration = ["StartDeadlineSec=200ms"]
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1), options: options)
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        kill(try #require(paused.processId), SIGSTOP)
        let client = try daemon.client()
        let (launched, text, exit) = try client.run(Self.app, ["print", "x", "exit", "6"])
        #expect(launched.kind == .cold && launched.coldReason == .resumeFailed)
        #expect(text == "x\n" && exit.status == 6)
        #expect(try client.wait(paused.instance).reason == .resumeFailed)
    }
}
