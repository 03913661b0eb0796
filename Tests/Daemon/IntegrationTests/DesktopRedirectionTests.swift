import DaemonTestSupport
import DesktopEntry
import Glibc
import GreenroomControl
import GreenroomLinux
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
            original = "\(folder.path)/share/applications/\(name)"
            var options = TestDaemon.Options()
            options.desktopFolder = true
            options.otherDesktopFolders = [folder.path + "/share/applications"]
            daemon = try TestDaemon([], options)
            link = "\(daemon.directory.path)/applications/\(name)"
            try describe("Exec=\(exec)")
            _ = try daemon.client().reload()
        }

        var environment: [String] {
            [
                "PATH=/usr/bin:/bin", "LANG=C", "XDG_DATA_HOME=\(daemon.directory.path)",
                "XDG_DATA_DIRS=\(folder.path)/share", "GREENROOM_SOCKET=\(daemon.socketPath)",
            ]
        }

        func desktop(_ words: String...) throws -> (exit: ChildProcess.Exit, text: String) {
            try call(["desktop"] + words)
        }

        /// - Parameter variables: these take the place of the same ones in `environment`.
        func call(
            _ words: [String], _ variables: [String] = []
        ) throws -> (exit: ChildProcess.Exit, text: String) {
            let client = try Programs.client
            let names = variables.map { $0.prefix { $0 != "=" } + "=" }
            let usual = environment.filter { line in !names.contains { line.hasPrefix($0) } }
            let result = try run(
                ChildRequest(
                    client, arguments: ["greenroomctl"] + words, environment: usual + variables),
                mergingErrors: true)
            return (result.exit, String(decoding: result.output, as: UTF8.self))
        }

        func describe(_ text: String) throws {
            try folder.write(
                "[Desktop Entry]\nType=Application\nName=View\n\(text)\n",
                to: "share/applications/\(DesktopRedirectionTests.app).desktop")
        }

        func copy() throws -> DesktopEntry {
            try #require(
                try DesktopEntry.parse(
                    readFile(link), identifier: DesktopRedirectionTests.app, file: link,
                    locale: Locale(environment: [:])))
        }

        /// Starts the entry's command, as a launcher does.
        func start(_ files: String...) throws -> String {
            let entry = try copy()
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

    /// The daemon opens files by their names as text.
    @Test func `a file whose name is not UTF-8 is opened by the command itself`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", "view").exit == .status(0))
        let exec = try #require(
            String(decoding: readFile(bench.link), as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("Exec=") })
        let words = exec.dropFirst(5).replacing("\\\\", with: "\\")
            .replacing("%F", with: "\"$(printf 'a\\377')\"")
        let result = try run(
            ChildRequest(
                "/bin/sh", arguments: ["sh", "-c", String(words)], environment: bench.environment),
            mergingErrors: true)
        #expect(result.output == Array("open a".utf8) + [0xff] + Array(" end\n".utf8))
        #expect(try bench.launchCount() == 0)
    }

    @Test func `a masked app is not started directly, either`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", "view").exit == .status(0))
        symlink("/dev/null", "\(bench.daemon.appDirectory)/\(Self.app).app")
        _ = try bench.daemon.client().reload()
        let text = try bench.start("/a")
        #expect(text.contains("masked by ") && !text.contains("open"))
    }

    /// KDE asks the user about an entry outside of `applications` that is not.
    @Test func `a copy is executable`() throws {
        let bench = try Bench()
        for _ in 1...2 {
            #expect(try bench.desktop("enable", "view").exit == .status(0))
            #expect(access(bench.link, X_OK) == 0)
        }
    }

    /// `sed -i` and programs that edit menus put a file in place of a link.
    @Test func `a copy in place of its link is not taken for the app's entry`() throws {
        let bench = try Bench()
        let name = "\(Self.app).desktop"
        func replaceLink() throws {
            let text = String(decoding: try readFile(bench.link), as: UTF8.self)
            unlink(bench.link)
            try bench.daemon.directory.write(text, to: "applications/" + name)
        }
        #expect(try bench.desktop("enable", "view").exit == .status(0))
        try replaceLink()
        let client = try bench.daemon.client()
        _ = try client.reload()
        #expect(try client.list().map(\.desktop?.file) == [bench.original])
        #expect(try bench.start("/a") == "open /a end\n")
        #expect(try bench.launchCount() == 1)
        // Enabling the app makes the file a link again.
        #expect(try bench.desktop("enable", "view").text.contains("linked \(bench.link) -> "))
        try replaceLink()
        #expect(try bench.desktop("disable", "view").exit == .status(0))
        #expect(access(bench.link, F_OK) != 0)
    }

    @Test func `a copy whose entry is gone makes no app`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", "view").exit == .status(0))
        let text = String(decoding: try readFile(bench.link), as: UTF8.self)
        unlink(bench.link)
        try bench.daemon.directory.write(text, to: "applications/\(Self.app).desktop")
        unlink(bench.original)
        let client = try bench.daemon.client()
        _ = try client.reload()
        #expect(try client.list().isEmpty)
        #expect(try bench.start("/a") == "open /a end\n")
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

    @Test func `a folder may be named with a slash at its end`() throws {
        let bench = try Bench()
        let folder = bench.folder.path + "/other"
        #expect(
            try bench.desktop("enable", Self.app, "--directory", folder + "/applications//").text
                == """
                written \(folder)/greenroom/desktop/\(Self.app).desktop
                linked \(folder)/applications/\(Self.app).desktop -> \
                \(folder)/greenroom/desktop/\(Self.app).desktop

                """)
    }

    /// That daemon says which files are copied, and under which names.
    @Test func `another user's daemon is not asked`() throws {
        var options = TestDaemon.Options.asNobody
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        try daemon.directory.write(
            "[Desktop Entry]\nType=Application\nName=View\nExec=echo\n",
            to: "applications/\(Self.app).desktop")
        _ = try daemon.client().reload()
        let folder = daemon.directory.path + "/copies"
        let result = try run(
            ChildRequest(
                try Programs.client,
                arguments: [
                    "greenroomctl", "desktop", "enable", "--all", "--socket", daemon.socketPath,
                    "--directory", folder + "/applications",
                ]), mergingErrors: true)
        #expect(result.exit == .status(77))
        #expect(String(decoding: result.output, as: UTF8.self).contains("daemon of user 65534"))
        #expect(access(folder, F_OK) != 0)
    }

    @Test func `a copy follows its entry`() throws {
        let bench = try Bench()
        let old = try bench.folder.write("#!/bin/sh\n", to: "old", mode: 0o755)
        try bench.describe("Exec=\(old) %F")
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        // Menus show the app although the program has another name now.
        unlink(old)
        try bench.describe("Exec=echo new %F")
        #expect(try bench.copy().tryExec == nil)
        _ = try bench.daemon.terminate()
        #expect(try bench.desktop("refresh").text.contains("written "))
        #expect(try bench.start("/a") == "new /a\n")
        #expect(try bench.desktop("refresh").text == "")
        try bench.daemon.start()
        unlink(bench.original)
        #expect(try bench.call(["reload"]).text.contains("removed \(bench.link)\n"))
        #expect(FileStatus(ofLink: bench.link) == nil)
    }

    /// Some people keep their files in a folder of their own, and link to them.
    @Test(arguments: [true, false])
    func `a copy that somebody has edited is not written again`(isLink: Bool) throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        let text = String(decoding: try readFile(bench.link), as: UTF8.self) + "NoDisplay=true\n"
        unlink(bench.link)
        if isLink {
            symlink(try bench.folder.write(text, to: "kept.desktop"), bench.link)
        } else {
            try bench.daemon.directory.write(text, to: "applications/\(Self.app).desktop")
        }
        try bench.describe("Exec=echo new")
        #expect(try bench.desktop("refresh").text == "")
        #expect(try bench.desktop("enable", Self.app).text.contains("was edited; "))
        #expect(String(decoding: try readFile(bench.link), as: UTF8.self) == text)
    }

    /// People copy an entry to start the same app with other options.
    @Test(arguments: [true, false])
    func `the user's own copy of a copy is kept`(hasOwnCommand: Bool) throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        var lines = String(decoding: try readFile(bench.link), as: UTF8.self).split(separator: "\n")
        if hasOwnCommand {
            let exec = try #require(lines.firstIndex { $0.hasPrefix("Exec=") })
            lines[exec] = "Exec=echo work"
        }
        let text = lines.joined(separator: "\n") + "\n"
        try bench.daemon.directory.write(text, to: "applications/org.example.work.desktop")
        let client = try bench.daemon.client()
        _ = try client.reload()
        #expect(
            try client.list().map(\.identifier).contains("org.example.work") == hasOwnCommand)
        let all = try bench.desktop("disable", "--all")
        #expect(FileStatus(path: bench.link) == nil)
        let copy = bench.daemon.directory.path + "/applications/org.example.work.desktop"
        #expect(String(decoding: try readFile(copy), as: UTF8.self) == text)
        #expect(all.text.contains("\(copy) is in the way") == !hasOwnCommand)
    }

    @Test func `an entry that cannot be read at the moment keeps its copy`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        let text = String(decoding: try readFile(bench.link), as: UTF8.self)
        func isKept(_ variables: [String] = []) throws -> Bool {
            _ = try bench.call(["desktop", "refresh"], variables)
            return String(decoding: (try? readFile(bench.link)) ?? [], as: UTF8.self) == text
        }
        // A disk that is not mounted.
        let folder = bench.folder.path + "/share/applications"
        rename(folder, folder + ".away")
        #expect(try isKept())
        rename(folder + ".away", folder)
        // An entry that is being written.
        let original = String(decoding: try readFile(bench.original), as: UTF8.self)
        for part in ["", "[Desktop Entry]\nType=Appli", "[Desktop Entry]\nType=Application\nEx"] {
            try bench.folder.write(part, to: "share/applications/\(Self.app).desktop")
            #expect(try isKept())
        }
        try bench.folder.write(original, to: "share/applications/\(Self.app).desktop")
        // Former copies name the entry only in a comment.
        let key = try #require(
            text.split(separator: "\n").first { $0.hasPrefix("X-Greenroom-Original=") })
        try bench.daemon.directory.write(
            text.replacing(key + "\n", with: ""), to: "greenroom/desktop/\(Self.app).desktop")
        #expect(try isKept(["XDG_DATA_DIRS=/nowhere"]))
    }

    @Test func `a reload of a named daemon leaves the user's copies alone`() throws {
        let bench = try Bench()
        #expect(try bench.desktop("enable", Self.app).exit == .status(0))
        let text = try readFile(bench.link)
        try bench.describe("Exec=echo new %F")
        #expect(
            try bench.call(["reload", "--socket", bench.daemon.socketPath]).exit == .status(0))
        #expect(try readFile(bench.link) == text)
        #expect(try bench.call(["reload"]).exit == .status(0))
        #expect(try readFile(bench.link) != text)
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
        // Nor is a link that leads nowhere, as on a disk that is not mounted.
        unlink(bench.link)
        symlink("/no/such.desktop", bench.link)
        #expect(try bench.desktop("enable", Self.app).text.contains("is in the way"))
        #expect(FileStatus(ofLink: bench.link) != nil && access(bench.link, F_OK) != 0)
    }
}
