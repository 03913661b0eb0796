// Instances that were paused before the imports of their app were learned. They have the interpreter
// booted and nothing imported, so they serve every launch as well as before, only later than an
// instance with the imports would.
//
//   imports are learned          → what is paused stays, and the pool is filled as if it were not
//                                  there; what is on its way to the pause is ended
//   one with the imports pauses  → one without them is ended in its place
//   the budget, a share, memory or a timer needs an instance ended
//                                → those without the imports are ended first, like those with
//                                  former environments
//
// So no launch is cold because a list was learned. The shell names the generation that the app has
// without the list, so an instance that differs in anything else is stale as always, and a new
// supervisor finds that out too.

extension Lifecycle {
    func isBooted(_ record: InstanceRecord) -> Bool {
        guard let description = directory[record.app]?.description,
            let former = description.bootGeneration
        else { return false }
        return record.generation == former && record.generation != description.generation
    }

    /// Whether a paused instance of the app lacks the imports that the app's next instance will
    /// have.
    public func hasBooted(_ app: AppIdentifier) -> Bool {
        directory[app]?.pool.contains { isBooted(self[$0].record) } == true
    }

    /// The paused instance that serves the launch if no instance with the imports can.
    func bootedPrewarm(for launch: LaunchRequest) -> InstanceIdentifier? {
        guard let key = launch.bootKey else { return nil }
        return directory[launch.app]?.pool.first {
            let record = self[$0].record
            return record.environmentKey == key && isBooted(record)
        }
    }

    /// Ends instances without the imports, as many as the app's pool has beyond its size.
    mutating func replaceBooted(of app: AppIdentifier) {
        let booted = self[app].pool.filter { isBooted(self[$0].record) }
        guard !booted.isEmpty else { return }
        let others = latestMembers(of: app).count { self[$0].record.state == .prewarmed }
        let excess = booted.count + others - max(1, keptCount(of: app))
        for id in booted.prefix(max(0, excess)) { end(id, .poolTrimmed, gently: false) }
    }

    /// Ends all instances without the imports, because no other instance of the app finds a place.
    mutating func endBooted(of app: AppIdentifier) {
        for id in self[app].pool where isBooted(self[id].record) {
            end(id, .poolTrimmed, gently: false)
        }
    }
}
