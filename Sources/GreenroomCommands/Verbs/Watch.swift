import ArgumentParser
import GreenroomControl

struct Watch: Verb {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print events as they happen.",
        discussion: """
            Ends with exit code 69 when the daemon does, and says how to continue with the next \
            daemon: from the number of the last event (.event.sequence with --json). Says so if \
            some of the events are no longer known.
            """)

    @Option(help: "Begin with what happened after the event with this number.")
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
                        output.json
                            ? Report.json(ControlReply.watched(event))
                            : Report.event(event, appearance))
                case .watched(nil): break
                case _: return 1
                }
            }
        } catch {
            if let last, case .disconnected = error {
                console.complain("\"greenroomctl watch --after \(last)\" continues from here")
            }
            throw error
        }
    }
}
