import GreenroomLifecycle

/// One action from outside: of a client, an administrator, a fault, or the passing of time.
/// A stimulus names instances and apps by numbers, which are resolved when it happens. So a run
/// still makes sense when other stimuli are left out of it.
enum Stimulus: Sendable {
    case launch(app: Int, key: Int, inBackground: Bool, isAttached: Bool, repeating: Int?)
    case prewarm(app: Int, key: Int)
    case transition(instance: Int, byApp: Bool, Transition)
    case awaitExit(instance: Int, byApp: Bool)
    case awaitLaunch(name: Int)
    case abandon(request: Int)
    case install(app: Int, variation: Int)
    /// The app's manifest is gone; or it has an error, and may soon have none.
    case remove(app: Int, isGone: Bool)
    case logIn(group: Int)
    /// Each bit stands for a group whose session is active from now on.
    case activate(groups: Int)
    /// Each bit stands for an app.
    case plan(apps: Int)
    case changePolicy(variation: Int)
    case makeStale(instance: Int)
    case measure(instance: Int, megabytes: Int)
    case press(MemoryPressure)
    case stall(MemoryPressure)
    case prepare(app: Int)
    case stallInstance(instance: Int, MemoryPressure)
    case trigger(app: Int)
    case forgiveTriggers
    /// The kernel kills the instance because memory is short; the shell knows the cause for
    /// certain, or only suspects it.
    case runOutOfMemory(instance: Int, isCertain: Bool, isOwnLimit: Bool)
    case crash(instance: Int)
    /// The instance ends by a signal, which a client may have sent.
    case endBySignal(instance: Int, signal: UInt8, isSent: Bool)
    case exit(instance: Int)
    case loseChannel(instance: Int)
    /// As soon as a program is held, and is so far, it is called, or it or a daemon loses something.
    case meet(HeldCause, HeldMoment, held: Int)
    /// The world reports a fact about an instance again.
    case repeatFact(instance: Int)
    /// A client or the app itself asks for a scene.
    case scene(app: Int, wish: Int, session: Int)
    case lock(user: Int, Bool)
    /// A shell says that an instance, or all instances of an app, or none has the foreground.
    case reportForeground(shell: Int, instance: Int?, byApp: Bool)
    case loseShell(Int)
    case changeTime
    /// One of the app's archives cannot be read.
    case loseState(app: Int)
    case logOut(group: Int)
    case sleep(Bool)
    /// A shutdown that is cancelled at once or after a while.
    case shutDownInVain(after: Duration)
    case wait(Duration)
    /// The supervisor dies before the effect with this number of the next event, or after all of
    /// them.
    case crashSupervisor(effect: Int, withSpawner: Bool)
    /// The spawner dies, and the supervisor lives on. Orders whose results the supervisor has not
    /// heard are lost.
    case crashSpawner
    case connect(app: Int)
    case resetFailed(app: Int)
    case task(TaskStimulus)
}

extension Stimulus {
    static func random(_ dice: inout Dice) -> Stimulus {
        let pick = dice.below(1 << 20)
        switch dice.below(100) {
        case 0..<22:
            return .launch(
                app: pick, key: dice.percent(94) ? 0 : dice.below(3),
                inBackground: dice.percent(25), isAttached: dice.percent(15),
                repeating: dice.percent(12) ? dice.below(1 << 20) : nil)
        case 26: return .prepare(app: pick)
        case 22..<26: return .prewarm(app: pick, key: dice.percent(94) ? 0 : dice.below(3))
        case 41..<43:
            let shell = dice.below(4)
            if dice.percent(20) { return .loseShell(shell) }
            return .reportForeground(
                shell: shell, instance: dice.percent(80) ? pick : nil, byApp: dice.percent(30))
        case 27..<41:
            return .transition(
                instance: pick, byApp: dice.percent(30), randomTransition(&dice))
        case 43..<46: return .awaitExit(instance: pick, byApp: dice.percent(30))
        case 46..<48: return .awaitLaunch(name: pick)
        case 48..<50: return .abandon(request: pick)
        case 51 where dice.percent(70): return .activate(groups: dice.below(4))
        case 50..<52: return .install(app: pick, variation: dice.below(1 << 20))
        case 52:
            return dice.percent(40)
                ? .remove(app: pick, isGone: pick >> 19 == 0) : .logIn(group: dice.below(3))
        case 53 where dice.percent(50): return .plan(apps: dice.below(1 << 20))
        case 53: return .changePolicy(variation: dice.below(1 << 20))
        case 54: return .makeStale(instance: pick)
        case 55..<58: return .measure(instance: pick, megabytes: dice.below(64))
        case 58 where dice.percent(30):
            return .stallInstance(
                instance: pick, [.none, .warning, .critical, .critical][dice.below(4)])
        case 59 where dice.percent(30):
            return dice.percent(5) ? .forgiveTriggers : .trigger(app: pick)
        case 58..<60:
            let level: [MemoryPressure] = [.none, .none, .warning, .critical]
            if dice.percent(60) { return .stall(level[dice.below(4)]) }
            return .press(level[dice.below(4)])
        case 60..<63:
            if dice.percent(30) {
                return .runOutOfMemory(
                    instance: pick, isCertain: dice.percent(50), isOwnLimit: dice.percent(50))
            }
            if dice.percent(50) {
                return .endBySignal(
                    instance: pick, signal: [1, 2, 6, 10, 13, 15][dice.below(6)],
                    isSent: dice.percent(50))
            }
            return .crash(instance: pick)
        case 63..<67: return .exit(instance: pick)
        case 67: return .loseChannel(instance: pick)
        case 68: return .repeatFact(instance: pick)
        case 69, 83:
            return .meet(
                HeldCause.allCases[dice.below(6)], HeldMoment.allCases[dice.below(5)], held: pick)
        case 70 where dice.percent(20): return .crashSpawner
        case 70..<72:
            return .crashSupervisor(effect: dice.below(12), withSpawner: dice.percent(30))
        case 72: return .connect(app: pick)
        case 73: return dice.percent(50) ? .connect(app: pick) : .resetFailed(app: pick)
        case 74..<76:
            return .scene(
                app: pick, wish: dice.below(6), session: dice.below(5))
        case 76 where dice.percent(30):
            switch dice.below(4) {
            case 0: return .shutDownInVain(after: dice.milliseconds(0...3000))
            case 1: return .logOut(group: dice.below(3))
            default: return .sleep(dice.percent(40))
            }
        case 76:
            if dice.percent(10) { return .loseState(app: pick) }
            return dice.percent(20) ? .changeTime : .lock(user: dice.below(2), dice.percent(50))
        case 77..<83: return .task(.random(&dice))
        default: return .wait(randomWait(&dice))
        }
    }

    private static func randomTransition(_ dice: inout Dice) -> Transition {
        let all: [Transition] = [
            .foreground, .background, .suspend, .resume, .terminate, .forceQuit, .interrupt,
            .endInterruption,
        ]
        return all[dice.below(all.count)]
    }

    private static func randomWait(_ dice: inout Dice) -> Duration {
        switch dice.below(10) {
        case 0..<5: dice.milliseconds(1...50)
        case 5..<8: dice.milliseconds(50...2000)
        case 8: dice.milliseconds(2000...20000)
        default: dice.milliseconds(20000...400_000)
        }
    }
}
