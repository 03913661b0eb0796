internal import Glibc

/// The fetched lines with their times, in the file `FETCH_FILE`, else in a file in the app's data
/// directory.
enum History {
    private static var path: String {
        func variable(_ name: String) -> String? {
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        let data = variable("XDG_DATA_HOME") ?? (variable("HOME") ?? "/tmp") + "/.local/share"
        return variable("FETCH_FILE") ?? data + "/greenroom-fetch.txt"
    }

    static func append(_ line: String) {
        guard let file = unsafe fopen(path, "ae") else { return }
        unsafe fputs("\(time(nil)) \(line)\n", file)
        unsafe fclose(file)
    }

    static var text: String {
        guard let file = unsafe fopen(path, "re") else { return "" }
        defer { unsafe fclose(file) }
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while case let count = unsafe fread(&part, 1, part.count, file), count > 0 {
            all += part[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }
}
