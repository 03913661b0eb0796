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
}
