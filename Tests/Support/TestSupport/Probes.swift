import Glibc
import Synchronization
import Testing

/// The package's folder, from where this file was compiled.
public let packageRoot: String = {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(4).joined(separator: "/")
}()

/// How a probe is compiled.
public struct ProbeCompiler: Hashable, Sendable {
    public var compiler: String
    public var flags: [String]
    public init(_ compiler: String, _ flags: [String] = []) {
        self.compiler = compiler
        self.flags = flags
    }
    public static let standard = ProbeCompiler("clang")
}

/// Compiled probes, shared by the tests of one process and removed with it.
private struct ProbeCache {
    var directory: TemporaryDirectory?
    var built: [String: String] = [:]
}
private let cache = Mutex(ProbeCache())

/// Compiles `Tests/Probes/NAME` (a C or C++ source) once per process and returns the program.
public func compileProbe(
    _ name: String, with compiler: ProbeCompiler = .standard, output: String? = nil
) throws -> String {
    try compile(source: "\(packageRoot)/Tests/Probes/\(name)", with: compiler, output: output)
}

/// Compiles a program and a library from the same source, the library with `-DLIBRARY`: a library's
/// constructor runs before a prewarmed instance pauses, the executable's does not.
public func compileWithLibrary(
    source: String, with compiler: ProbeCompiler = .standard
) throws -> String {
    let library = try compile(
        source: source,
        with: ProbeCompiler(
            compiler.compiler, compiler.flags + ["-DLIBRARY", "-shared", "-fPIC"]),
        output: "libearly.so")
    return try compile(
        source: source,
        with: ProbeCompiler(
            compiler.compiler, compiler.flags + ["-Wl,--no-as-needed", library]))
}

/// Compiles any source once per process; skips the test when there is no such compiler.
public func compile(
    source: String, with compiler: ProbeCompiler = .standard, output: String? = nil
) throws -> String {
    let program = findProgram("\(swiftPrograms)/\(compiler.compiler)", compiler.compiler)
    try requireOrSkip(program != nil, "no compiler \(compiler.compiler)")
    let key = "\(source) \(compiler) \(output ?? "")"
    return try cache.withLock { cache in
        if let path = cache.built[key] { return path }
        let directory = try cache.directory ?? TemporaryDirectory()
        if cache.directory == nil {
            cache.directory = directory
            temporaryProbes.withLock { $0 = directory.path }
            atexit { temporaryProbes.withLock { removeTree($0) } }
        }
        let folder = "\(directory.path)/\(cache.built.count)"
        mkdir(folder, 0o755)
        let stem = source.split(separator: "/").last!.split(separator: ".").first!
        let path = "\(folder)/\(output ?? String(stem))"
        var request = ChildRequest(
            program!, arguments: [program!, source, "-o", path] + compiler.flags)
        request.environment = inheritedEnvironment()
        request.directory = folder
        let result = try run(request, mergingErrors: true)
        guard result.exit == .status(0) else {
            throw TestError(
                "\(compiler.compiler) \(source): \(String(decoding: result.output, as: UTF8.self))")
        }
        cache.built[key] = path
        return path
    }
}
private let temporaryProbes = Mutex("")

/// The folder of Swift's own programs: its clang comes before any other of that name.
private let swiftPrograms: String = {
    let script = "\(packageRoot)/Tests/Tools/toolchain"
    var request = ChildRequest(script, arguments: [script])
    request.environment = inheritedEnvironment()
    let output = (try? run(request))?.output.split(separator: UInt8(ascii: "\n")).first
    return output.map { String(decoding: $0, as: UTF8.self) } ?? "/nonexistent"
}()

/// The test's own environment as `NAME=value`.
public func inheritedEnvironment() -> [String] {
    (try? readFile("/proc/self/environ"))?.split(separator: 0)
        .map { String(decoding: $0, as: UTF8.self) } ?? []
}

/// The preload shim, and the library that withholds windows beside it, built if they are older than
/// their sources.
public func prewarmShim() throws -> String {
    try shim.get()
}
private let shim: Result<String, any Error> = Result {
    guard let make = findProgram("make") else { throw TestError("make is missing") }
    let compiler = findProgram("\(swiftPrograms)/clang", "clang") ?? "clang"
    var request = ChildRequest(
        make,
        arguments: [
            make, "-s", "-f", "Sources/CPrewarm/build.mk", "-f", "Sources/CWithhold/build.mk",
            "SHIM_CC=\(compiler)", "shim", "withhold",
        ])
    request.environment = inheritedEnvironment()
    request.directory = packageRoot
    let result = try run(request, mergingErrors: true)
    guard result.exit == .status(0) else {
        throw TestError("the shim: \(String(decoding: result.output, as: UTF8.self))")
    }
    return "\(packageRoot)/.build/shim/libgreenroom-prewarm.so"
}
