import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// greenroom-run and greenroomctl under the name of an app.
@Suite struct LinkTests {
    private let folder: TemporaryDirectory
    private let daemon: TestDaemon

    init() throws {
        folder = try TemporaryDirectory()
        for directory in ["links", "real", "odd"] { mkdir(folder.path + "/" + directory, 0o755) }
        let real = try folder.write(
            "#!/bin/sh\necho real \"$@\"\n", to: "real/probe-tool", mode: 0o755)
        let app = try folder.write(
            "#!/bin/sh\necho app \"$@\"\nexit 4\n", to: "odd/tool", mode: 0o755)
        var named = TestApp("org.example.other", exec: real)
        named.lines = ["Name=nice-name"]
        daemon = try TestDaemon(
            TestApp("org.example.probe-tool", exec: app), named,
            TestApp("org.example.twice", exec: app), TestApp("com.example.twice", exec: real))
    }

    private func call(
        _ client: RunClient, _ name: String, _ words: String..., socket: String? = nil,
        debug: Bool = false, path: [String] = ["links", "real"]
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        let link = folder.path + "/links/" + name
        symlink(try client.program, link)
        var request = ChildRequest(link, arguments: [name] + words)
        let directories = path.map { folder.path + "/" + $0 } + ["/usr/bin", "/bin"]
        request.environment = [
            "PATH=" + directories.joined(separator: ":"), "LANG=C",
            "GREENROOM_SOCKET=\(socket ?? daemon.socketPath)",
        ]
        if debug { request.environment.append("GREENROOM_DEBUG=1") }
        let result = try run(request, mergingErrors: true)
        return (result.exit, String(decoding: result.output, as: UTF8.self))
    }

    @Test(arguments: RunClient.allCases)
    func `a link with an app's name runs the app with unchanged arguments`(_ client: RunClient)
        throws
    {
        let result = try call(client, "probe-tool", "--help", "--", "x y", "--pty")
        #expect(result.exit == .status(4))
        #expect(result.output == "app --help -- x y --pty\n")
    }

    @Test(arguments: RunClient.allCases)
    func `a link runs the program itself in a directory that only the caller can enter`(
        _ client: RunClient
    )
        throws
    {
        try requireOrSkip(getuid() == 0, "another user is needed")
        let place = folder.path + "/locked"
        #expect(chmod(folder.path, 0o755) == 0 && mkdir(place, 0o755) == 0)
        #expect(chown(place, 65_534, 65_534) == 0)
        let link = folder.path + "/links/probe-tool"
        symlink(try client.program, link)
        let script = "cd \"$0\" && chmod 0 . && exec \"$@\""
        var request = ChildRequest("/bin/sh", arguments: ["sh", "-c", script, place, link, "x"])
        request.environment = [
            "PATH=\(folder.path)/links:\(folder.path)/real:/usr/bin:/bin",
            "GREENROOM_SOCKET=\(daemon.socketPath)",
        ]
        request.user = 65_534
        let result = try run(request, mergingErrors: true)
        #expect(String(decoding: result.output, as: UTF8.self) == "real x\n")
        #expect(result.exit == .status(0))
    }

    @Test(arguments: RunClient.allCases)
    func `a link runs the app whose identifier, program file or name it has`(_ client: RunClient)
        throws
    {
        #expect(try call(client, "org.example.probe-tool", "1").output == "app 1\n")
        #expect(try call(client, "nice-name", "2").output == "real 2\n")
        // Two apps have this program, so the link is ambiguous.
        let tool = try call(client, "tool")
        #expect(tool.exit == .status(127))
        #expect(tool.output.contains("org.example.probe-tool, org.example.twice"))
    }

    @Test func `the daemon lists the apps that the name of a link may mean`() throws {
        func called(_ name: String) throws -> [String] {
            guard case .listed(let apps) = try daemon.client().call(.listCalled(name)) else {
                throw TestError("a reply")
            }
            return apps.map(\.identifier)
        }
        let probes = ["org.example.probe-tool"]
        #expect(try called("org.example.probe-tool") == probes)
        // The name is the last component of one app, and the file name of two other apps' programs.
        #expect(try called("probe-tool") == ["com.example.twice", "org.example.other"] + probes)
        #expect(try called("tool") == probes + ["org.example.twice"])
        #expect(try called("nice-name") == ["org.example.other"])
        for nothing in ["obe-tool", "", ".", "/", "org.example"] {
            #expect(try called(nothing) == [])
        }
    }

