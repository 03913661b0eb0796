import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// `greenroomctl run --property`: a program that is not an app, with keys of a manifest.
@Suite struct TransientAppTests {
    private static func run(
        _ daemon: TestDaemon, _ words: String...
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        let client = try Programs.client
        let result = try TestSupport.run(
            ChildRequest(
                client, arguments: [client, "run"] + words,
                environment: [
                    "PATH=/usr/bin:/bin", "GREENROOM_SOCKET=\(daemon.socketPath)",
                ] + ChildRequest.sanitizerOptions), mergingErrors: true)
        return (result.exit, String(decoding: result.output, as: UTF8.self))
    }

    /// The remaining manifests.
    private static func files(_ daemon: TestDaemon) throws -> [String] {
        try FolderContents.names(in: daemon.appDirectory).filter { $0.hasPrefix("transient.") }
    }

    @Test func `the program runs with the keys, and its app is gone afterwards`() throws {
        let daemon = try TestDaemon([TestApp("org.example.app", exec: "/bin/sh")])
        let result = try Self.run(
            daemon, "-p", "Environment=GIVEN=here", "--property", "Prewarm.When=never", "sh",
            "--", "-c", "echo $GIVEN; exit 7")
        #expect(result.exit == .status(7))
        #expect(result.output == "here\n")
        #expect(try Self.files(daemon) == [])
        #expect(try daemon.client().list().map(\.identifier) == ["org.example.app"])
    }

    @Test func `a signal that ends the program ends the client, and the app is gone`() throws {
        let daemon = try TestDaemon([TestApp("org.example.app", exec: "/bin/sh")])
        let result = try Self.run(
            daemon, "-p", "Prewarm.When=never", "/bin/sh", "--", "-c", "kill -TERM $$")
        #expect(result.exit == .signal(SIGTERM))
        #expect(try Self.files(daemon) == [])
    }

    @Test func `several faults are on one line`() throws {
        let daemon = try TestDaemon([TestApp("org.example.app", exec: "/bin/sh")])
        let result = try Self.run(
            daemon, "-p", "App.NoSuchKey=1", "-p", "App.NoOther=1", "/bin/true")
        #expect(result.exit == .status(125))
        #expect(!result.output.contains("\\n"), "\(result.output)")
        #expect(result.output.contains("NoSuchKey=") && result.output.contains("NoOther="))
    }

    @Test(
        "A key that cannot be applied is refused, and nothing runs",
        arguments: [
            ("Nice", "it is not KEY=VALUE"), ("NoSuchKey=1", "no section has the key"),
            ("App.NoSuchKey=1", "unknown key NoSuchKey="), ("Instances=many", "Instances="),
        ])
    func refused(_ property: String, _ message: String) throws {
        let daemon = try TestDaemon([TestApp("org.example.app", exec: "/bin/sh")])
        let result = try Self.run(
            daemon, "-p", property, "/bin/sh", "--", "-c", "echo it ran")
        #expect(result.exit == .status(125))
        #expect(result.output.contains(message), "\(result.output)")
        #expect(!result.output.contains("it ran"))
        #expect(try Self.files(daemon) == [])
    }

    @Test func `the next client removes the files that a killed one has left`() throws {
        let daemon = try TestDaemon([TestApp("org.example.app", exec: "/bin/sh")])
        // No process has this number: it is beyond pid_max.
        try daemon.install(TestApp("transient.run-4194305-a", exec: "/bin/true"))
        #expect(
            try Self.run(daemon, "-p", "Prewarm.When=never", "true").exit == .status(0))
        #expect(try Self.files(daemon) == [])
    }
}
