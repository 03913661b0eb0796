import GreenroomLifecycle

/// What one instance will do. The world's seed and the instance's identifier decide it.
struct Behavior: Sendable {
    var spawnDelay: Duration
    var spawnFails: Bool
    var pause: Pause
    /// The pause of an instance that must pause after its interpreter's boot.
    var deepPause: Pause
    /// Whether such an instance nevertheless pauses before main.
    var pausesTooEarly: Bool
    /// Why such an instance starts its launch anew; nil if it does not.
    var anew: AnewReason?
    /// The misfire of a pause beyond main.
    var deepMisfire: Misfire
    var windowMisfire: Misfire
    /// Whether a held program wants a name on a bus; when it is called by that name, and whether
    /// the call starts it; and when the watch of the name ends.
    var wantsName: Bool
    var calls: [(delay: Duration, isLaunch: Bool)]
    var watchEnd: Duration?
    /// Opening the libraries that the app opens after main starts a thread.
    var hasLibraryThread: Bool
    /// How many libraries the app opens after main.
    var libraryCount: Int
    var start: Start
    var readyDelay: Duration?
    var byteCount: UInt64
    var ignoresTerm: Bool
    var leavesChildren: Bool
    var dieDelay: Duration
    /// The number of SIGKILLs that have no effect, because the process is in an uninterruptible
    /// sleep.
    var deafKills: Int
    var freeze: Freeze
    /// The app has threads besides the one that pauses.
    var hasOtherThreads: Bool
    /// The app accepts connections to its sockets.
    var accepts: Bool
    /// How long the app takes to acknowledge a step; nil if it never does.
    var acknowledgement: Duration?
    /// A paused instance that is told to go cannot take over the launch.
    var isUnfit: Bool
    /// A debugger is attached to the instance when the shell looks for one.
    var isTraced: Bool
    /// How many inspections of the instance's file locks find one.
    var locksLeft: Int
    /// The time from the order to run scheduled work to the report that it is done; nil if it never
    /// reports.
    var runDelay: Duration?
    var hasHandler: Bool
    /// The app ends its tasks and runs when it is told that their time is about to end.
    var heedsExpiration: Bool

    /// What the app does with its saved state.
    var habit: Habit

    enum Habit: Sendable { case none, keeps, forgets, exceeds, extends }
    enum Pause: Sendable { case after(Duration), never, exits(Duration), misfires(Duration) }
    enum Start: Sendable { case after(Duration), never, exits, losesChannel }
    enum Freeze: Sendable { case after(Duration), silent, fails }

    init(seed: UInt64, instance: InstanceIdentifier) {
        var dice = Dice(seed: seed, thing: instance.rawValue)
        spawnDelay = dice.milliseconds(1...5)
        spawnFails = dice.percent(5)
        let pauseDelay = dice.milliseconds(5...800)
        switch dice.below(20) {
        case 0: pause = .never
        case 1: pause = .exits(pauseDelay)
        case 2: pause = .misfires(pauseDelay)
        default: pause = .after(pauseDelay)
        }
        switch dice.below(20) {
        case 0: start = .never
        case 1: start = .exits
        case 2: start = .losesChannel
        default: start = .after(dice.milliseconds(1...20))
        }
        readyDelay = dice.percent(90) ? dice.milliseconds(1...3000) : nil
        byteCount = UInt64(1 + dice.below(40)) << 20
        ignoresTerm = dice.percent(15)
        leavesChildren = dice.percent(30)
        dieDelay = dice.milliseconds(1...300)
        deafKills = dice.percent(5) ? 1 + dice.below(3) : 0
        switch dice.below(10) {
        case 0: freeze = .fails
        case 1: freeze = .silent
        default: freeze = .after(dice.milliseconds(1...100))
        }
        accepts = dice.percent(80)
        let isSlow = dice.percent(10)
        acknowledgement =
            dice.percent(5) ? nil : dice.milliseconds(isSlow ? 1000...6000 : 0...60)
        isTraced = dice.percent(20)
        var own = Dice(seed: seed, thing: instance.rawValue &+ 1 << 40)
        let habits: [Habit] = [.none, .keeps, .keeps, .keeps, .keeps, .forgets, .exceeds, .extends]
        habit = habits[own.below(habits.count)]
        locksLeft = dice.percent(80) ? 0 : dice.percent(50) ? 1 : 1000
        runDelay = dice.percent(70) ? dice.milliseconds(1...60_000) : nil
        hasHandler = dice.percent(90)
        heedsExpiration = dice.percent(60)
        isUnfit = own.percent(5)
        hasOtherThreads = own.percent(30)
        var deep = Dice(seed: seed, thing: instance.rawValue &+ 1 << 41)
        pausesTooEarly = deep.percent(2)
        hasLibraryThread = deep.percent(5)
        libraryCount = deep.below(4)
        deepMisfire = deep.percent(50) ? .startsPrograms(nil) : .changesProcess
        windowMisfire =
            [.startsPrograms(nil), .ownsName, .nameTaken, .otherDisplay, .showsNotice][
                Int(instance.rawValue % 5)]
        var names = Dice(seed: seed, thing: instance.rawValue &+ 1 << 42)
        wantsName = names.percent(50)
        calls = []
        for _ in 0..<names.below(4) {
            calls.append((names.milliseconds(2...5000), names.percent(30)))
        }
        watchEnd = names.percent(10) ? names.milliseconds(2...5000) : nil
        anew = deep.percent(80) ? AnewReason.allCases[deep.below(AnewReason.allCases.count)] : nil
        switch deep.below(40) {
        case 0: deepPause = .never
        case 1: deepPause = .exits(pauseDelay)
        case 2: deepPause = .misfires(pauseDelay)
        // There are many reasons why a window cannot be held, and each of them must occur.
        case 3...6 where wantsName: deepPause = .misfires(pauseDelay)
        case _: deepPause = .after(pauseDelay)
        }
    }
}

