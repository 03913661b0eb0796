import GreenroomControl

/// Launches and paused instances of the past, page by page from the daemon.
struct PastRecords {
    let apps: [String]
    let since: Int64?
    let until: Int64?

    /// The launches, the latest first, and whether the user has turned the history off.
    func launches(
        atMost wanted: Int, _ client: ControlClient
    ) throws(Failure) -> (records: [Control.LaunchRecord], isOff: Bool) {
        var isOff = false
        let records = try pages(atMost: wanted) {
            query throws(Failure) -> ([Control.LaunchRecord], next: Int64?) in
            guard case .history(let page) = try client.call(.history(query)) else {
                return ([], nil)
            }
            isOff = page.isOff
            return (page.records, page.next)
        }
        return (records, isOff)
    }

    /// The paused instances, first those that were launched or ended last.
    func pauses(
        atMost wanted: Int, _ client: ControlClient
    ) throws(Failure) -> [Control.PauseRecord] {
        try pages(atMost: wanted) { query throws(Failure) in
            guard case .pauseHistory(let page) = try client.call(.pauseHistory(query)) else {
                return ([], nil)
            }
            return (page.records, page.next)
        }
    }

    private func pages<Record>(
        atMost wanted: Int,
        _ page: (Control.HistoryQuery) throws(Failure) -> ([Record], next: Int64?)
    ) throws(Failure) -> [Record] {
        var query = Control.HistoryQuery()
        query.apps = apps
        query.sinceTimestampUSec = since
        query.untilTimestampUSec = until
        var records: [Record] = []
        while records.count < wanted {
            query.limit = min(wanted - records.count, Control.HistoryQuery.pageLimit)
            let (more, next) = try page(query)
            records += more
            guard let next, !more.isEmpty else { break }
            query.before = next
        }
        return records
    }
}
