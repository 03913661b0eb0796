import ArgumentParser
import GreenroomControl

struct Watch: Verb {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print events as they happen.",
        discussion: """
            Ends when the daemon does, with exit code 69, and says how to go on with the next one: by \
            the number of the last event (its sequence with --json). What is not known any more is \
            told.
            """)

    @Option(help: "Begin with what happened after the event of this number.")
    var after: UInt64?

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let call = ControlCall.watch(after: after)
        try client.send(call)
        var last = after
        let appearance = display.appearance(on: console)
        do throws(Failure) {
            while true {
                switch try client.reply(to: call) {
                case .watching(let latest): last = last ?? latest
                case .watched(let event?):
                    last = event.sequence
                    console.write(
                        output.json ? Report.json(event) : Report.event(event, appearance))
                case .watched(nil): break
                case _: return 1
                }
            }
        } catch {
            if let last, case .disconnected = error {
                console.complain("\"greenroomctl watch --after \(last)\" goes on from here")
            }
            throw error
        }
    }
}
