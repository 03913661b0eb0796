import Glibc
import GreenroomAppChannel
import GreenroomLinux

/// An app that speaks the channel without the SDK. It writes each event as a line to `PROBE_LOG`,
/// and acknowledges the event, unless its environment says otherwise:
///
///     PROBE_HANG=WORD     sends nothing more after the event WORD
///     PROBE_GARBAGE=WORD  answers WORD with garbage, and then sends nothing more
///     PROBE_FLOOD=WORD    answers WORD with thousands of messages, then acknowledges it
///     PROBE_SCENE=WORD    asks for a new scene at the event WORD
///     PROBE_OPEN=URL      opens the URL in front, PROBE_OPENS=COUNT times
///     PROBE_DRAW=WORD     says at the event WORD that it has drawn
///     PROBE_GATE=FIFO     after its launch, waits at this FIFO, and then at FIFO2
///     PROBE_WAIT=WORD     waits at the FIFO PROBE_WAIT_AT before it answers WORD
///     PROBE_TAMPER=1      after its launch, tries to change the credentials
///     PROBE_NO_MAIN=1     never calls ApplicationMain when prewarmed
@main struct Program {
    static let channel: Int32 =
        variable("GREENROOM_CHANNEL").flatMap {
            Int32($0.prefix { $0 != ":" })
        } ?? -1
    static let isPrewarmed = variable("ActivePrewarm") != nil
    nonisolated(unsafe) static var isMute = false
    nonisolated(unsafe) static var nextRequest: UInt64 = 8
    nonisolated(unsafe) static var credentials: FileDescriptor?

    static func main() {
        guard channel >= 0 else { return }
        if isPrewarmed {
            guard variable("PROBE_NO_MAIN") == nil else { return sleepForEver() }
            send(
                .paused(
                    .init(
                        reason: .applicationMain, threadCount: 1, argumentCount: 1,
                        instant: now)))
        }
        var buffer = [UInt8](repeating: 0, count: WireFormat.datagramLimit)
        var launch: AppLaunch?
        let socket = UnixSocket(FileDescriptor(owning: channel))
        while true {
            let received = buffer.withUnsafeMutableBytes { try? socket.receive(into: $0) }
            guard let received, received.byteCount > 0 else {
                return launch == nil ? () : sleepForEver()
            }
            guard
                let message = try? DaemonMessage(
                    decoding: buffer.span.extracting(..<received.byteCount).bytes,
                    descriptorCount: received.descriptors.count)
            else {
                note("misunderstood")
                continue
            }
            if case .event = message { credentials = received.descriptors.first ?? credentials }
            switch message {
            case .ping(let cookie): send(.pong(cookie: cookie))
            case .quit: return
            // This message is for programs that are held at their first window.
            case .nameIsWatched: break
            case .go(let go):
                send(.started(cookie: go.cookie))
                if let launch { begin(launch) }
            case .event(.launch(let received)):
                launch = received
                if !isPrewarmed {
                    send(.started(cookie: received.cookie))
                    begin(received)
                }
            case .event(let event): take(event)
            }
        }
    }

    static func begin(_ launch: AppLaunch) {
        let place = launch.flags.contains(.foreground) ? "foreground" : "background"
        let data = launch.flags.contains(.protectedDataAvailable) ? "unlocked" : "locked"
        note("launch \(launch.reason) \(place) \(data)\(words(launch.content))\(token)")
        if variable("PROBE_TAMPER") != nil { tamper() }
        if let sockets = variable("LISTEN_FDS") { note("sockets \(sockets)") }
        for step in [AppReport.LaunchStep.main, .willFinishLaunching, .didFinishLaunching] {
            send(.report(.launchStep(step, at: now, session: nil)))
        }
        // Waits at each FIFO until somebody opens the other end.
        if let gate = variable("PROBE_GATE") {
            for fifo in [gate, gate + "2"] { close(open(fifo, O_RDONLY)) }
        }
        answer("launch", launch.cookie)
    }

