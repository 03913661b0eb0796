import ArgumentParser
import Glibc
@testable import GreenroomCommands
import GreenroomControl
import GreenroomLinux
import GreenroomSpawner
import GreenroomSupervisor
import Testing
import Varlink

/// Compares the texts for users word for word.
@Suite struct `Texts for users` {
    @Test func `the texts for wrong command lines equal the snapshot`() throws {
        var text = ""
        for line in Self.wrongLines {
            let words = line.split(separator: " ").map(String.init)
            var message = "accepted\n"
            if let complaint = Greenroomctl.complaint(about: words) {
                text += "$ greenroomctl \(line)\n\(complaint)\n\n"
                continue
            }
            do {
                _ = try Greenroomctl.parseAsRoot(words)
            } catch {
                message = Greenroomctl.fullMessage(for: error, columns: 80) + "\n"
            }
            text += "$ greenroomctl \(line)\n\(message)\n"
        }
        try expectSnapshot(text, "greenroomctl-usage.txt")
    }

    private static let wrongLines = [
        "lunch", "frobnicate", "", "--verbose", "--socket /x list", "kill", "kill a.b --instance 1",
        "kill --instance x", "status a.b --instance 1",
        "status --state asleep", "prewarm a.b --count 0", "launch", "launch a.b --env X",
        "launch a.b --env A=1 --env A=2", "launch a.b argument", "run a.b -i", "verify",
        "reload a.b",
        "list --color blue", "completion tcsh", "explain", "watch --jsn",
    ]

    @Test func `the texts for failed calls equal the snapshot`() throws {
        var text = ""
        for failure in Self.failures {
            text += "\(failure.exitCode) (run: \(failure.attachedExitCode)): \(failure)\n"
        }
        try expectSnapshot(text, "greenroomctl-failures.txt")
    }

    private static let failures: [Failure] =
        [ENOENT, ECONNREFUSED, EACCES, EMFILE].map {
            .unreachable(
                path: "/run/greenroom/control", SystemError(code: $0, call: "connect"))
        } + [
            .disconnected, .unknown("io.greenroom.Control.New"),
            .system(SystemError(code: ENOMEM, call: "recvmsg")),
            .ambiguous("passwd", ["org.debian.passwd", "org.other.passwd"]),
            .service(.invalidParameter("count")),
            .service(.methodNotFound("io.greenroom.Control.New")), .service(.permissionDenied),
            .service(.expectedMore),
        ]
        + ([
            .noSuchApp("org.fmpeg", suggestion: "org.ffmpeg"), .noSuchApp("x", suggestion: nil),
            .notRunning(.app("a.b")), .notRunning(.instance(7)), .noSuchLaunch("x-1"),
            .illegalTransition(instance: 7, from: .known(.prewarmed), to: .known(.suspended)),
            .ineligible(app: "a.b"), .refused(code: "over_budget", reason: "it does not fit"),
            .permissionDenied(needed: "root"),
            .spawnFailed(stage: "executing the program", errno: ENOENT, reason: "no such file"),
            .spawnFailed(
                stage: "executing the program", errno: EACCES, reason: "permission denied"),
            .backOff(app: "a.b", retryAfterUSec: 1_500_000, isCrashLooping: false),
            .backOff(app: "a.b", retryAfterUSec: 1_500_000, isCrashLooping: true),
            .backOff(app: "a.b", retryAfterUSec: 1, isCrashLooping: false, wasReclaimed: true),
            .limitExceeded(what: "instances", limit: 2048), .shuttingDown,
        ] as [ControlError]).map(Failure.control)

    @Test func `the help and the usage errors of the daemons equal the snapshot`() throws {
        var text = Options.help + "\n\n"
        for words in [["--verbose"], ["--apps"], ["--config="], ["--version"], ["-x", "y"]] {
            text += "$ greenroomd \(words.joined(separator: " "))\n"
            switch Options.parse(words, environment: [:], isRoot: true, executable: "/x/greenroomd")
            {
            case .run: text += "runs\n\n"
            case .print(let message), .usage(let message): text += message + "\n\n"
            }
        }
        switch Options.parse([], environment: [:], isRoot: false, executable: "/x/greenroomd") {
        case .run: text += "runs\n\n"
        case .print(let message), .usage(let message): text += "$ greenroomd\n\(message)\n\n"
        }
        text += SpawnerOptions.usage + "\n"
        for words in [["--verbose"], ["--runtime-directory"], []] {
            text += "$ greenroom-spawner \(words.joined(separator: " "))\n"
            do throws(SpawnerOptions.UsageError) {
                _ = try SpawnerOptions.parse(words, isRoot: false, environment: { _ in nil })
            } catch {
                text += error.message + "\n\n"
            }
        }
        try expectSnapshot(text, "daemons.txt")
    }
}
