/// Why an instance ended. Raw values are kept in the runtime state.
public enum ExitReason: UInt8, CaseIterable, Sendable {
    /// It ended by itself with a status, by a signal that ends programs in everyday use (HUP, INT,
    /// PIPE, TERM; `ExitStatusSet.clean`), or by one that a client had sent to it.
    case exitedSelf = 0
    /// Another signal ended it, and neither the daemon nor a client had sent that signal.
    case crashed = 1
    /// It was asked to end, and ended.
    case terminated = 2
    /// It was asked to end, did not end within its grace, and was killed.
    case terminateTimeout = 3
    /// A client force-quit it.
    case forceQuit = 4
    /// Its ready condition was not met by the launch deadline (UIKit's 0x8badf00d).
    case launchWatchdog = 5
    /// It did not reach the pause point in time, or left the pause by itself.
    case prewarmFailed = 6
    /// It was prewarmed longer than its time to live.
    case prewarmExpired = 7
    /// A file or a setting from which it was prewarmed has changed.
    case stale = 8
    /// Its memory was reclaimed.
    case reclaimed = 9
    /// The pool was made smaller, because of the budget or because the manifest changed or is gone.
    case poolTrimmed = 10
    /// It was told to go and did not start in time.
    case goFailed = 11
    /// The daemon is shutting down.
    case shutdown = 12
    /// The program could not be executed.
    case spawnFailed = 13
    /// The spawner died, so nobody saw how it ended.
    case unknown = 14
    /// An app that conflicts with it was launched.
    case conflict = 15
    /// A client ended an app that this app requires.
    case dependencyEnded = 16
    /// It did not acknowledge a change of state in time (UIKit's 0x8badf00d).
    case watchdog = 20
    /// It held a file lock when it was to be suspended, and still held it after the grace
    /// (0xdead10cc).
    case suspendedWithLockedFile = 30
    /// The kernel killed it because memory was short.
    case outOfMemory = 31
    /// A SIGKILL that the daemon had not sent ended it at a time when the kernel killed processes
    /// because memory was short.
    case probablyOutOfMemory = 32
    /// It still had a background task when its background time was over (0x2182bad2).
    case backgroundTaskTimeout = 40
}

/// What follows from each exit reason. (A subject that orders ends may ask for its own reasons by name.)
///
///     level      the level of the journal's line
///     restart    which `Restart=` starts the app again (the table at `RestartPolicy`)
///     again      how a new supervisor continues an end that the former one ordered
///     blame      whether saved state that is on trial is deleted, because it may be the cause
///     crash      whether the end counts towards a crash loop
///     metric     how the app's metrics count the end
///     report     whether the app's developer gets a report of the end
///     state      whether the app's saved state outlives the end
///     launch     whether the end of an instance on its way counts as a failed launch of the app
///     word       the name in the control socket's interface and in the journal
///     message    MESSAGE_ID= (sd-journal(3)), which `systemd/greenroom.catalog` explains
public struct ExitRow: Hashable, Sendable {
    public enum Level: Sendable { case info, warning }

    enum Restart: Sendable {
        case never
        /// Restarted by `always`, once memory may be free again.
        case memoryIsFree
        /// Restarted by `on-failure` and `always`.
        case failure
        /// Restarted by every policy but `no`.
        case abnormal
        /// The exit status decides whether the app is restarted.
        case byStatus
    }

    enum Again: Sendable {
        case kill
        /// SIGTERM with the rest of the grace, if the instance had been launched (`askIfLaunched`)
        /// or had been in the background (`askInBackground`).
        case askIfLaunched
        case askInBackground
    }

    enum Blame: Sendable {
        case never
        case always
        /// Always, unless the exit status is 0.
        case unlessZero
    }

    enum Crash: Sendable {
        case never
        case always
        /// The kernel's out-of-memory killer ended it. An app in the background that the kernel
        /// kills to free memory for others has done nothing wrong: the daemon would have reclaimed
        /// it. For an app in front, or one over its own limit, such an end is a crash.
        case memory
    }

    public enum Metric: Sendable {
        /// Not counted: the instance never ran, or nobody saw how it ended.
        case nothing
        case normal
        case byStatus
        case bySignal
        case watchdog
        case memory
        /// Counts as an excess of the app's own limit if the app reached it, and otherwise as
        /// `memory`.
        case memoryOrLimit
        case lockedFile
        case backgroundTask
    }

    enum Report { case none, sent }
    enum State: Sendable { case kept, deleted }
    enum Launch: Sendable { case failed, spared }

    public let word: String
    public let message: String
    public let level: Level
    let restart: Restart
    let again: Again
    let blame: Blame
    let crash: Crash
    public let metric: Metric
    public let isDiagnosed: Bool
    let state: State
    let launch: Launch

    private init(
        _ level: Level, _ restart: Restart, _ again: Again, _ blame: Blame, _ crash: Crash,
        _ metric: Metric, _ report: Report, _ state: State, _ launch: Launch, _ word: String,
        _ message: String
    ) {
        self.word = word
        self.message = message
        self.level = level
        self.restart = restart
        self.again = again
        self.blame = blame
        self.crash = crash
        self.metric = metric
        self.isDiagnosed = report == .sent
        self.state = state
        self.launch = launch
    }

