import Glibc
import GreenroomSession

/// Reports the foreground of a display to greenroomd.
@main struct Program {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] {
            write(SessionOptions.usage(of: .foreground), to: STDOUT_FILENO)
            exit(0)
        }
        do {
            try ForegroundReporter(SessionOptions(arguments, of: .foreground)).run()
        } catch let error as SessionOptions.UsageError {
            let usage = SessionOptions.usage(of: .foreground)
            write("greenroom-foreground: \(error.message)\n\(usage)", to: STDERR_FILENO)
            exit(64)
        } catch {
            write("greenroom-foreground: \(error)\n", to: STDERR_FILENO)
            // With this status (EX_UNAVAILABLE), the unit does not start it again.
            exit(69)
        }
    }

    private static func write(_ text: String, to descriptor: CInt) {
        var text = text
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
