import ArgumentParser

struct Run: Verb {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run an app here, as if its program had been called.",
        usage: """
            greenroomctl run <app> [--env <name=value>]... [--pty | --pipe] [--socket <path>] \
            [-- <argument>...]
            greenroomctl run --property <key=value>... <program> [-- <argument>...]
            """,
        discussion: """
            The app gets this process's input and output, environment, working directory and umask. \
            On a terminal, the app gets a terminal of its own, with keys and job control as in a \
            shell; in a pipe ("run x | less") it gets none. SIGINT, SIGTERM, SIGHUP, SIGQUIT, \
            SIGUSR1 and SIGUSR2 are forwarded to the app. This process ends as the app does.

            With --property, runs a program that is not an app, as a transient app with these keys \
            of greenroom.app(5).
            """)

    @OptionGroup var launch: LaunchOptions
    @Flag(help: "Give the app a terminal of its own, whatever input and output are.")
    var pty = false

    @Flag(help: "Give the app this process's descriptors unchanged, even if they are a terminal.")
    var pipe = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Run a program as a transient app with this key; may be repeated.",
            valueName: "key=value"))
    var property: [String] = []

    @OptionGroup var daemon: DaemonOptions

    func exitCode(of failure: Failure) -> Int32 { failure.attachedExitCode }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        guard !property.isEmpty else { return try end(launch.app, client).take(console) }
        let app = try TransientApp(launch.app, property, daemon, console)
        let ending: Ending
        do throws(Failure) { ending = try end(app.name, client) } catch {
            app.remove(console)
            throw error
        }
        app.remove(console)
        return ending.take(console)
    }

    /// Runs the app to its end.
    private func end(_ app: String, _ client: ControlClient) throws(Failure) -> Ending {
        try AttachedRun(
            app: app, environment: launch.environmentBytes, arguments: launch.argumentBytes,
            socket: daemon.socket, terminalUse: pty ? .always : pipe ? .never : .automatic
        ).follow(client, client.path, .own)
    }
}
