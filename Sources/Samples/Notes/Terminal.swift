// (Dispatch's sources are not marked Sendable. The one below stays on the main queue.)
@unsafe @preconcurrency internal import Dispatch
internal import Glibc

/// Reads lines from standard input, on the main queue, until its end. (Without a terminal, it ends
/// at once.)
@MainActor
final class Terminal {
    private let source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .main)
    private var rest: [UInt8] = []
    private let take: @MainActor (String) -> Void

    init(_ take: @escaping @MainActor (String) -> Void) {
        self.take = take
        source.setEventHandler { [weak self] in
            MainActor.assumeIsolated { self?.read() }
        }
        source.activate()
    }

    isolated deinit { source.cancel() }

    private func read() {
        var part = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(0, &part, part.count)
        guard count > 0 else { return source.cancel() }
        rest += part[..<count]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest.removeSubrange(...end)
            take(line)
        }
    }

    static func say(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { _ = unsafe write(1, $0.baseAddress, $0.count) }
    }
}
