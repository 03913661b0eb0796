import Glibc
import Systemd

@LoopActor func runNotify() {
    say("told \(Notify.ready(status: "one\nREADY=0"))")
    Notify.status("two")
    Notify.reloading()
    Notify.stopping(status: "three")
    finish()
}

@LoopActor func runWatchdog(_ keep: Keep) throws {
    say("asked \(try LoopActor.shared.loop.setWatchdog(true))")
    keep.sources.append(try LoopActor.io(0, .readable) { _ in finish() })
}

@LoopActor func runLog() {
    let journal = Journal(identifier: "probe", fieldPrefix: "PROBE_", level: .notice)
    journal.log(.warning, "message", ["app": "org.x", "instance": "4"])
    journal.log(.info, "below the level")
    journal.level = .debug
    journal.log(.debug, "two\nlines", ["why": "a b"])
    finish()
}

/// Logs with fields to a journal of its own, because the test has given this process its own /run.
@LoopActor func runStructured() throws {
    mkdir("/run/systemd", 0o755)
    mkdir("/run/systemd/journal", 0o755)
    let listener = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
        $0.copyBytes(from: "/run/systemd/journal/socket".utf8)
    }
    let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    var status = stat()
    fstat(2, &status)
    setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
    Journal(identifier: "probe", fieldPrefix: "PROBE_").log(
        .error, "two\nlines", ["exitStatus": "3"])
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bound == 0 ? recv(listener, &bytes, bytes.count, CInt(MSG_DONTWAIT)) : -1
    // In the journal's format, a value with a newline has a binary length, which is shown as dots.
    let text = bytes.prefix(max(0, count)).map { $0 == 10 || (32..<127).contains($0) ? $0 : 46 }
    say(String(decoding: text, as: UTF8.self))
    finish()
}
