import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing
import VarlinkTestSupport

@testable import GreenroomCommands

/// Copies of desktop entries, with a fake daemon.
@Suite struct `greenroomctl desktop enable` {
    /// Whoever chooses the daemon's folders can give it an app with such an identifier.
    @Test func `an identifier does not leave the folder`() throws {
        let folder = try TemporaryDirectory()
        let entry = try folder.write(
            "[Desktop Entry]\nType=Application\nName=x\nExec=true\n", to: "x.desktop")
        let daemon = try FakeDaemon { received, _ in
            guard case .list = received.call else { return nil }
            var app = Control.AppSummary(identifier: "../../outside")
            app.desktop = Control.DesktopFacts(file: entry)
            return .reply([ControlReply.listed([app])])
        }
        let result = PythonClient.shell(
            """
            \(`greenroomctl run`.program) desktop enable --all --socket \(daemon.server.path) \
            --directory \(folder.path)/a/applications
            """)
        #expect(result.output.contains("is not the name of an app"), "\(result)")
        for path in ["outside.desktop", "a"] {
            #expect(access(folder.path + "/" + path, F_OK) != 0)
        }
    }

    /// The user's service copies entries again while the user runs a verb.
    @Test(arguments: [
        ("desktop enable", "greenroom/desktop", "org.x.view.desktop"),
        ("dbus-service --install", "applications", "org.x.view.service"),
    ])
    func `two processes that write a file do not share an unfinished one`(
        verb: String, place: String, name: String
    ) throws {
        let folder = try TemporaryDirectory()
        for path in ["applications", "greenroom", "greenroom/desktop"] {
            mkdir(folder.path + "/" + path, 0o755)
        }
        let entry = try folder.write(
            "[Desktop Entry]\nType=Application\nName=x\nExec=true\n", to: "x.desktop")
        try folder.write("another's", to: "\(place)/\(name).new")
        let daemon = try FakeDaemon { received, _ in
            guard case .list = received.call else { return nil }
            var app = Control.AppSummary(identifier: "org.x.view")
            app.desktop = Control.DesktopFacts(file: entry)
            app.desktop?.isDBusActivatable = true
            return .reply([ControlReply.listed([app])])
        }
        let result = PythonClient.shell(
            """
            DBUS_SESSION_BUS_ADDRESS=unix:path=/missing \(`greenroomctl run`.program) \(verb) \
            org.x.view --socket \(daemon.server.path) --directory \(folder.path)/applications
            """)
        #expect(result.status == 0, "\(result)")
        let written = "\(folder.path)/\(place)"
        #expect(try readFile("\(written)/\(name).new") == Array("another's".utf8))
        let text = String(decoding: try readFile("\(written)/\(name)"), as: UTF8.self)
        #expect(text.contains("Exec="))
        #expect(!(try FolderContents.names(in: written)).contains { $0.contains(".new-") })
    }

    // MARK: The message bus

    /// A folder of data for the copies, another one with the vendor's files, and a daemon that has
    /// the app.
    private final class Bench {
        let folder: TemporaryDirectory
        private let daemon: FakeDaemon
        let app: String
        let original: String

        init(_ app: String = "org.x.view", isActivatable: Bool = true) throws {
            folder = try TemporaryDirectory()
            for path in [
                "own", "own/applications", "own/dbus-1", "own/dbus-1/services", "share",
                "share/applications", "share/dbus-1", "share/dbus-1/services",
            ] { mkdir(folder.path + "/" + path, 0o755) }
            self.app = app
            let file = folder.path + "/share/applications/\(app).desktop"
            original = file
            daemon = try FakeDaemon { received, _ in
                guard case .list = received.call else { return nil }
                var summary = Control.AppSummary(identifier: app)
                summary.desktop = Control.DesktopFacts(file: file)
                summary.desktop?.isDBusActivatable = isActivatable
                return .reply([ControlReply.listed([summary])])
            }
            try describe(isActivatable: isActivatable)
            try serve("/usr/bin/view --dbus")
        }

        func describe(isActivatable: Bool = true) throws {
            try folder.write(
                """
                [Desktop Entry]
                Type=Application
                Name=x
                Exec=true
                DBusActivatable=\(isActivatable)

                """, to: "share/applications/\(app).desktop")
        }

