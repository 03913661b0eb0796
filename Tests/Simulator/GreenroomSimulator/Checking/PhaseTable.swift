public import GreenroomLifecycle

/// The result of each event in each phase of an instance, and the legal steps between phases: the
/// page at the head of States/Transitions.swift, deliberately written a second time. A test runs
/// each pair and compares the two. The checker allows an event no other change.
public struct PhaseTable: Sendable {
    public let lines: [String]

    private init(_ text: String) {
        lines = text.split(separator: "\n").map(String.init)
    }

    /// The phases that may follow each one.
    public static let steps: [Phase: Set<Phase>] = [
        .prewarming: [.paused, .ending, .emptying, .ended],
        .paused: [.toldToGo, .ending, .emptying, .ended],
        .ordered: [.starting, .ending, .emptying, .ended],
        .toldToGo: [.starting, .ordered, .ending, .emptying, .ended],
        .starting: [.arriving, .inactive, .background, .ending, .emptying, .ended],
        .arriving: [.inactive, .background, .ending, .emptying, .ended],
        .inactive: [.active, .background, .ending, .emptying, .ended],
        .active: [.inactive, .ending, .emptying, .ended],
        .background: [.inactive, .freezing, .ending, .emptying, .ended],
        .freezing: [.frozen, .background, .ending, .emptying, .ended],
        .frozen: [.background, .ending, .emptying, .ended],
        .ending: [.emptying, .ended],
        .emptying: [.ended],
        .ended: [],
    ]

    /// What may follow in the same event, for any instance: a launch that waited is served, another
    /// instance comes to the front, or the end of an app ends others.
    static let followers: [Phase: Set<Phase>] = [
        .prewarming: [.ending],
        .paused: [.toldToGo, .ending],
        .ordered: [.ending],
        .toldToGo: [.ending],
        .starting: [.ending],
        .arriving: [.ending],
        .inactive: [.active, .background, .ending],
        .active: [.inactive, .background, .ending],
        .background: [.inactive, .active, .ending],
        .freezing: [.background, .ending],
        .frozen: [.background, .ending],
        .ending: [],
        .emptying: [],
        .ended: [],
    ]

    /// What the pools, which are filled at the end of every event, may do.
    static let trimmed: [Phase: Set<Phase>] = [.prewarming: [.ending], .paused: [.ending]]

    /// The phases that each row leads to, in either table: an app may be replaced by one of the
    /// other kind.
    static let cells: [String: [Phase: Set<Phase>]] = {
        var cells: [String: [Phase: Set<Phase>]] = [:]
        for table in [program, acknowledging] { table.addCells(to: &cells) }
        // An app that acknowledges and is to be suspended is frozen after its step.
        cells["other step"]![.inactive]!.insert(.freezing)
        cells["other step"]![.background]!.insert(.freezing)
        return cells
    }()

    private func addCells(to cells: inout [String: [Phase: Set<Phase>]]) {
        let columns = lines[0].split(separator: " ").map { Self.names[String($0)]! }
        for line in lines.dropFirst() {
            let row = line.prefix(14).split(separator: " ").joined(separator: " ")
            for (phase, word) in zip(columns, line.dropFirst(14).split(separator: " ")) {
                guard let next = Self.names[String(word)] else { continue }
                cells[row, default: [:]][phase, default: []].insert(next)
            }
        }
    }

    private static let names: [String: Phase] = [
        "pw": .prewarming, "pa": .paused, "or": .ordered, "go": .toldToGo, "st": .starting,
        "ar": .arriving, "in": .inactive, "ac": .active, "bg": .background, "fr": .freezing,
        "fz": .frozen, "en": .ending, "em": .emptying, "ed": .ended,
    ]

