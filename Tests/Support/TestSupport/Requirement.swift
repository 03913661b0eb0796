import Glibc
import Synchronization
public import Testing

/// The number of tests that could not run in this process. Each is printed at once, and the sum at
/// exit.
private let skippedTests = Atomic<Int>(0)

/// Returns if `condition` holds; otherwise the test ends here as skipped, which is printed and
/// counted. With `REQUIRE_ALL=1` in the environment, the test fails instead: a machine that should
/// be able to run everything may skip nothing.
public func requireOrSkip(
    _ condition: Bool, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    if condition { return }
    let count = skippedTests.add(1, ordering: .relaxed).newValue
    if count == 1 { atexit { printTotal() } }
    printLine("SKIPPED: \(reason) (\(sourceLocation.fileID):\(sourceLocation.line))")
    if getenv("REQUIRE_ALL").map({ String(cString: $0) }) == "1" {
        Issue.record(
            "REQUIRE_ALL=1, and this cannot run: \(reason)", sourceLocation: sourceLocation)
    }
    try Test.cancel(Comment(rawValue: reason), sourceLocation: sourceLocation)
}

private func printTotal() {
    printLine("SKIPPED in all: \(skippedTests.load(ordering: .relaxed))")
}

private func printLine(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
}

/// The first of the candidates that can be executed; names without a slash are looked up in PATH,
/// then where rustup and Go install.
public func findProgram(_ candidates: String...) -> String? {
    let home = getenv("HOME").map { String(cString: $0) } ?? "/"
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let directories =
        path.split(separator: ":").map(String.init)
        + ["\(home)/.cargo/bin", "/usr/local/go/bin", "/usr/lib/go/bin"]
    for candidate in candidates {
        if candidate.contains("/") {
            if access(candidate, X_OK) == 0 { return candidate }
            continue
        }
        for directory in directories where access("\(directory)/\(candidate)", X_OK) == 0 {
            return "\(directory)/\(candidate)"
        }
    }
    return nil
}
