/// The order in which the loop handles sources that are ready at the same time: the lowest number
/// first (sd_event_source_set_priority(3)). All sources that are not named here have 0: clients,
/// instances, timers and signals.
enum LoopPriority {
    /// Changes of apps' programs. The manifests begin to be read again before the next source is
    /// handled, which tells of the paused instances.
    static let changedPrograms: Int64 = -11
    /// Changes of programs and libraries, so that no instance that was paused with an older file is
    /// used.
    static let changedFiles: Int64 = -10
    /// What launches have imported, which they say just before they end.
    static let importRecords: Int64 = -6
    /// The spawner's messages.
    static let spawner: Int64 = -5
    /// Results of the calls that other processes make for the daemon.
    static let detachedCalls: Int64 = 1
    /// Events for the clients that watch.
    static let eventStream: Int64 = 4
    /// Consequences of launches and exits that nobody waits for: weights, limits, a look at the
    /// machine.
    static let afterLaunches: Int64 = 5
    /// Further calls of clients that have sent many at once.
    static let backlog: Int64 = 10
    /// Measuring memory.
    static let measuring: Int64 = 10
    /// The limit on descriptors that wait for the rest of their message: after whatever else is
    /// ready, because the rest may have come.
    static let waitingDescriptors: Int64 = 20
    /// Paging out suspended apps.
    static let pagingOut: Int64 = 20
    /// What is done when there is nothing else to do, such as writing what was counted and learned
    /// (SD_EVENT_PRIORITY_IDLE).
    static let idle: Int64 = 100
}
