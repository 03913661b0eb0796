// What only this supervisor knows of an instance that has not begun to run for its launch. Each
// phase has facts of its own, and `update` drops them as soon as the course changes. They are kept
// when the instance ends, because why a prewarm has ended may be reported after its end.

/// How far a prewarm has got, with what is known only in that phase.
enum PrewarmProgress: Hashable, Sendable {
    /// On its way to the pause.
    case preparing(Preparation)
    case paused(Pause)
    /// Told to go. Without its channel, the instance cannot report that it has started.
    case toldToGo(hasChannel: Bool)

    struct Preparation: Hashable, Sendable {
        /// Somebody has called the instance by its name on the bus, and waits until it can be
        /// launched.
        var isCalled = false
        /// It does not give way to others: somebody waited for it when it began, or it gave way and
        /// did not pause in time.
        var isHurried = false
        var libraries = LibraryList.current()
    }

    /// The list of libraries that the instance was given to open.
    enum LibraryList: Hashable, Sendable {
        /// The libraries, by their indices in the list: the one that the instance is opening, and
        /// those that it could not open.
        case current(opening: Int? = nil, unopened: [Int] = [])
        /// A library was left out since the instance was given its list, perhaps because of the
        /// instance's own failure, which may be reported more than once. Further reports about
        /// libraries are ignored.
        case former
    }

    struct Pause: Hashable, Sendable {
        /// The instance's other threads have been frozen in this pause.
        var wasFrozen = false
        var airing = Airing.never
    }

    /// Whether the instance is held and is, or was, thawed for a moment.
    enum Airing: Hashable, Sendable {
        case never
        case underWay(since: Instant)
        case over(since: Instant)

        /// When the latest airing began.
        var since: Instant? {
            switch self {
            case .never: nil
            case .underWay(let since), .over(let since): since
            }
        }
    }

    /// What is known when a course begins; nil if the instance is launched cold, or runs.
    init?(beginning course: Course) {
        switch course {
        case .prewarming: self = .preparing(Preparation())
        case .paused: self = .paused(Pause())
        case .toldToGo: self = .toldToGo(hasChannel: true)
        case .ordered, .running: return nil
        }
    }
}

extension Instance {
    /// Nil unless the instance is on its way to the pause.
    var preparation: PrewarmProgress.Preparation? {
        get { if case .preparing(let preparation) = prewarm { preparation } else { nil } }
        set { if let newValue, preparation != nil { prewarm = .preparing(newValue) } }
    }

    /// Nil unless the instance is paused.
    var pause: PrewarmProgress.Pause? {
        get { if case .paused(let pause) = prewarm { pause } else { nil } }
        set { if let newValue, pause != nil { prewarm = .paused(newValue) } }
    }

    var isAiring: Bool { if case .underWay? = pause?.airing { true } else { false } }
}