    public static let program = PhaseTable(
        """
                      pw  pa  or  go  st  in  ac  bg  fr  fz  en  em  ed
        spawned       .   .   st  .   .   .   .   .   .   .   .   .   .
        spawned, exec .   .   ac  .   .   .   .   .   .   .   .   .   .
        spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
        paused        pa  .   .   en  .   .   .   .   .   .   .   .   .
        started       .   .   .   st  .   .   .   .   .   .   .   .   .
        started, exec .   .   .   ac  .   .   .   .   .   .   .   .   .
        channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .
        becameReady   .   .   ac  ac  ac  .   .   .   .   .   .   .   .
        ready, scenes .   .   ac  ac  ac  .   .   .   .   .   .   .   .
        acknowledged  .   .   .   .   .   .   .   .   .   .   .   .   .
        other step    .   .   .   .   .   .   .   .   .   .   .   .   .
        frozen        .   .   .   .   .   .   .   .   fz  .   .   .   .
        freezeFailed  .   .   .   .   .   .   .   .   bg  bg  .   .   .
        exited        em  em  em  em  em  em  em  em  em  em  em  .   .
        exited, empty ed  ed  em  em  ed  ed  ed  ed  ed  ed  em  .   .
        emptied       .   .   .   .   .   .   .   .   .   .   .   ed  .
        emptied, left ed  ed  .   .   ed  ed  ed  ed  ed  ed  .   ed  .
        deadline      .   en  en  en  en  .   .   fr  fz  .   .   .   .
        deadline, 2nd en  en  en  en  en  .   .   fr  fz  .   .   .   .
        found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        no channel    en  en  .   .   .   .   .   .   .   .   .   .   .
        unfit         .   .   .   en  .   .   .   .   .   .   .   .   .
        unheard       .   .   .   .   ac  .   .   .   .   .   .   .   .
        becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .
        stale, read   en  en  .   en  .   .   .   .   .   .   .   .   .
        misfired      en  en  .   .   .   .   .   .   .   .   .   .   .
        no lock       .   .   .   .   .   .   .   fr  .   .   .   .   .
        locked        .   .   .   .   .   .   .   en  .   .   .   .   .
        unconnected   .   .   .   .   .   .   .   fr  .   .   .   .   .
        connected     .   .   .   .   .   .   .   .   .   bg  .   .   .
        untraced      .   .   .   .   .   .   .   .   .   .   .   .   .
        pressure      en  en  .   .   .   .   .   en  en  en  .   .   .
        stall         en  en  .   .   .   .   .   en  en  en  .   .   .
        own stall     .   .   .   .   .   .   .   en  .   .   .   .   .
        measured      .   en  .   .   .   .   .   .   .   .   .   .   .
        launch        .   go  .   .   .   ac  .   ac  ac  ac  .   .   .
        trigger       .   go  --  --  --  --  --  --  bg  bg  --  --  .
        connection    .   go  .   .   .   .   .   .   bg  bg  .   .   .
        called        .   go  .   .   .   .   .   .   .   .   .   .   .
        foreground    --  --  .   .   .   ac  .   ac  ac  ac  --  --  --
        background    --  --  .   .   .   bg  bg  .   bg  bg  --  --  --
        suspend       --  --  --  --  --  fr  fr  fr  .   .   --  --  --
        resume        --  --  .   .   .   .   .   .   bg  bg  --  --  --
        interrupt     --  --  .   .   .   .   in  --  --  --  --  --  --
        endInterrupt  --  --  .   .   .   ac  .   .   .   .   --  --  --
        terminate     en  en  en  en  en  en  en  en  en  en  .   .   --
        forceQuit     en  en  en  en  en  en  en  en  en  en  .   .   --
        show scene    --  --  --  --  --  --  --  --  --  --  --  --  --
        task began    .   .   .   .   .   .   .   .   .   .   .   .   .
        task ended    .   .   .   .   .   .   .   .   .   .   .   .   .
        in front      .   .   .   .   .   .   .   ac  ac  ac  .   .   .
        not in front  .   .   .   .   .   bg  bg  .   .   .   .   .   .
        lock          .   .   .   .   .   .   in  .   .   .   .   .   .
        logged out    en  en  .   .   .   .   .   .   .   .   .   .   .
        planned       en  en  .   .   .   .   .   .   .   .   .   .   .
        active        en  en  .   .   .   .   .   .   .   .   .   .   .
        policy        en  en  .   .   .   .   .   .   .   .   .   .   .
        installed     en  en  .   .   .   .   .   .   .   .   .   .   .
        removed       en  en  .   .   .   .   .   .   .   .   .   .   .
        restored      en  en  .   .   .   .   .   .   .   .   .   .   .
        shutdown      en  en  en  en  en  en  en  en  en  en  .   .   .
        """)

