import Glibc
import GreenroomBus

/// Serves one app's name on the message bus, which starts this program; or watches names and settings
/// for the daemon.
@main struct Program {
    static func main() {
        do {
            switch try BusCommand(Array(CommandLine.arguments.dropFirst())) {
            case .serve(let options):
                var service = try ApplicationService(options)
                guard try service.run() else {
                    complain("\(options.app) has not taken its name on the message bus\n")
                    exit(1)
                }
            case .watch:
                var watch = HeldProgramWatch(on: STDIN_FILENO)
                try watch.run()
            }
        } catch let error as BusOptions.UsageError {
            complain("\(error.message)\n\(BusOptions.usage)")
            exit(64)
        } catch {
            complain("\(error)\n")
            exit(1)
        }
    }

    private static func complain(_ text: String) {
        var text = "greenroom-bus: " + text
        text.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
