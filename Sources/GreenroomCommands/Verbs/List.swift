import ArgumentParser
import GreenroomControl

struct List: Verb {
    static let configuration = CommandConfiguration(abstract: "Show the installed apps.")

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.list)
        guard case .listed(let apps) = reply else { return 1 }
        console.write(
            output.json ? Report.json(reply) : Report.apps(apps, display.appearance(on: console)))
        return 0
    }
}
