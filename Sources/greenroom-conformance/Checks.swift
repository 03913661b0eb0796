import Glibc
import GreenroomAppChannel
import GreenroomLinux

// The rules, in the order of an app's life. Sources: UIKit's launch sequence, and the table of
// messages in greenroom-protocol(7).

extension Check {
    static let pausing: [Check] = [
        .init("a prewarmed app pauses at application-main, on one thread") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            let pause = try client.awaitPause()
            try require(
                pause.reason == .applicationMain,
                "it must pause at application-main, not at \(pause.reason)")
            try require(
                pause.instant >= client.startedAt && pause.instant <= MonotonicClock.nanoseconds,
                "PAUSED must have the time of CLOCK_MONOTONIC")
            let count = Self.entries(client.file("task")).count
            try require(
                pause.threadCount == 0 || Int(pause.threadCount) == count,
                "it says that it has \(pause.threadCount) threads, and has \(count)")
            try require(count == 1, "it has \(count) threads before the launch; start none")
            try client.settle()
        },
        .init("a paused app answers PING") { (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            for _ in 0..<3 { try client.settle() }
        },
        .init("a paused app refuses unknown messages, and goes on waiting") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            try client.send(bytes: Self.unknown(cookie: 77))
            try client.awaitError(ENOSYS, cookie: 77, "an unknown message")
            try client.settle()
        },
        .init("an app that is not launched refuses events") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            try client.send(.lifecycle(.didBecomeActive, cookie: 78))
            try client.awaitError(EPROTO, cookie: 78, "an event before the launch")
            try client.settle()
        },
        .init("a paused app that is told to quit ends without having run") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            try client.send(.quit)
            try Self.requireSilentEnd(of: client)
        },
        .init("a paused app whose daemon is gone ends without having run") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            client.closeChannel()
            let status = try client.awaitExit()
            try require(status == .exited(0), "it must end with status 0, not with \(status)")
        },
        .init("the channel is closed in programs that the app starts") {
            (bench) throws(Fault) in
            let client = try bench.start(.prewarmed)
            try client.awaitPause()
            let info = (try? SmallFile.text(of: client.file("fdinfo/1023"))) ?? ""
            let flags = info.split(separator: "\n").first { $0.hasPrefix("flags:") }
                .flatMap { CInt($0.split(separator: "\t").last ?? "", radix: 8) }
            // If the app has moved the channel to another number, this descriptor no longer exists.
            try require(flags.map { $0 & O_CLOEXEC != 0 } ?? true, "it is not close-on-exec")
        },
    ]

    static let launching: [Check] = [
        .init("a cold launch is started and acknowledged") { (bench) throws(Fault) in
            try bench.launched(.cold).settle()
        },
        .init("a prewarmed launch is started and acknowledged") {
            (bench) throws(Fault) in
            try bench.launched(.prewarmed).settle()
        },
        .init("the launch's directory, umask and descriptors become the app's") {
            (bench) throws(Fault) in
            try Self.checkPlaces(bench)
        },
        .init("steps of the launch come in their order, with times that follow each other") {
            (bench) throws(Fault) in
            for start in [Bench.Start.cold, .prewarmed] {
                try Self.checkSteps(try bench.launched(start))
            }
        },
        .init("launch options of a newer daemon are ignored") {
            (bench) throws(Fault) in
            let client = try bench.start(.cold)
            var launch = client.plainLaunch([.foreground, .protectedDataAvailable])
            launch.flags.insert(AppLaunch.Flags(rawValue: 1 << 30))
            launch.content.urls = [AppContent.OpenURL("conformance:1")]
            launch.content.sourceApplication = "org.example.conformance"
            try client.launch(launch)
            try client.awaitAcknowledgement(of: launch.cookie)
            try client.settle()
        },
        .init("a launch into the background gets no foreground event") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, [.protectedDataAvailable])
            try client.tell(.didEnterBackground)
            try client.settle()
            try require(
                !client.steps.contains { $0.step == .active }, "it says that it was active")
        },
    ]

    static func require(
        _ condition: Bool, _ words: @autoclosure () -> String
    ) throws(Fault) {
        if !condition { throw Fault(words()) }
    }

    /// A message with a number that no version of the protocol uses.
    static func unknown(cookie: UInt64) -> [UInt8] {
        var bytes = (try? DaemonMessage.ping(cookie: cookie).encoded().datagram) ?? []
        bytes[6] = 0xFF
        bytes[7] = 0x7F
        return bytes
    }

    static func requireSilentEnd(of client: TestedApp) throws(Fault) {
        if let message = try client.next() {
            throw Fault("it says \(client.words(message)) and was not launched")
        }
        let status = try client.awaitExit()
        try require(status == .exited(0), "it must end with status 0, not with \(status)")
    }

    static func entries(_ directory: String) -> [String] {
        (try? FolderContents.names(in: directory)) ?? []
    }

    private static func checkSteps(_ client: TestedApp) throws(Fault) {
        try client.tell(.didBecomeActive)
        try client.settle()
        let names = client.steps.map { "\($0.step)" }.joined(separator: ", ")
        // An app need not report steps that it does not have, but every app has these.
        for step in [
            AppReport.LaunchStep.main, .willFinishLaunching, .didFinishLaunching, .active,
        ] {
            let count = client.steps.count { $0.step == step }
            try require(count == 1, "\(step) is reported \(count) times: \(names)")
        }
        for (earlier, later) in zip(client.steps, client.steps.dropFirst()) {
            try require(
                earlier.step.rawValue < later.step.rawValue && earlier.instant <= later.instant,
                "\(later.step) comes after \(earlier.step): \(names)")
        }
        let now = MonotonicClock.nanoseconds
        try require(
            client.steps.allSatisfy { client.startedAt <= $0.instant && $0.instant <= now },
            "the times of steps must be those of CLOCK_MONOTONIC")
    }

    private static func checkPlaces(_ bench: Bench) throws(Fault) {
        let client = try bench.start(.prewarmed)
        try client.awaitPause()
        guard let directory = try? FileDescriptor.open("/proc", O_RDONLY | O_DIRECTORY),
            let file = try? FileDescriptor.open("/proc/version", O_RDONLY)
        else { throw Fault("/proc is not mounted") }
        try client.launch(
            client.plainLaunch([.foreground, .protectedDataAvailable]),
            {
                $0.umask = 0o157
                $0.roles = [.place(0), .workingDirectory]
            }, descriptors: [file, directory])
        try client.awaitAcknowledgement(of: TestedApp.launchCookie)
        let place = Self.link(client.file("cwd"))
        try require(place == "/proc", "it runs in \(place), not in the launch's directory")
        let input = Self.link(client.file("fd/0"))
        try require(
            input == "/proc/version", "its standard input is \(input), not the launch's")
        let status = (try? SmallFile.text(of: client.file("status"))) ?? ""
        let mask = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        try require(
            mask.map { $0.hasSuffix("0157") } ?? true, "its umask is not that of the launch")
    }

    private static func link(_ path: String) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink(path, &buffer, buffer.count - 1)
        guard count > 0 else { return "nothing" }
        return String(
            decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
