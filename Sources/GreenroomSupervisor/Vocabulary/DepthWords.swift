internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle

extension AnewReason {
    init(_ status: AnewStatus) {
        switch status {
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
    init(_ reason: AnewReason) {
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
        case .window: self = .window
        }
    }
}

extension Misfire {
    init(_ failure: WithholdingFailure) {
        switch failure {
        case .otherDisplay: self = .otherDisplay
        case .nameTaken: self = .nameTaken
        case .ownsName: self = .ownsName
        case .showsNotice: self = .showsNotice
        case .startsProgram: self = .startsPrograms(nil)
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
        case .ownsName: "depth_owns_name"
        case .otherDisplay: "depth_other_display"
        case .notFrozen: "depth_not_frozen"
        case .showsNotice: "depth_shows_notice"
        case .endedHeld: "depth_ended_held"
        case .noWindow: "depth_no_window"
        case .nameTaken: "depth_name_taken"
        case .cannotBeOpened: "depth_cannot_be_opened"
        }
    }

    /// What the program, its interpreter, or the libraries that it opens after main have done.
    func words(at depth: PrewarmDepth) -> String {
        switch depth {
        case .libraries: wordsOfLibraries
        case .window: wordsOfWindow
        case .main, .runtime: wordsOfInterpreter
        }
    }

    private var wordsOfWindow: String {
        switch self {
        case .ended: "it ended before it had a window"
        case .pausedElsewhere: "it could not be held at its first window"
        case .timedOut: "it had no window in time, or did not come to rest"
        case .startsPrograms: "it starts other programs before it has a window"
        case .startsAnew, .changesProcess, .startsThreads, .savesNothing, .cannotBeOpened:
            "it could not be held at its first window"
        case .ownsName:
            "it takes a name on a message bus or listens on a socket before it has a window, by which "
                + "others would reach it, and nobody can watch that"
        case .otherDisplay:
            "it shows something without libX11, libxcb and libwayland or other than as a window, or "
                + "takes the keyboard, the pointer or a selection, which cannot be withheld, or it is "
                + "not held on this kind of display"
        case .notFrozen: "its processes cannot be frozen, which needs a cgroup of version 2"
        case .showsNotice: "it shows an icon in a panel or a notification before it is launched"
        case .endedHeld: "it ended while its window was held"
        case .noWindow: "its window did not appear in the time that a launch has to begin"
        case .nameTaken:
            "it runs already, and the process that runs owns its name on the message bus or its socket"
        }
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
        case .savesNothing: "its launches were done no sooner"
        case .ownsName, .otherDisplay, .notFrozen, .showsNotice, .endedHeld, .noWindow, .nameTaken,
            .cannotBeOpened:
            wordsOfWindow
        }
    }

    /// What one library has done, because of which it is left out.
    var wordsOfLibrary: String {
        switch self {
        case .ended: "the program ended when it was opened"
        case .timedOut: "opening it took too long"
        case .startsPrograms: "it starts other programs when it is opened"
        case .changesProcess:
            "it changes the process or uses the program's own functions when it is opened"
        case .startsThreads: "it starts threads when it is opened"
        case .cannotBeOpened: "it cannot be opened before main"
        case .pausedElsewhere, .startsAnew, .savesNothing, .ownsName, .otherDisplay, .notFrozen,
            .showsNotice, .endedHeld, .noWindow, .nameTaken:
            wordsOfLibraries
        }
    }

    private var wordsOfLibraries: String {
        switch self {
        case .ended: "it ended when the libraries that it opens after main were opened"
        case .pausedElsewhere: "it did not pause before main with its libraries open"
        case .timedOut: "opening the libraries that it opens after main took too long"
        case .startsPrograms: "a library that it opens after main starts other programs"
        case .startsAnew: "its latest launches had to be started anew"
        case .changesProcess:
            "a library that it opens after main writes something, changes the process or uses the "
                + "program's own functions when it is opened"
        case .startsThreads: "a library that it opens after main starts threads when it is opened"
        case .savesNothing:
            "its launches were done no sooner when the libraries that it opens after main were open"
        case .cannotBeOpened: "a library that it opens after main cannot be opened before main"
        case .ownsName, .otherDisplay, .notFrozen, .showsNotice, .endedHeld, .noWindow, .nameTaken:
            wordsOfWindow
        }
    }
}

extension AnewReason {
    var words: String {
        switch self {
        case .options: "its options were not those of the prewarm"
        case .program: "its program was named in a way that only a starting interpreter understands"
        case .hiddenModule:
            "the program begins with other modules than were loaded before, or a file beside it "
                + "hides one of them"
        case .changed: "files that were loaded before the pause have changed"
        case .environment: "a variable that was read before the pause had another value"
        case .signals: "its caller ignored a signal that the interpreter handles"
        case .failed: "the program could not be exchanged"
        }
    }
}
