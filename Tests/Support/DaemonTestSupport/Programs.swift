import Glibc
import TestSupport

/// The programs under test.
public enum Programs {
    public static var daemon: String { get throws { try find("greenroomd") } }
    public static var spawner: String { get throws { try find("greenroom-spawner") } }
    public static var client: String { get throws { try find("greenroomctl") } }

    /// The small client for the plain form of `greenroomctl run`.
    public static var runner: String { get throws { try find("greenroom-run") } }

    /// An app that speaks the channel without the SDK.
    public static var applicationProbe: String { get throws { try find("application-probe") } }

    /// An app made with the SDK, or a sample.
    public static func built(_ name: String) throws -> String { try find(name) }

    /// A program beside the test bundle, from the same build.
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

    /// Only a file: access(2) says that a folder of the same name, as in Sources, can be executed
    /// too.
    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
