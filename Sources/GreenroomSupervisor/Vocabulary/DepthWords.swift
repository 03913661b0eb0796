internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle

extension GreenroomLifecycle.AnewReason {
    init(_ reason: GreenroomAppChannel.AnewReason) {
        switch reason {
        case .options: self = .options
        case .program: self = .program
        case .hidden: self = .hiddenModule
        case .changed: self = .changed
        case .environment: self = .environment
        case .signals: self = .signals
        case .failed: self = .failed
        }
    }
}

extension Control.AnewReason {
    init(_ reason: GreenroomLifecycle.AnewReason) {
        switch reason {
        case .options: self = .options
        case .program: self = .program
        case .hiddenModule: self = .hiddenModule
        case .changed: self = .changed
        case .environment: self = .environment
        case .signals: self = .signals
        case .failed: self = .failed
        }
    }
}

extension Control.PrewarmDepth {
    init(_ depth: PrewarmDepth) {
        switch depth {
        case .main: self = .main
        case .runtime: self = .runtime
        case .libraries: self = .libraries
        }
    }
}

extension DepthFault {
    /// The code that `Explain` uses.
    var code: String {
        switch self {
        case .ended: "depth_ended"
        case .pausedElsewhere: "depth_other_pause"
        case .timedOut: "depth_timed_out"
        case .startsPrograms: "depth_starts_programs"
        case .startsAnew: "depth_starts_anew"
        case .changesProcess: "depth_changes_process"
        case .startsThreads: "depth_starts_threads"
        case .savesNothing: "depth_saves_nothing"
        }
    }

    /// What its interpreter did, or the libraries that it opens after main.
    func words(at depth: PrewarmDepth) -> String {
        depth == .libraries ? wordsOfLibraries : wordsOfInterpreter
    }

    private var wordsOfInterpreter: String {
        switch self {
        case .ended: "its interpreter ended before it had booted"
        case .pausedElsewhere: "its interpreter could not pause after its boot"
        case .timedOut: "its interpreter did not boot in time"
        case .startsPrograms: "its interpreter starts other programs when it boots"
        case .startsAnew: "its latest launches had to be started anew"
        case .changesProcess: "its interpreter changes its process when it boots"
        case .startsThreads: "its interpreter starts threads when it boots"
        case .savesNothing: "its launches were ready no sooner"
        }
    }

    private var wordsOfLibraries: String {
        switch self {
        case .ended: "it ended when the libraries were opened that it opens after main"
        case .pausedElsewhere: "it did not pause before main with its libraries open"
        case .timedOut: "opening the libraries that it opens after main took too long"
        case .startsPrograms: "a library that it opens after main starts other programs"
        case .startsAnew: "its latest launches had to be started anew"
        case .changesProcess:
            "a library that it opens after main writes something, changes the process or uses the "
                + "program's own functions when it is opened"
        case .startsThreads: "a library that it opens after main starts threads when it is opened"
        case .savesNothing:
            "its launches were ready no sooner with the libraries open that it opens after main"
        }
    }
}

extension GreenroomLifecycle.AnewReason {
    var words: String {
        switch self {
        case .options: "its options were not those of the prewarm"
        case .program: "only the interpreter's start understands how it named its program"
        case .hiddenModule: "a file beside the program hides a module that was loaded before"
        case .changed: "files that were loaded before the pause have changed"
        case .environment: "a variable that was read before the pause had another value"
        case .signals: "its caller ignored a signal that the interpreter handles"
        case .failed: "the program could not be exchanged"
        }
    }
}
