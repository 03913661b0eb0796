import Glibc

/// A target takes bytes that libFuzzer has made, and traps if the code under test breaks a promise.
typealias Target = @Sendable (Input) -> Void

/// The targets by name. FUZZ_TARGET= chooses one, and "list" lists them. Each has a folder in
/// Tests/Suites/fuzz/corpus.
let targets: [(name: String, run: Target)] = [
    ("varlink-server", fuzzServerConnection), ("varlink-client", fuzzClientConnection),
    ("json", fuzzJSON), ("interface", fuzzInterface), ("control-call", fuzzControlCall),
    ("control-reply", fuzzControlReply), ("channel-app", fuzzAppMessage),
    ("channel-daemon", fuzzDaemonMessage), ("spawner-request", fuzzSpawnerRequest),
    ("spawner-message", fuzzSpawnerMessage), ("manifest", fuzzManifest),
    ("configuration", fuzzConfiguration), ("unit-file", fuzzUnitFile),
    ("desktop-entry", fuzzDesktopEntry), ("shim", fuzzShim), ("descriptors", fuzzDescriptors),
    ("environment", fuzzEnvironment),
]

/// The bytes that libFuzzer made, used from the front.
struct Input {
    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// The next byte, for choices; 0 at the end.
    mutating func choice() -> Int { Int(bytes.popFirst() ?? 0) }

    /// The remaining bytes.
    var rest: [UInt8] { Array(bytes) }
    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func take(_ count: Int) -> [UInt8] {
        defer { bytes = bytes.dropFirst(count) }
        return Array(bytes.prefix(count))
    }
}

private let chosen: Target = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = targets.first(where: { $0.name == name }) { return target.run }
    for target in targets { print(target.name) }
    exit(name == "list" ? 0 : 64)
}()

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer
) -> CInt {
    _ = chosen
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    chosen(Input(Array(UnsafeBufferPointer(start: start, count: count))))
    return 0
}

/// Works in an optimized build, unlike `assert`, and shows the values, unlike `precondition`.
func expect<Value: Equatable>(_ left: Value, _ right: Value, _ what: String) {
    if left != right { fatalError("\(what): \(left) is not \(right)") }
}
