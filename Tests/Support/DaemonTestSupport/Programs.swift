import Glibc
import TestSupport

/// The programs under test.
public enum Programs {
    public static var daemon: String { get throws { try find("greenroomd") } }
    public static var spawner: String { get throws { try find("greenroom-spawner") } }
    public static var client: String { get throws { try find("greenroomctl") } }

    /// The small client for the plain form of `greenroomctl run`.
    public static var runner: String { get throws { try find("greenroom-run") } }

    /// The path of an app that speaks the channel without the SDK.
    public static var applicationProbe: String { get throws { try find("application-probe") } }

    /// The path of an app that is made with the SDK, or of a sample.
    public static func built(_ name: String) throws -> String { try find(name) }

    /// The path of a program beside the test bundle, from the same build.
    private static func find(_ name: String) throws -> String {
        for argument in CommandLine.arguments {
            var directory = argument[...]
            while let slash = directory.lastIndex(of: "/") {
                directory = directory[..<slash]
                let path = "\(directory)/\(name)"
                if isProgram(path) { return path }
            }
        }
        let path = "\(packageRoot)/.build/debug/\(name)"
        guard isProgram(path) else { throw TestError("\(name) is not built") }
        return path
    }

    /// Whether this is a file that can be executed. access(2) alone would accept a folder with the
    /// same name, as there are in Sources.
    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
