import ArgumentParser
import GreenroomControl

// Whether protected data is there.

struct Lock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Make protected data unavailable, as when the screen is locked.")
    @Option(help: ArgumentHelp("Not your own, but that of this user.", valueName: "number"))
    var user: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .lock(user: user)
    }
}

struct Unlock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Make protected data available again.")
    @Option(help: ArgumentHelp("Not your own, but that of this user.", valueName: "number"))
    var user: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .unlock(user: user)
    }
}
