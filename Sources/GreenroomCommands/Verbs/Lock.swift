import ArgumentParser
import GreenroomControl

// Verbs that make protected data unavailable and available.

struct Lock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Make protected data unavailable, as locking the screen does.")
    @Option(help: ArgumentHelp("Use this user's data instead of your own.", valueName: "number"))
    var uid: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .lock(user: uid)
    }
}

struct Unlock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Make protected data available again.")
    @Option(help: ArgumentHelp("Use this user's data instead of your own.", valueName: "number"))
    var uid: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .unlock(user: uid)
    }
}
