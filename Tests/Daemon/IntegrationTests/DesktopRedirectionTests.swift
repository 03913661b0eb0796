import DaemonTestSupport
import DesktopEntry
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `greenroomctl desktop`: apps that launchers start through the daemon.
@Suite struct DesktopRedirectionTests {
    private static let app = "org.example.view"

    private final class Bench {
        let daemon: TestDaemon
        let folder: TemporaryDirectory
        let original: String
        let link: String

        init(exec: String = "echo open %F end") throws {
            folder = try TemporaryDirectory()
            for path in ["", "/applications"] { mkdir(folder.path + "/share" + path, 0o755) }
            let name = "\(DesktopRedirectionTests.app).desktop"
            try folder.write(
                "[Desktop Entry]\nType=Application\nName=View\nExec=\(exec)\n",
                to: "share/applications/\(name)")
            original = "\(folder.path)/share/applications/\(name)"
            var options = TestDaemon.Options()
            options.desktopFolder = true
            options.otherDesktopFolders = [folder.path + "/share/applications"]
            daemon = try TestDaemon([], options)
            link = "\(daemon.directory.path)/applications/\(name)"
        }

        var environment: [String] {
            [
                "PATH=/usr/bin:/bin", "LANG=C", "XDG_DATA_HOME=\(daemon.directory.path)",
                "XDG_DATA_DIRS=\(folder.path)/share", "GREENROOM_SOCKET=\(daemon.socketPath)",
            ]
        }

        func desktop(_ words: String...) throws -> (exit: ChildProcess.Exit, text: String) {
            let client = try Programs.client
            let result = try run(
                ChildRequest(
                    client, arguments: ["greenroomctl", "desktop"] + words,
                    environment: environment), mergingErrors: true)
            return (result.exit, String(decoding: result.output, as: UTF8.self))
        }

        /// Starts the entry's command, as a launcher does.
        func start(_ files: String...) throws -> String {
            let entry = try #require(
                try DesktopEntry.parse(
                    readFile(link), identifier: DesktopRedirectionTests.app, file: link,
                    locale: Locale(environment: [:])))
            let words = try #require(entry.command).arguments(
                opening: files, name: "View", icon: nil, file: link)
            let result = try run(
                ChildRequest(words[0], arguments: words, environment: environment),
                mergingErrors: true)
            return String(decoding: result.output, as: UTF8.self)
        }

        func launchCount() throws -> Int {
            try daemon.client().instances(of: DesktopRedirectionTests.app).count
        }
    }

    @Test func `an enabled app is started by the daemon, and directly without it`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", "view").text.contains("linked \(bench.link) -> "))
        #expect(try bench.start("/a b", "/c") == "open /a b /c end\n")
        #expect(try bench.launchCount() == 1)
        // The daemon knows the app for which the copy stands.
        let client = try bench.daemon.client()
        _ = try client.reload()
        #expect(try client.list().map(\.desktop?.file) == [bench.original])
        #expect(try bench.start() == "open end\n")
        #expect(try bench.launchCount() == 2)
        _ = try bench.daemon.terminate()
        #expect(try bench.start("/a b") == "open /a b end\n")
        #expect(try bench.desktop("disable", "--all").exit == .status(0))
        let copy = bench.daemon.directory.path + "/greenroom/desktop/\(Self.app).desktop"
        for path in [bench.link, copy] { #expect(access(path, F_OK) != 0) }
    }

    @Test func `an app that the daemon no longer has is started directly`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", "--all").exit == .status(0))
        unlink(bench.original)
        let client = try bench.daemon.client()
        _ = try client.reload()
        #expect(try client.list().isEmpty)
        #expect(try bench.start("/a") == "open /a end\n")
    }

    @Test func `an app whose daemon does not answer is started directly`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        kill(try bench.daemon.pid, SIGSTOP)
        defer { if let pid = try? bench.daemon.pid { kill(pid, SIGCONT) } }
        #expect(try bench.start("/a") == "open /a end\n")
    }

    @Test func `GLib's launcher starts an enabled app`() throws {
        guard let gio = findProgram("gio") else {
            return try requireOrSkip(false, "there is no gio (libglib2.0-bin)")
        }
        let bench = try Bench(exec: "printf %%s.%%s. first %U")
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        let result = try run(
            ChildRequest(
                gio, arguments: ["gio", "launch", bench.link, "https://x.y/a%20b"],
                environment: bench.environment))
        let client = try bench.daemon.client()
        let instance = try #require(try client.instances(of: Self.app).first)
        #expect(try client.wait(instance.instance).status == 0)
        #expect(String(decoding: result.output, as: UTF8.self) == "first.https://x.y/a%20b.")
    }

    @Test func `an entry that cannot be enabled stays as it is, and is named`() throws {
        let bench = try Bench(exec: "view --open=%f")
        let (exit, text) = try bench.desktop("enable", Self.app)
        #expect(exit == .status(1) && text.contains("has the files to open inside a longer word"))
        #expect(access(bench.link, F_OK) != 0)
        let all = try bench.desktop("enable", "--all")
        #expect(all.exit == .status(0) && all.text.contains("left as it is: "))
    }

    @Test func `one of the user's own files is not replaced`() throws {
        let bench = try Bench()
        let text = "[Desktop Entry]\nType=Application\nName=Mine\nExec=true\n"
        try bench.daemon.directory.write(text, to: "applications/\(Self.app).desktop")
        let (exit, said) = try bench.desktop("enable", Self.app)
        #expect(exit == .status(1) && said.contains("is in the way"))
        #expect(String(decoding: try readFile(bench.link), as: UTF8.self) == text)
        #expect(try bench.desktop("disable", Self.app).text.contains("is not enabled"))
        #expect(access(bench.link, F_OK) == 0)
    }
}