    @Test(arguments: RunClient.allCases)
    func `a link with the name of no app or of several apps has its own error`(_ client: RunClient)
        throws
    {
        let unknown = try call(client, "probe-tol")
        #expect(unknown.exit == .status(127))
        #expect(unknown.output.contains("no app probe-tol is installed"))
        let ambiguous = try call(client, "twice")
        #expect(ambiguous.exit == .status(127))
        #expect(ambiguous.output.contains("com.example.twice"))
    }

    @Test(arguments: RunClient.allCases)
    func `a link without a daemon silently executes the program itself`(_ client: RunClient) throws
    {
        let nowhere = folder.path + "/nowhere"
        let result = try call(client, "probe-tool", "--help", "a b", socket: nowhere)
        #expect(result.exit == .status(0))
        #expect(result.output == "real --help a b\n")
        let loud = try call(client, "probe-tool", socket: nowhere, debug: true)
        #expect(loud.output.contains("greenroomd is not running"))
        #expect(
            loud.output.hasSuffix("executing \(folder.path)/real/probe-tool\ngreenroomctl: ")
                == false)
        #expect(loud.output.hasSuffix("real \n") || loud.output.hasSuffix("real\n"))
        let missing = try call(client, "probe-tool", socket: nowhere, path: ["links"])
        #expect(missing.exit == .status(127))
        #expect(missing.output.contains("greenroomd is not running"))
    }

    @Test(arguments: RunClient.allCases)
    func `a link to an app that is not installed any more executes the program itself`(
        _ client: RunClient
    ) throws {
        #expect(try call(client, "probe-tool", "1").output == "app 1\n")
        try daemon.remove("org.example.probe-tool")
        _ = try daemon.client().reload()
        // The programs of the other apps have this name, too.
        try daemon.remove("org.example.other")
        try daemon.remove("com.example.twice")
        _ = try daemon.client().reload()
        let result = try call(client, "probe-tool", "a b", "--help")
        #expect(result.output == "real a b --help\n")
        #expect(result.exit == .status(0))
        // The same with a manifest that is refused.
        try daemon.install(TestApp("org.example.probe-tool", exec: "/nowhere/at/all"))
        _ = try? daemon.client().reload()
        #expect(try call(client, "probe-tool", "2").output == "real 2\n")
    }

    @Test(arguments: RunClient.allCases)
    func `links to two greenroomctls do not execute each other forever`(_ client: RunClient) throws
    {
        for directory in ["copy", "between", "again"] {
            mkdir(folder.path + "/" + directory, 0o755)
        }
        let copy = folder.path + "/copy/greenroomctl"
        _ = try run(ChildRequest("/bin/cp", arguments: ["cp", try client.program, copy]))
        symlink(copy, folder.path + "/between/circle")
        symlink(try client.program, folder.path + "/again/circle")
        let nowhere = folder.path + "/nowhere"
        let none = try call(client, "circle", socket: nowhere, path: ["links", "between", "again"])
        #expect(none.exit == .status(127))
        try folder.write("#!/bin/sh\necho real\n", to: "real/circle", mode: 0o755)
        let real = try call(
            client, "circle", socket: nowhere, path: ["links", "between", "again", "real"])
        #expect(real.output == "real\n")
    }

    @Test(arguments: RunClient.allCases)
    func `an app whose program is the link does not run itself forever`(_ client: RunClient) throws
    {
        symlink(try client.program, folder.path + "/links/looped")
        try folder.write("#!/bin/sh\necho real\n", to: "real/looped", mode: 0o755)
        try daemon.install(TestApp("org.example.looped", exec: folder.path + "/links/looped"))
        _ = try daemon.client().reload()
        #expect(try call(client, "looped").output == "real\n")
    }
}
