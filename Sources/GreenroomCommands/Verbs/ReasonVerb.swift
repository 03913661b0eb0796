import GreenroomControl

/// A verb that launches an app for a reason, or tells the app the reason if it is already running.
protocol ReasonVerb: Verb {
    var output: OutputOptions { get }
    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall
}

extension ReasonVerb {
    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.application(try call(client)))
        switch reply {
        case .handled(let app, let launched):
            console.write(
                output.json ? Report.json(reply) : Report.launched(launched, app: app))
        case _: if output.json { console.write(Report.json(reply)) }
        }
        return 0
    }
}