    static func take(_ event: AppEvent) {
        let word: String
        switch event {
        case .launch: return
        case .lifecycle(.protectedDataWillBecomeUnavailable, _):
            word = "protectedDataWillBecomeUnavailable\(token)"
        case .lifecycle(let event, _): word = "\(event)"
        case .connectScene(let connection):
            let place = connection.isForForeground ? "" : " in the background"
            word = "connect \(connection.session)\(place)\(words(connection.content))"
        case .scene(let transition, let session, _): word = "\(transition) \(session)"
        case .discardScenes(let sessions, _):
            word = "discard \(sessions.joined(separator: " "))"
        case .deliver(let content, let session, _):
            word = "deliver \(session ?? "app")\(words(content))"
        case .handleEvents(let reason, let content, let cookie):
            // The other reasons come with another message as well.
            guard [.location, .timer, .socket, .path, .system].contains(reason) else {
                return send(.report(.acknowledged(cookie: cookie, handled: true)))
            }
            word = "handleEvents \(reason)\(words(content))"
        case .credentials: word = "credentials\(token)"
        case .metrics(let reports, _): word = "metrics \(reports.count)"
        case .diagnostics(let reports, _): word = "diagnostics \(reports.count)"
        case .restoreState(let state, let session, _):
            word =
                "restore \(session ?? "-") \(state?.archive.entries.joined(separator: ";") ?? "none")\(token)"
        // A daemon that has just started asks this. This app never asks again.
        case .askAgain: return
        case .answer(let request, .done): word = "answer \(request) done"
        case .answer(let request, .refused): word = "answer \(request) refused"
        case .background: word = "background time"
        }
        note(word)
        if variable("PROBE_SCENE") == word {
            send(.report(.requestScene(.activate(session: nil, AppContent()), cookie: 7)))
        }
        if let url = variable("PROBE_OPEN"), word.hasPrefix("didBecomeActive") {
            for _ in 0..<(variable("PROBE_OPENS").flatMap { Int($0) } ?? 1) {
                send(.report(.openURL(url, cookie: nextRequest)))
                nextRequest += 1
            }
        }
        if let cookie = event.cookie { answer(word, cookie) }
        if word == "willTerminate" { exit(0) }
    }

    /// The value of the credential `token`, as the words after a message.
    static var token: String {
        guard let credentials else { return "" }
        let bytes = (try? credentials.readBytes(atMost: CredentialFile.byteLimit)) ?? []
        let value = try? CredentialFile.value(of: "token", in: bytes)
        return " token \(value.map { String(decoding: $0, as: UTF8.self) } ?? "unreadable")"
    }

    static func answer(_ word: String, _ cookie: UInt64) {
        // Waits once, until somebody opens the other end.
        if let gate = variable("PROBE_WAIT_AT"), let wait = variable("PROBE_WAIT"),
            word.hasPrefix(wait)
        {
            unsetenv("PROBE_WAIT")
            close(open(gate, O_RDONLY))
        }
        if let draw = variable("PROBE_DRAW"), word.hasPrefix(draw) {
            send(.report(.didDrawFirstFrame(at: now, session: nil)))
        }
        if variable("PROBE_HANG") == word { isMute = true }
        if variable("PROBE_GARBAGE") == word {
            var bytes = [UInt8](repeating: 0xA5, count: 200)
            Glibc.send(channel, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
            isMute = true
        }
        if variable("PROBE_FLOOD") == word {
            for count in 0..<5000 {
                send(.report(.launchStep(.eventLoop, at: now, session: nil)))
                send(.report(.acknowledged(cookie: UInt64(count) << 20, handled: true)))
            }
        }
        send(.report(.acknowledged(cookie: cookie, handled: true)))
    }

    static func words(_ content: AppContent) -> String {
        var words = content.urls.map(\.url)
        words += content.urls.compactMap { $0.annotation.map { "annotation \($0)" } }
        words += content.urls.compactMap { $0.eventAttribution.map { "attribution \($0)" } }
        if let source = content.sourceApplication { words.append("from \(source)") }
        if let action = content.quickAction { words.append("action \(action.type)") }
        words += content.userActivities.map { "activity \($0.type)" }
        if let payload = content.remoteNotification { words.append("notification \(payload)") }
        if content.isForLocation { words.append("location") }
        return words.map { " " + $0 }.joined()
    }

    static func note(_ line: String) {
        guard let path = variable("PROBE_LOG") else { return }
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o666)
        var bytes = Array((line + "\n").utf8)
        write(file, &bytes, bytes.count)
        close(file)
    }

    static func send(_ message: AppMessage) {
        guard !isMute, let encoded = try? message.encoded() else { return }
        var bytes = encoded
        // Waits while the daemon does not read, because no acknowledgement may be lost.
        Glibc.send(channel, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    static func sleepForEver() { while true { pause() } }

    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
