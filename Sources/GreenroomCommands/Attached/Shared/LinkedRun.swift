import Glibc
import GreenroomControl

/// greenroom-run or greenroomctl called by the name of an app
/// (`ln -s greenroom-run /usr/local/bin/ffmpeg`): runs that app and passes every argument on.
/// Callers need not change and lose nothing: if no daemon can be reached, if the caller cannot have
/// the app, or if this process may not enter its working directory any more, the next program of that
/// name in PATH is executed instead.
struct LinkedRun: Equatable {
    /// Our programs that run an app by the name of a link.
    static let ownNames = ["greenroomctl", "greenroom-run"]

    /// The first word of the command line, and its last component.
    let call: String
    let name: String
    let arguments: [ByteString]

    /// - Returns: nil if this program was called by its own name.
    init?(_ words: [ByteString]) {
        guard let call = words.first?.shown, let name = call.split(separator: "/").last,
            !Self.ownNames.contains(String(name))
        else { return nil }
        self.call = call
        self.name = String(name)
        arguments = Array(words.dropFirst())
    }

    /// Whether the path is the file of this process, under any name, or a link to another of our
    /// programs. Two of them in PATH would execute each other for ever.
    static func isOurselves(_ path: String) -> Bool { isThisFile(path) || isLinkToOurs(path) }

    /// Resolves the link with realpath(3).
    private static func isLinkToOurs(_ path: String) -> Bool {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFLNK {
            return AppNames.lastComponent(of: path, after: "/").map(ownNames.contains) ?? false
        }
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        let name = AppNames.lastComponent(of: unsafe String(cString: real), after: "/")
        return name.map(ownNames.contains) ?? false
    }

    private static func isThisFile(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        guard unsafe stat("/proc/self/exe", &own) == 0, unsafe stat(path, &other) == 0 else {
            return false
        }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }
}
