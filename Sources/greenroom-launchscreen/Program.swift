import Glibc
import GreenroomSession

/// Shows the launch screens of apps on a display.
@main struct Program {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] {
            write(SessionOptions.usage(of: .launchScreen), to: STDOUT_FILENO)
            exit(0)
        }
        do {
            var presenter = try LaunchScreenPresenter(
                SessionOptions(arguments, of: .launchScreen))
            try presenter.run()
        } catch let error as SessionOptions.UsageError {
            let usage = SessionOptions.usage(of: .launchScreen)
            write("greenroom-launchscreen: \(error.message)\n\(usage)", to: STDERR_FILENO)
            exit(64)
        } catch {
            write("greenroom-launchscreen: \(error)\n", to: STDERR_FILENO)
            // With this status (EX_UNAVAILABLE), the unit does not start it again.
            exit(69)
        }
    }

    private static func write(_ text: String, to descriptor: CInt) {
        var text = text
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
