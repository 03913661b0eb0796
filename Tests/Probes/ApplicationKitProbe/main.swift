/// An app that prints a line for everything that happens to it. `PROBE_DELEGATE` chooses its delegate before
/// the pause; other `PROBE_` variables are read in the callbacks, from the launch's environment:
///
///     PROBE_LOG=FILE      the lines are written to FILE.PID as well
///     PROBE_HANG=WORD     it hangs after a line that begins with WORD
///     PROBE_FLOOD=WORD    it sends the daemon thousands of messages after such a line
///     PROBE_GATES=WORD=FIFO,…  it waits after such a line until somebody opens the FIFO for writing
///     PROBE_WILL, PROBE_DID, PROBE_OPEN, PROBE_ACTION=false    what the methods return
import ApplicationKit
import Glibc

let mainThread = pthread_self()
say("main")
if variable("PROBE_DELEGATE") == "loop" { runOwnLoop() }
if variable("PROBE_DELEGATE") == "exit" { exit(3) }
if variable("PROBE_DELEGATE") == "never" { while true { pause() } }
ApplicationMain(delegates[variable("PROBE_DELEGATE") ?? "both"]!)

/// Also writes the line to a file of this process's own, because a daemon may have the output.
func say(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
    defer { if let word = variable("PROBE_FLOOD"), line.hasPrefix(word) { flood() } }
    guard let log = variable("PROBE_LOG") else { return }
    let file = open("\(log).\(getpid())", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    line.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
    close(file)
    for gate in (variable("PROBE_GATES") ?? "").split(separator: ",") {
        let parts = gate.split(separator: "=").map(String.init)
        if line.hasPrefix(parts[0]) { close(open(parts[1], O_RDONLY | O_CLOEXEC)) }
    }
    // The callback never returns.
    if let word = variable("PROBE_HANG"), line.hasPrefix(word) { while true { pause() } }
}

/// Sends more than fits into a socket that nobody reads.
func flood() {
    MainActor.assumeIsolated { for _ in 0..<5000 { Application.shared.didDrawFirstFrame() } }
}

func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// An event loop in three lines, as of epoll, GLib or Qt.
@MainActor func runOwnLoop() -> Never {
    let application = ApplicationStart(Both.self)
    say("own loop")
    application.processEvents()
    var entry = pollfd(fd: application.channelDescriptor, events: Int16(POLLIN), revents: 0)
    while poll(&entry, 1, -1) >= 0 { application.processEvents() }
    exit(1)
}
