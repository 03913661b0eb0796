internal import ApplicationKit
internal import Glibc

/// Fetch: keeps a history of what a file says (its first argument, else the system's load), a line per
/// refresh. A timer of its manifest launches it in the background; in the foreground it shows the history.
@main final class FetchApp: ApplicationDelegate {
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        let arguments = application.launchInfo.arguments
        let source = arguments.count > 1 ? arguments[1] : "/proc/loadavg"
        let isScheduled = application.launchInfo.reason == .timer
        Task {
            let line = await Self.fetch(source)
            History.append(line)
            say(isScheduled ? "fetched: \(line)\n" : History.text)
            // The work is done: nothing is left to wait for in the background.
            if application.applicationState == .background { exit(0) }
        }
        return true
    }

    /// Off the main thread: a file may be slow.
    @concurrent private static func fetch(_ path: String) async -> String {
        guard let file = unsafe fopen(path, "re") else { return "\(path): errno \(errno)" }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

func say(_ text: String) {
    var text = text
    text.withUTF8 { _ = unsafe write(1, $0.baseAddress, $0.count) }
}