    public static let acknowledging = PhaseTable(
        """
                      pw  pa  or  go  st  ar  in  ac  bg  fr  fz  en  em  ed
        spawned       .   .   st  .   .   .   .   .   .   .   .   .   .   .
        spawned, exec .   .   in  .   .   .   .   .   .   .   .   .   .   .
        spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
        paused        pa  .   .   en  .   .   .   .   .   .   .   .   .   .
        started       .   .   .   st  .   .   .   .   .   .   .   .   .   .
        started, exec .   .   .   in  .   .   .   .   .   .   .   .   .   .
        channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .   .
        becameReady   .   .   in  in  in  .   .   .   .   .   .   .   .   .
        ready, scenes .   .   ar  ar  ar  .   .   .   .   .   .   .   .   .
        acknowledged  .   .   .   .   .   in  ac  .   .   .   .   .   .   .
        other step    .   .   .   .   .   bg  bg  in  in  .   .   .   .   .
        frozen        .   .   .   .   .   .   .   .   .   fz  .   .   .   .
        freezeFailed  .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
        exited        em  em  em  em  em  em  em  em  em  em  em  em  .   .
        exited, empty ed  ed  em  em  ed  ed  ed  ed  ed  ed  ed  em  .   .
        emptied       .   .   .   .   .   .   .   .   .   .   .   .   ed  .
        emptied, left ed  ed  .   .   ed  ed  ed  ed  ed  ed  ed  .   ed  .
        deadline      .   en  .   en  .   .   .   .   fr  fz  .   .   .   .
        deadline, 2nd en  en  .   en  .   .   .   .   fr  fz  .   .   .   .
        found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        no channel    en  en  .   .   .   .   .   .   .   .   .   .   .   .
        unfit         .   .   .   en  .   .   .   .   .   .   .   .   .   .
        unheard       .   .   .   .   .   .   .   .   .   .   .   .   .   .
        becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .   .
        stale, read   en  en  .   en  .   .   .   .   .   .   .   .   .   .
        misfired      en  en  .   .   .   .   .   .   .   .   .   .   .   .
        no lock       .   .   .   .   .   .   .   .   fr  .   .   .   .   .
        locked        .   .   .   .   .   .   .   .   en  .   .   .   .   .
        unconnected   .   .   .   .   .   .   .   .   fr  .   .   .   .   .
        connected     .   .   .   .   .   .   .   .   .   .   bg  .   .   .
        untraced      .   .   en  .   en  en  en  .   .   .   .   .   .   .
        pressure      en  en  .   .   .   .   .   .   en  en  en  .   .   .
        stall         en  en  .   .   .   .   .   .   en  en  en  .   .   .
        own stall     .   .   .   .   .   .   .   .   en  .   .   .   .   .
        measured      .   en  .   .   .   .   .   .   .   .   .   .   .   .
        launch        .   go  .   .   .   .   .   .   .   bg  bg  .   .   .
        trigger       .   go  --  --  --  --  --  --  --  bg  bg  --  --  .
        connection    .   go  .   .   .   .   .   .   .   bg  bg  .   .   .
        called        .   go  .   .   .   .   .   .   .   .   .   .   .   .
        foreground    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        background    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        suspend       --  --  --  --  --  --  .   .   fr  .   .   --  --  --
        resume        --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        interrupt     --  --  .   .   .   .   .   .   --  --  --  --  --  --
        endInterrupt  --  --  .   .   .   .   .   .   .   .   .   --  --  --
        terminate     en  en  en  en  en  en  en  en  en  en  en  .   .   --
        forceQuit     en  en  en  en  en  en  en  en  en  en  en  .   .   --
        show scene    --  --  --  --  --  .   .   .   .   bg  bg  --  --  --
        task began    .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
        task ended    .   .   .   .   .   .   .   .   fr  .   .   .   .   .
        in front      .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
        not in front  .   .   .   .   .   .   .   .   .   .   .   .   .   .
        lock          .   .   .   .   .   .   .   .   .   .   .   .   .   .
        logged out    en  en  .   .   .   .   .   .   .   .   .   .   .   .
        planned       en  en  .   .   .   .   .   .   .   .   .   .   .   .
        active        en  en  .   .   .   .   .   .   .   .   .   .   .   .
        policy        en  en  .   .   .   .   .   .   .   .   .   .   .   .
        installed     en  en  .   .   .   .   .   .   .   .   .   .   .   .
        removed       en  en  .   .   .   .   .   .   .   .   .   .   .   .
        restored      en  en  .   .   .   .   .   .   .   .   .   .   .   .
        shutdown      en  en  en  en  en  en  en  en  en  en  en  .   .   .
        """)
}
