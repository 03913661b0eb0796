public import ArgumentParser
import Glibc
import GreenroomLinux

/// The command-line client. Each verb is a file in `Verbs`.
public struct Greenroomctl: ParsableCommand {
    public static let version = productVersion

    public static let configuration = CommandConfiguration(
        commandName: "greenroomctl",
        abstract: "Start, prewarm, observe and end apps.",
        discussion: """
            APP is an identifier such as org.ffmpeg.ffmpeg, or its last part if only one app has it.

            Exit codes: 0 done; 1 refused or failed; 2 bad manifest (verify); 64 wrong usage; \
            69 daemon not reached; 77 permission denied. run, and launch --wait, end as the app \
            did, and with 125 if Greenroom failed, 126 if the program cannot be executed, 127 if \
            there is no such app.
            """,
        version: version,
        subcommands: [
            List.self, Status.self, Launch.self, Run.self, Prewarm.self, Foreground.self,
            Background.self, Suspend.self, Resume.self, Terminate.self, Kill.self, Watch.self,
            Explain.self, Logs.self, Verify.self, Reload.self,
            Cat.self, Enable.self, Disable.self, Mask.self, Unmask.self, Edit.self, Delta.self,
            ResetFailed.self, Doctor.self, Completion.self,
            Open.self, Action.self, NotifyApp.self, Activity.self, Scene.self, Lock.self,
            Unlock.self, Prepare.self, Debug.self, Metrics.self, Conformance.self,
            DBusService.self, Tasks.self,
        ])

    public init() {}

    /// Executes the command line and ends the process.
    public static func start() -> Never {
        if let linked = LinkedRun(CommandWords.all) {
            Glibc.exit(linked.execute(StandardConsole()))
        }
        if let plain = AttachedRun(plain: CommandWords.all.dropFirst()) {
            Glibc.exit(plain.execute(StandardConsole()))
        }
        if let complaint = complaint(about: CommandLine.arguments.dropFirst()) {
            StandardConsole().complain(complaint)
            Glibc.exit(ExitStatus.usage.rawValue)
        }
        do {
            var verb = try parseAsRoot()
            try verb.run()
        } catch {
            guard let hint = hint(for: message(for: error), CommandLine.arguments.dropFirst())
            else { end(error) }
            StandardConsole().complain("\(fullMessage(for: error))\n\(hint)")
            Glibc.exit(exitCode(for: error).rawValue)
        }
        Glibc.exit(EXIT_SUCCESS)
    }

    /// The same as `exit(withError:)`, except that it escapes the arguments that a message repeats.
    /// They may come from a stranger, for example as the name of a file.
    private static func end(_ error: any Error) -> Never {
        let status = exitCode(for: error)
        let text = fullMessage(for: error)
        guard !status.isSuccess, !text.isEmpty else { exit(withError: error) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        StandardConsole().explain(lines.map { String($0).harmless }.joined(separator: "\n") + "\n")
        Glibc.exit(status.rawValue)
    }
}
