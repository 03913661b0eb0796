import Glibc
import Systemd

/// `serve NAME LOG [WORD...]`: a program that takes its name on the bus by itself, as GTK programs
/// do, and writes down its arguments and the calls that it gets. With `GATE=FIFO` it takes the name
/// only after somebody has opened the other end of the FIFO.
func serve(_ words: [String]) {
    let (name, log) = (words[0], words[1])
    note("started \(words.dropFirst(2).joined(separator: " "))", in: log)
    if let gate = getenv("GATE") { close(open(String(cString: gate), O_RDONLY)) }
    do {
        let bus = try ServiceBus()
        guard try bus.request(name) else { return note("taken", in: log) }
        note("owns its name", in: log)
        while true {
            guard let call = try bus.next(within: .seconds(3600)) else { continue }
            // gdbus(1) asks for it before each call.
            if call.member == "Introspect" {
                try call.fail("org.freedesktop.DBus.Error.UnknownMethod", "not here")
                continue
            }
            note("called \(call.member) \(call.strings() ?? [])", in: log)
            try call.reply()
        }
    } catch {
        note("over", in: log)
    }
}

private func note(_ line: String, in log: String) {
    let file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o666)
    let bytes = Array((line + "\n").utf8)
    _ = write(file, bytes, bytes.count)
    close(file)
}
