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
            The app gets this process's input and output, environment, working directory and umask. \
            On a terminal, the app gets a terminal of its own, with keys and job control as in a \
            shell; in a pipe ("run x | less") it gets none. SIGINT, SIGTERM, SIGHUP, SIGQUIT, \
            SIGUSR1 and SIGUSR2 are forwarded to the app. This process ends as the app does.
            """)

    @OptionGroup var launch: LaunchOptions
    @Flag(help: "Give the app a terminal of its own, whatever input and output are.")
    var pty = false

    @Flag(help: "Give the app this process's descriptors unchanged, even if they are a terminal.")
    var pipe = false

    @OptionGroup var daemon: DaemonOptions

    func exitCode(of failure: Failure) -> Int32 { failure.attachedExitCode }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        try AttachedRun(
            app: launch.app, environment: launch.environmentBytes, arguments: launch.argumentBytes,
            socket: daemon.socket, terminalUse: pty ? .always : pipe ? .never : .automatic
        ).perform(client, client.path, console, .own)
    }
}
