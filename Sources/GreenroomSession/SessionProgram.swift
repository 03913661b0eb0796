internal import Glibc

/// The programs of a desktop session.
public enum SessionProgram: String, Sendable {
    case foreground = "greenroom-foreground"
    case launchScreen = "greenroom-launchscreen"

    /// Executes the program by its command line.
    ///
    /// - Parameter body: serves until the display ends.
    public func main(_ body: (SessionOptions) throws -> Void) {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] {
            Self.write(SessionOptions.usage(of: self), to: STDOUT_FILENO)
            exit(0)
        }
        do {
            try body(SessionOptions(arguments, of: self))
        } catch let error as SessionOptions.UsageError {
            Self.write(
                "\(rawValue): \(error.message)\n\(SessionOptions.usage(of: self))",
                to: STDERR_FILENO)
            exit(64)
        } catch {
            Self.write("\(rawValue): \(error)\n", to: STDERR_FILENO)
            // Its unit starts it again only after EX_TEMPFAIL, not after EX_UNAVAILABLE.
            exit((error as? UnusableSession)?.isTemporary == true ? 75 : 69)
        }
    }

    private static func write(_ text: String, to descriptor: CInt) {
        var text = text
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