        /// The vendor's service file.
        func serve(_ command: String) throws {
            try folder.write(
                "[D-BUS Service]\nName=\(app)\nExec=\(command)\n",
                to: "share/dbus-1/services/\(app).service")
        }

        /// - Parameter bus: the address of the session's bus.
        func ctl(
            _ words: String, bus: String = "", shared: String? = nil
        ) -> (status: Int32, output: String) {
            PythonClient.shell(
                """
                unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
                \(bus.isEmpty ? "XDG_RUNTIME_DIR=/missing" : "DBUS_SESSION_BUS_ADDRESS=\(bus)") \
                XDG_DATA_HOME=\(folder.path)/own XDG_DATA_DIRS=\(shared ?? folder.path + "/share") \
                \(`greenroomctl run`.program) \(words)
                """)
        }

        func desktop(
            _ words: String, bus: String = "", shared: String? = nil
        ) -> (status: Int32, output: String) {
            let socket = words.hasPrefix("enable") ? " --socket \(daemon.server.path)" : ""
            return ctl("desktop " + words + socket, bus: bus, shared: shared)
        }

        func dbusService(_ words: String) -> (status: Int32, output: String) {
            let socket = words.contains("--remove") ? "" : " --socket \(daemon.server.path)"
            return ctl("dbus-service \(app) " + words + socket)
        }

