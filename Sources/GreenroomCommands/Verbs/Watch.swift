import ArgumentParser
import GreenroomControl

struct Watch: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Print events as they happen.",
        discussion: "Ends when the daemon does, with exit code 69.")

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        try client.send(.watch)
        var last: UInt64?
        let appearance = display.appearance(on: console)
        while true {
            guard case .watched(let event) = try client.reply(to: .watch) else { return 1 }
            guard let event else { continue }
            if let last, event.sequence > last + 1 {
                console.complain("\(event.sequence - last - 1) events were lost")
            }
            last = event.sequence
            console.write(output.json ? Report.json(event) : Report.event(event, appearance))
        }
    }
}
