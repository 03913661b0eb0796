import ArgumentParser

struct Run: Verb {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run an app here, as if its program had been called.",
        usage: """
            greenroomctl run <app> [--env <name=value>]... [--pty | --pipe] [--socket <path>] \
            [-- <argument>...]
            """,
        discussion: """
            The app has this process's input and output, environment, working directory and umask. \
            On a terminal the app has one of its own, whose keys and job control are as in a \
            shell; behind a pipe ("run x | less") it has none. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to it; this \
            process ends as it does.
            """)

    @OptionGroup var launch: LaunchOptions
    @Flag(help: "Give it a terminal of its own, whatever this one's input and output are.")
    var pty = false

    @Flag(help: "Give it this process's descriptors as they are, also where they are a terminal.")
    var pipe = false

    @OptionGroup var daemon: DaemonOptions

    func exitCode(of failure: Failure) -> Int32 { failure.attachedExitCode }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        try AttachedRun(
            app: launch.app, environment: launch.environmentBytes, arguments: launch.argumentBytes,
            socket: daemon.socket, terminalUse: pty ? .always : pipe ? .never : .automatic
        ).perform(client, console, .own)
    }
}
