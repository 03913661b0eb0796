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
        groupedSubcommands: [
            CommandGroup(
                name: "Looking",
                subcommands: [
                    List.self, Status.self, Top.self, IsActive.self, Watch.self, Explain.self,
                    Logs.self, History.self, Plan.self, HistoryReport.self, Trace.self,
                    Metrics.self, Measure.self,
                    Tasks.self, Doctor.self,
                ]),
            CommandGroup(
                name: "Starting and ending",
                subcommands: [
                    Launch.self, Run.self, Start.self, Restart.self, Terminate.self, Kill.self,
                    ResetFailed.self, Prewarm.self, Prepare.self, Forget.self,
                ]),
            CommandGroup(
                name: "States",
                subcommands: [
                    Foreground.self, Background.self, Suspend.self, Resume.self, Interrupt.self,
                    EndInterruption.self, ReportForeground.self, Scene.self, Lock.self,
                    Unlock.self,
                ]),
            CommandGroup(
                name: "Asking apps",
                subcommands: [
                    Open.self, Action.self, NotifyApp.self, Activity.self, DBusService.self,
                    Desktop.self,
                ]),
            CommandGroup(
                name: "Manifests",
                subcommands: [
                    Cat.self, Edit.self, Verify.self, Reload.self, Enable.self, Disable.self,
                    IsEnabled.self, Mask.self, Unmask.self, Delta.self,
                ]),
            CommandGroup(
                name: "Developing",
                subcommands: [Conformance.self, Debug.self, Completion.self]),
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
        let words = arranged(Array(CommandLine.arguments.dropFirst()))
        if let complaint = complaint(about: words) ?? versionComplaint(about: words) {
            StandardConsole().complain(complaint)
            Glibc.exit(ExitStatus.usage.rawValue)
        }
        do {
            var verb = try parseAsRoot(CommandWords.own(words))
            try verb.run()
        } catch {
            end(error, hint(for: message(for: error), words))
        }
        Glibc.exit(EXIT_SUCCESS)
    }

    /// The same as `exit(withError:)`, except that it escapes the arguments that a message repeats,
    /// and adds a hint. The arguments may come from a stranger, for example as the name of a file.
    private static func end(_ error: any Error, _ hint: String?) -> Never {
        let status = exitCode(for: error)
        let text = fullMessage(for: error) + (hint.map { "\n" + $0 } ?? "")
        guard !status.isSuccess, !text.isEmpty else { exit(withError: error) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        StandardConsole().explain(lines.map { String($0).harmless }.joined(separator: "\n") + "\n")
        Glibc.exit(status.rawValue)
    }
}
