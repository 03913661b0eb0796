import ArgumentParser

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what Greenroom needs, and say how to repair it.",
        discussion: """
            Looks at the kernel, cgroups, limits, units, files, permissions and versions, even if \
            the daemon is down. Exit code 1 if a check failed, 0 if there are only warnings.
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        Caller.fillStandardDescriptors()
        let code = execute(
            StandardConsole(), Machine(socketPath: daemon.path))
        if code != .done { throw ExitCode(code.rawValue) }
    }

    func execute(_ console: any Console, _ machine: some ExaminedMachine) -> ExitStatus {
        let diagnosis = Diagnosis(machine)
        console.write(
            output.json
                ? Report.json(diagnosis) : diagnosis.report(display.appearance(on: console)))
        return diagnosis.isHealthy ? .done : .failed
    }
}

extension Diagnosis {
    init(_ machine: some ExaminedMachine) {
        findings =
            machine.kernelFindings() + machine.cgroupFindings() + machine.limitFindings()
            + machine.unitFindings() + machine.socketFindings() + machine.versionFindings()
            + machine.shimFindings() + machine.configurationFindings()
            + machine.degradationFindings()
            + machine.manifestFindings() + machine.displayFindings()
    }
}