extension Behavior {
    /// The app's reports about its state when it is told a step.
    func wishes(at step: PendingStep) -> [StateWish] {
        switch step.step {
        case .didEnterBackground:
            switch habit {
            case .none: []
            case .keeps, .extends: [.keep(byteCount: 100), .keep(byteCount: 1)]
            case .forgets: [.forget]
            case .exceeds: [.keep(byteCount: 1 << 20), .tooLarge(byteCount: 1 << 30)]
            }
        case .willTerminate: habit == .none ? [] : [.keep(byteCount: 200)]
        case .connect, .connectInBackground, .willEnterForeground:
            habit == .extends ? [.extend] : []
        case .didBecomeActive: habit == .extends ? [.complete] : []
        case .willResignActive, .disconnect: []
        }
    }
}

/// A process tree of the simulated world. Its facts do not depend on the core's state.
struct FakeProcess: Sendable {
    let app: AppIdentifier
    let isPrewarm: Bool
    /// How far it must be prewarmed.
    let depth: PrewarmDepth
    /// Whether it must pause after its interpreter's boot.
    var isDeep: Bool { depth == .runtime }
    var behavior: Behavior
    var isSpawned = false
    var spawnFailed = false
    var isPaused = false
    var wasToldToGo = false
    var hasStarted = false
    /// Set if it started its launch anew.
    var anewReason: AnewReason?
    var hasChannel = true
    /// The instance ended with its spawner, and nobody saw how.
    var isLost = false
    /// The instance's channel is lost, so the shell finds out in another way when the program
    /// starts.
    var isWatched = false
    var isReady = false
    var isFrozen = false
    /// A paused process will be frozen in a moment.
    var isFreezing = false
    /// Another process watches the names and the settings of a held program.
    var hasWatch = false
    var hasDisplay = true
    var exitStatus: ExitStatus?
    var isEmpty = false
    var isReleased = false
    /// The open background tasks, the number of the latest one, and the runs that the app was told
    /// to begin.
    var openBackgroundTasks: [UInt64] = []
    var lastTask: UInt64 = 0
    var runs: Set<UInt64> = []

    var isAlive: Bool { isSpawned && exitStatus == nil }

    init(app: AppIdentifier, _ purpose: SpawnPurpose, behavior: Behavior) {
        self.app = app
        self.behavior = behavior
        switch purpose {
        case .prewarm(_, let depth): (isPrewarm, self.depth) = (true, depth)
        case .launch: (isPrewarm, depth) = (false, .main)
        }
    }

    func pause(of id: InstanceIdentifier) -> Event {
        .paused(
            id, byteCount: behavior.byteCount, hasOtherThreads: hasOtherThreads,
            isTooEarly: isDeep && behavior.pausesTooEarly)
    }

    /// A program that has other threads before main is never paused with its libraries open. A
    /// program held at its first window always has a thread that waits for the launch.
    var hasOtherThreads: Bool {
        switch depth {
        case .libraries: behavior.hasLibraryThread
        case .window: true
        case .main, .runtime: behavior.hasOtherThreads
        }
    }

    var misfire: Misfire {
        switch depth {
        case .main: .startsPrograms(nil)
        case .window: behavior.windowMisfire
        case .runtime, .libraries: behavior.deepMisfire
        }
    }

    func start(of id: InstanceIdentifier) -> Event { .started(id, anew: anewReason) }
}
