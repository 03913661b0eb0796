import ArgumentParser
@testable import GreenroomCommands
import GreenroomControl
import Testing
import Varlink
import VarlinkTestSupport

@Suite struct `Text for a terminal` {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한국어", 6), ("👩‍👩‍👧", 2), ("🇩🇪", 2),
        ("❤️", 2), ("ﬀ", 1), ("\u{200B}", 0), ("Ａ", 2), ("…", 1), ("µs", 2),
    ])
    func `the width of a text is counted in terminal cells`(text: String, cells: Int) {
        #expect(text.cellCount == cells)
    }

    @Test func `control characters are shown, not sent`() {
        #expect("Firefox".harmless == "Firefox")
        #expect("a\u{1B}[2Jb\nc\td\u{9B}e\u{7F}".harmless == "a\\x1b[2Jb\\nc\\td\\x9be\\x7f")
        #expect("\u{202E}txt.exe".harmless == "\\u202etxt.exe")
        #expect("日本 é 👩‍👩‍👧".harmless == "日本 é 👩‍👩‍👧")
        // A word that this client does not know, because the daemon is newer, or lies.
        #expect(Phrase.launch(.init(rawValue: "a\u{1B}b"), nil) == "a\\x1bb")
    }

    @Test func `control characters are written as numbers in JSON`() throws {
        var launch = Control.LaunchRecord(
            app: "org.example.a\u{9B}b\u{202E}c\u{1B}\u{7F}é", userId: 1, instance: 2,
            launchIdentifier: "", kind: .cold, requestTimestampUSec: 3)
        launch.elapsedUSec = 4
        let json = Report.json(launch)
        #expect(json.contains("org.example.a\\u009bb\\u202ec\\u001b\\u007fé"))
        #expect(try JSONValue(parsing: json)["app"] == .string(launch.app))
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func `every number of a daemon is printed`(
        number: Int64
    ) {
        var launch = Control.LaunchRecord(
            app: "org.example.a", userId: 1, instance: 2, launchIdentifier: "", kind: .cold,
            requestTimestampUSec: number)
        (launch.elapsedUSec, launch.readyUSec, launch.ranUSec) = (number, number, number)
        launch.exit = .init(reason: .exitedSelf, status: 0, timestampUSec: number)
        #expect(Report.history([launch], .plain).contains("org.example.a"))
        var summary = Control.LaunchSummary(
            instance: 2, kind: .cold, elapsedUSec: number, timestampUSec: number)
        (summary.readyUSec, summary.ranUSec, summary.exit) = (number, number, launch.exit)
        let steps = [Control.LaunchStep(step: "main", elapsedUSec: number)]
        #expect(LaunchTrace(of: "org.example.a", summary, steps: steps).text.contains("ts"))
    }

    @Test func `a text that is too long loses its middle`() {
        #expect("org.gnome.Calculator".ellipsized(to: 20) == "org.gnome.Calculator")
        #expect("org.gnome.Calculator".ellipsized(to: 9) == "org.…ator")
        #expect("日本語日本語".ellipsized(to: 7) == "日…本語".ellipsized(to: 7))
        for limit in 1...13 { #expect("日本語 日本語".ellipsized(to: limit).cellCount <= limit) }
        #expect("abc".ellipsized(to: 1) == "…")
    }

    private static let table = {
        var table = Table("APP", "STATE", "N")
        table.add("org.example.a-rather-long-name", "active", "1")
        table.add("日本", "", "22")
        return table
    }()

    @Test func `a table's columns are as wide as their texts`() {
        #expect(
            Self.table.text == """
                APP                             STATE   N
                org.example.a-rather-long-name  active  1
                日本                                    22

                """)
    }

    @Test(arguments: 20...45) func `a table fits the terminal`(columns: Int) {
        let text = Self.table.text(Appearance(isColored: false, columns: columns))
        for line in text.split(separator: "\n") {
            #expect(String(line).cellCount <= max(columns, 8 + 8 + 2 + 4))
        }
        #expect(text.contains("…") == (columns < 42))
    }

    @Test func `a text has colours only if they are wanted`() {
        let colored = Appearance(isColored: true, columns: nil)
        let app = Control.AppSummary(
            identifier: "a.b", name: "\u{1B}[31mred", runningCount: 1, state: .active)
        let text = Report.apps([app], colored)
        #expect(text.contains("\u{1B}[32mactive\u{1B}[0m"))
        #expect(text.contains("\\x1b[31mred"))
        #expect(!Report.apps([app]).contains("\u{1B}"))
        var measured = app
        measured.savedUSec = 12_000
        var estimated = measured
        estimated.isSavingEstimated = true
        #expect(!Report.apps([measured]).contains("~"))
        #expect(Report.apps([estimated]).contains("~12.0 ms"))
        #expect(
            Report.apps([], folder: "/a", desktopCount: 2)
                == "No app has a manifest; \"greenroomctl list --desktop\" shows those of desktop "
                + "entries. Manifests go to /a.\n")
    }

    @Test func `a table is complete and without colours in a pipe`() throws {
        let daemon = try FakeDaemon()
        let piped = PythonClient.shell(
            "COLUMNS=20 TERM=xterm \(client) list --socket \(daemon.server.path) | cat")
        #expect(
            piped.output.contains(
                "org.ffmpeg.ffmpeg  FFmpeg  active       1 of 2      -      -      1\n"))
    }

    /// The option decides, whatever the terminal and its environment are.
    @Test(arguments: [true, false], ["", "--color always", "--color never"])
    func `a text has the colours that the option asks for`(isTerminalColored: Bool, option: String)
        throws
    {
        let console = FixedConsole(Appearance(isColored: isTerminalColored, columns: 40))
        let options = try DisplayOptions.parse(option.split(separator: " ").map(String.init))
        let wanted = option.isEmpty ? isTerminalColored : option.hasSuffix("always")
        #expect(
            options.appearance(on: console) == Appearance(isColored: wanted, columns: 40))
    }

    private final class FixedConsole: Console {
        let appearance: Appearance
        init(_ appearance: Appearance) { self.appearance = appearance }
        func write(_ text: String) {}
        func complain(_ text: String) {}
    }

    /// What `script` records of a terminal of 40 columns.
    @Test(arguments: [
        (environment: "TERM=xterm", options: "", isColored: true, isCut: true),
        ("TERM=xterm", "--full", true, false), ("TERM=xterm", "-l", true, false),
        ("TERM=dumb", "", false, true), ("TERM=xterm NO_COLOR=1", "", false, true),
        ("TERM=xterm NO_COLOR=", "", true, true),
        ("TERM=xterm NO_COLOR=1", "--color always", true, true),
        ("TERM=xterm", "--color never", false, true), ("TERM=xterm COLUMNS=200", "", true, false),
    ])
    func `the width follows the terminal`(
        environment: String, options: String, isColored: Bool, isCut: Bool
    ) throws {
        let daemon = try FakeDaemon()
        let shown = PythonClient.shell(
            """
            env -u NO_COLOR -u COLUMNS script -qec "stty cols 40; env \(environment) \(client) list \
            \(options) --socket \(daemon.server.path)" /dev/null </dev/null
            """
        ).output
        #expect(shown.contains("\u{1B}[") == isColored, "\(shown.debugDescription)")
        #expect(shown.contains("…") == isCut, "\(shown.debugDescription)")
        #expect(shown.contains("org.ffmpeg.ffmpeg") == !isCut, "\(shown.debugDescription)")
    }

    @Test func `output ends silently when its reader ends, and with an error on a full disk`()
        throws
    {
        let daemon = try FakeDaemon()
        // The process that starts us may ignore SIGPIPE, as Python does; we still end by that
        // signal.
        for restores in ["True", "False"] {
            let left = PythonClient.shell(
                """
                python3 -c 'import os, subprocess
                reader, writer = os.pipe()
                os.close(reader)
                ended = subprocess.run(["\(client)", "list", "--socket", "\(daemon.server.path)"],
                    stdout=writer, stderr=subprocess.PIPE, restore_signals=\(restores))
                print(ended.returncode, ended.stderr)'
                """)
            #expect(left.output == "-13 b''\n")
        }
        let full = PythonClient.shell(
            "\(client) list --socket \(daemon.server.path) 2>&1 >/dev/full")
        #expect(full.output.contains("greenroomctl: writing the output: no space left on device"))
        #expect(full.status == 1)
    }

    private var client: String { `greenroomctl run`.program }
}