        var link: String { folder.path + "/own/applications/\(app).desktop" }
        var service: String { folder.path + "/own/dbus-1/services/\(app).service" }
        var text: String? {
            (try? readFile(service)).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(arguments: ["org.x.view", "--all"])
    func `an app that the bus starts has a service file until it is disabled`(words: String) throws
    {
        let bench = try Bench()
        let enabled = bench.desktop("enable \(words)")
        #expect(enabled.status == 0 && enabled.output.contains("written \(bench.service)\n"))
        let text = try #require(bench.text)
        #expect(text.contains("; greenroomctl desktop disable org.x.view removes it.\n"))
        #expect(text.contains("/greenroom-bus --socket /") && text.contains("/usr/bin/view --dbus"))
        #expect(bench.desktop("enable \(words)").output.isEmpty)
        let disabled = bench.desktop("disable \(words)")
        #expect(disabled.status == 0 && disabled.output.contains("removed \(bench.service)\n"))
        #expect(bench.text == nil)
    }

    @Test(arguments: [("org.x.view", false), ("org.x.2view", true)])
    func `an app that nobody can call by name has no service file`(
        app: String, isActivatable: Bool
    ) throws {
        let bench = try Bench(app, isActivatable: isActivatable)
        let enabled = bench.desktop("enable \(app)")
        #expect(enabled.status == 0 && enabled.output.contains("linked "), "\(enabled)")
        #expect(!enabled.output.contains("message bus") && bench.text == nil)
    }

    @Test(arguments: ["file", "link", "link to nowhere"])
    func `a service file of somebody else stays as it is`(kind: String) throws {
        let bench = try Bench()
        let text = "[D-BUS Service]\nName=org.x.view\nExec=/usr/bin/mine\n"
        let other = try bench.folder.write(text, to: "other")
        switch kind {
        case "file": rename(other, bench.service)
        case "link": symlink(other, bench.service)
        default: symlink("/no/such", bench.service)
        }
        let enabled = bench.desktop("enable org.x.view")
        #expect(enabled.status == 0 && enabled.output.contains("linked \(bench.link)"))
        #expect(enabled.output.contains("by the daemon: \(bench.service) is in the way"))
        #expect(bench.desktop("refresh").output.isEmpty)
        let disabled = bench.desktop("disable org.x.view")
        #expect(disabled.status == 0 && !disabled.output.contains(bench.service), "\(disabled)")
        var status = stat()
        #expect(lstat(bench.service, &status) == 0)
        #expect(kind == "link to nowhere" || bench.text == text)
    }

    /// Somebody else could put files there that this user may remove.
    @Test func `a folder of service files that is a link is left alone`() throws {
        let bench = try Bench()
        #expect(bench.desktop("enable org.x.view").status == 0)
        let (own, elsewhere) = (bench.folder.path + "/own/dbus-1/services", "/elsewhere")
        #expect(rename(own, bench.folder.path + elsewhere) == 0)
        symlink(bench.folder.path + elsewhere, own)
        let text = bench.text
        #expect(text != nil)
        let enabled = bench.desktop("enable org.x.view")
        #expect(enabled.output.contains("\(own) is a link or somebody else's"), "\(enabled)")
        #expect(bench.desktop("disable org.x.view").status == 0)
        #expect(bench.text == text)
    }

    @Test func `the bus keeps its command if the vendor's folder is not searched`() throws {
        let bench = try Bench()
        #expect(bench.desktop("enable org.x.view").status == 0)
        let text = try #require(bench.text)
        let again = bench.desktop("enable org.x.view", shared: "/missing")
        #expect(again.output.isEmpty, "\(again)")
        #expect(bench.text == text)
    }

    @Test func `the file of dbus-service stays, and disable says so`() throws {
        let bench = try Bench()
        #expect(bench.dbusService("--install").status == 0)
        let text = bench.text
        #expect(!bench.desktop("enable org.x.view").output.contains(bench.service))
        let disabled = bench.desktop("disable org.x.view")
        #expect(disabled.status == 0 && bench.text == text)
        #expect(disabled.output.contains("\"greenroomctl dbus-service org.x.view --remove\" ends"))
        // Installed after enable, the file is that of dbus-service, too.
        #expect(bench.dbusService("--remove").status == 0)
        #expect(bench.desktop("enable org.x.view").output.contains(bench.service))
        #expect(bench.dbusService("--install").status == 0 && bench.text == text)
        #expect(bench.desktop("disable --all").status == 0 && bench.text == text)
    }

    @Test func `refresh does not bring back a file that was removed`() throws {
        let bench = try Bench()
        _ = bench.desktop("enable org.x.view")
        #expect(bench.dbusService("--remove").status == 0 && bench.text == nil)
        #expect(bench.desktop("refresh").output.isEmpty && bench.text == nil)
        #expect(bench.desktop("disable org.x.view").status == 0)
    }

    @Test func `a service file follows the vendor's file`() throws {
        let bench = try Bench()
        _ = bench.desktop("enable org.x.view")
        let former = try #require(bench.text)
        try bench.serve("/usr/bin/new --dbus")
        let refreshed = bench.desktop("refresh")
        #expect(refreshed.status == 0 && refreshed.output == "written \(bench.service)\n")
        let text = former.replacing("/usr/bin/view --dbus", with: "/usr/bin/new --dbus")
        #expect(bench.text == text && text != former)
        // The process may not know the folder of the vendor's file.
        #expect(bench.desktop("refresh", shared: "/missing").output.isEmpty && bench.text == text)
    }

    @Test(arguments: ["is gone", "is no longer activatable", "has no copy any more"])
    func `a service file goes if its entry`(change: String) throws {
        let bench = try Bench()
        _ = bench.desktop("enable org.x.view")
        switch change {
        case "is gone": unlink(bench.original)
        case "is no longer activatable": try bench.describe(isActivatable: false)
        default: unlink(bench.link)
        }
        let refreshed = bench.desktop("refresh")
        #expect(refreshed.output.contains("removed \(bench.service)\n"), "\(refreshed)")
        #expect(bench.text == nil)
    }

    @Test func `a file whose link was removed by hand can be removed by disable`() throws {
        let bench = try Bench()
        _ = bench.desktop("enable org.x.view")
        unlink(bench.link)
        #expect(bench.desktop("disable view").status == 0 && bench.text == nil)
    }

    @Test func `a command that no bus reads alike leaves the bus as it is`() throws {
        let bench = try Bench()
        try bench.serve(#"/usr/bin/view 'a\b'"#)
        let enabled = bench.desktop("enable org.x.view")
        #expect(enabled.status == 0 && enabled.output.contains("backslash"), "\(enabled)")
        #expect(bench.text == nil)
    }

    @Test func `a bus that cannot be told is a warning`() throws {
        let bench = try Bench()
        let bus = "unix:path=/missing"
        let enabled = bench.desktop("enable org.x.view", bus: bus)
        #expect(enabled.status == 0 && enabled.output.contains("was not told"), "\(enabled)")
        // Nothing has changed for it.
        #expect(bench.desktop("refresh", bus: bus).output.isEmpty)
        let disabled = bench.desktop("disable org.x.view", bus: bus)
        #expect(disabled.status == 0 && disabled.output.contains("was not told"), "\(disabled)")
    }
}