    fileprivate static func of(_ reason: ExitReason) -> Self {
        // swift-format-ignore
        switch reason {
        //  level     restart        again             blame        crash    metric          report
        //  state     launch         word, message
        case .exitedSelf: Self(
            .info,    .byStatus,     .kill,            .unlessZero, .never,  .byStatus,      .none,
            .kept,    .failed, "exited_self", "f6d0cc68d5d94635a1a403d7b5af819b")
        case .crashed: Self(
            .warning, .byStatus,     .kill,            .always,     .always, .bySignal,      .sent,
            .kept,    .failed, "crashed", "9ec335b5d4e4457a815c6e4e8b1a01f4")
        case .terminated: Self(
            .info,    .never,        .askIfLaunched,   .never,      .never,  .normal,        .none,
            .kept,    .failed, "terminated", "83c2952752bf46c8ba60ed7dca9adf37")
        case .terminateTimeout: Self(
            .warning, .never,        .kill,            .never,      .never,  .watchdog,      .sent,
            .kept,    .failed, "terminate_timeout", "590d458272f04cce84fb47da801f02e8")
        case .forceQuit: Self(
            .info,    .never,        .kill,            .never,      .never,  .normal,        .none,
            .deleted, .failed, "force_quit", "acb4c97bf5474d5dbe4103fde03e8caa")
        case .launchWatchdog: Self(
            .warning, .abnormal,     .kill,            .always,     .never,  .watchdog,      .sent,
            .kept,    .failed, "launch_watchdog", "9d9cabe8244e44669a69117148123dc5")
        case .prewarmFailed: Self(
            .info,    .never,        .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "prewarm_failed", "2162137a8fc241c0b962d9731059073a")
        case .prewarmExpired: Self(
            .info,    .never,        .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "prewarm_expired", "9e36748b62694add97f8a2f9d79b11c3")
        case .stale: Self(
            .info,    .never,        .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "stale", "6e953e9db6314701946ac9a80976afd7")
        case .reclaimed: Self(
            .info,    .memoryIsFree, .askInBackground, .never,      .never,  .memory,        .none,
            .kept,    .failed, "reclaimed", "136cc69c5b7a42818fb9346d0812210a")
        case .poolTrimmed: Self(
            .info,    .never,        .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "pool_trimmed", "71cda4651b3643d4b8b12cf34b8bdf9b")
        case .goFailed: Self(
            .info,    .never,        .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .spared, "resume_failed", "4431dcbf07f14d60b132ae5d7efa903f")
        case .shutdown: Self(
            .info,    .never,        .askIfLaunched,   .never,      .never,  .normal,        .none,
            .kept,    .failed, "shutdown", "fb030061b7d249588dc6a6aae46ab9f1")
        case .spawnFailed: Self(
            .info,    .failure,      .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "spawn_failed", "a0353c1a35ea40339a2041d6140038a9")
        case .unknown: Self(
            .warning, .abnormal,     .kill,            .never,      .never,  .nothing,       .none,
            .kept,    .failed, "unknown", "11b96594216548c9bb0b782d9fc49c97")
        case .conflict: Self(
            .info,    .never,        .askIfLaunched,   .never,      .never,  .normal,        .none,
            .kept,    .failed, "conflict", "0933a28d2bd84630bd7d52eee5c77ea9")
        case .dependencyEnded: Self(
            .info,    .never,        .askIfLaunched,   .never,      .never,  .normal,        .none,
            .kept,    .failed, "dependency_ended", "ef56e7ea8c0744d18333be13b9cac78e")
        case .watchdog: Self(
            .warning, .abnormal,     .kill,            .always,     .never,  .watchdog,      .sent,
            .kept,    .failed, "watchdog", "badbdee148464cf7aede91d70b35e0ea")
        case .suspendedWithLockedFile: Self(
            .warning, .abnormal,     .kill,            .never,      .never,  .lockedFile,    .sent,
            .kept,    .failed, "suspended_with_locked_file", "0be804a2fc25404d95ea65c9cc962cb7")
        case .outOfMemory: Self(
            .warning, .abnormal,     .kill,            .always,     .memory, .memoryOrLimit, .none,
            .kept,    .failed, "out_of_memory", "a92853444bfa4e11ba58358cc46b170f")
        case .probablyOutOfMemory: Self(
            .warning, .abnormal,     .kill,            .never,      .memory, .memory,        .none,
            .kept,    .failed, "probably_out_of_memory", "9985e9d9212540cf93a91c77ac90da10")
        case .backgroundTaskTimeout: Self(
            .warning, .abnormal,     .kill,            .never,      .never,  .backgroundTask,.sent,
            .kept,    .failed, "background_task_timeout", "dee76f1772f742dc9cfdb343c51aec9d")
        }
    }
}

extension ExitReason {
    public var row: ExitRow { .of(self) }
}

extension ExitRow {
    /// Whether the kernel's out-of-memory killer ended the instance, certainly or probably.
    var isForMemory: Bool { crash == .memory }

    func isCrash(of record: InstanceRecord) -> Bool {
        switch crash {
        case .never: false
        case .always: true
        case .memory:
            record.wasOverOwnLimit || record.state != .background && record.state != .suspended
        }
    }
}
