/// An app that says on its standard output, a line each, what happens to it. `PROBE_DELEGATE` chooses its
/// delegate before the pause; other `PROBE_` variables are read in the callbacks, from the launch's environment.
import ApplicationKit
import Glibc

let mainThread = pthread_self()
say("main")
if variable("PROBE_DELEGATE") == "loop" { runOwnLoop() }
if variable("PROBE_DELEGATE") == "exit" { exit(3) }
ApplicationMain(delegates[variable("PROBE_DELEGATE") ?? "both"]!)

func say(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
}

func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// An epoll, GLib or Qt loop in three lines.
@MainActor func runOwnLoop() -> Never {
    let application = ApplicationStart(Both.self)
    say("own loop")
    application.processEvents()
    var entry = pollfd(fd: application.channelDescriptor, events: Int16(POLLIN), revents: 0)
    while poll(&entry, 1, -1) >= 0 { application.processEvents() }
    exit(1)
}
