import Glibc
import GreenroomForeground

/// Reports the foreground of a display to greenroomd.
@main struct Program {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] {
            write(ReporterOptions.usage, to: STDOUT_FILENO)
            exit(0)
        }
        do {
            try ForegroundReporter(ReporterOptions(arguments)).run()
        } catch let error as ReporterOptions.UsageError {
            let usage = ReporterOptions.usage
            write("greenroom-foreground: \(error.message)\n\(usage)", to: STDERR_FILENO)
            exit(64)
        } catch {
            write("greenroom-foreground: \(error)\n", to: STDERR_FILENO)
            // Its unit does not start it again (EX_UNAVAILABLE).
            exit(69)
        }
    }

    private static func write(_ text: String, to descriptor: CInt) {
        var text = text
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
