import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A daemon with an app of an interpreter that pauses after its boot, and a folder with the app's
/// programs. Each comparison runs the same words directly and by `greenroomctl run`, from the same
/// folder and with the same environment.
struct RuntimeBench {
    static let app = "org.example.app"

    let folder: TemporaryDirectory
    let daemon: TestDaemon
    /// The first words of a direct call.
    let words: [String]

    /// - Parameters:
    ///   - words: the app's `Exec=`; `FOLDER` stands for the bench's folder.
    ///   - files: the text of each file of the folder; files with a `*` in their name are
    ///     executable.
    ///   - prewarmLines: lines of `[Prewarm]`. By default, launches teach nothing, so a pool is not
    ///     made again while it is used.
    ///   - copies: files that are copied to the folder, by their name there.
    init(
        _ words: [String], files: [String: String] = [:], copies: [String: String] = [:],
        lines: [String] = [], prewarmLines: [String] = ["Imports=none"],
        _ options: TestDaemon.Options = .init()
    ) throws {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        for (name, text) in files {
            let plain = name.replacing("*", with: "")
            var place = folder.path
            for part in plain.split(separator: "/").dropLast() {
                place += "/\(part)"
                mkdir(place, 0o755)
            }
            _ = try folder.write(
                text.replacing("FOLDER", with: folder.path), to: plain,
                mode: name.contains("*") ? 0o755 : 0o644)
        }
        for (name, path) in copies {
            let copied = try run(
                ChildRequest(
                    "/usr/bin/install",
                    arguments: ["install", "-D", "-m", "755", path, folder.path + "/" + name]))
            #expect(copied.exit == .status(0))
        }
        self.folder = folder
        self.words = words.map { $0.replacing("FOLDER", with: folder.path) }
        var app = TestApp(
            Self.app, exec: self.words.joined(separator: " "), prewarm: 1, depth: "auto",
            prewarmLines: prewarmLines)
        app.lines = lines.map { $0.replacing("FOLDER", with: folder.path) }
        daemon = try TestDaemon([app], options)
    }

    /// The environment of the session, which a paused instance has read.
    func environment() throws -> [String] {
        let paused = try daemon.awaitPaused(Self.app)
        let pid = try #require(paused.first?.processId)
        return try readFile("/proc/\(pid)/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }.filter { variable in
            !["LD_PRELOAD=", "GREENROOM_", "PYTHONPATH=", "R_PROFILE_USER=", "R_ENVIRON_USER="]
                .contains { variable.hasPrefix($0) }
        }
    }

    struct Result: Equatable, CustomStringConvertible {
        var exit: ChildProcess.Exit
        var output: String
        var description: String { "\(exit): \(output)" }
    }

    /// Compares a direct call with a launch by the same words. The launch is from the pool, or of
    /// any kind if `kind` is nil.
    func compare(
        _ arguments: [String] = [], input: String? = nil, environment change: [String] = [],
        expecting kind: Control.LaunchKind? = .prewarmed,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let explanation = try daemon.client().explain(Self.app)
        #expect(paused.depth?.known == .runtime, "\(explanation)", sourceLocation: sourceLocation)
        let environment = try environment() + change
        let direct = try call(words + arguments, input, environment)
        let launched = try call(
            [
                try Programs.client, "run", Self.app, "--socket", daemon.socketPath, "--",
            ] + arguments, input, environment)
        #expect(launched == direct, sourceLocation: sourceLocation)
        guard let kind else { return }
        let last = try daemon.client().explain(Self.app).lastLaunch
        #expect(last?.kind.known == kind, "\(last as Any)", sourceLocation: sourceLocation)
        if kind != .cold {
            #expect(last?.instance == paused.instance, sourceLocation: sourceLocation)
        }
    }

    /// Launches the app once an instance is paused, and returns what it printed.
    @discardableResult
    func launch(
        _ arguments: [String] = [], input: Int32? = nil, environment: [String] = []
    ) throws -> (kind: Control.LaunchKind?, text: String) {
        // After a launch with another environment, there is soon an instance for each environment.
        try daemon.await("a paused instance") { client in
            try client.paused(Self.app).isEmpty ? nil : true
        }
        let (launched, text, _) = try daemon.client().run(Self.app, arguments, input: input) {
            call in
            call.environment = environment.compactMap { .init(assignment: .text($0)) }
        }
        return (launched.kind.known, text)
    }

    /// Waits until the app has a list, and an instance that has imported it.
    @discardableResult
    func awaitList() throws -> Control.Note {
        try daemon.await("an instance with a list of imports") { client in
            let note = try client.explain(Self.app).reasons.first { $0.code == "imports_learned" }
            return try client.paused(Self.app).count == 1 ? note : nil
        }
    }

    private func call(
        _ words: [String], _ input: String?, _ environment: [String]
    ) throws -> Result {
        var request = ChildRequest(words[0], arguments: words, environment: environment)
        request.directory = folder.path
        if let input {
            let file = open(try folder.write(input, to: ".input"), O_RDONLY | O_CLOEXEC)
            request.descriptors[0] = file
        }
        defer { if let file = request.descriptors[0] { close(file) } }
        let result = try run(request, mergingErrors: true)
        return Result(exit: result.exit, output: String(decoding: result.output, as: UTF8.self))
    }
}
