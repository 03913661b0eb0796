import GreenroomControl

/// When the depth of an app has changed, by its paused instances in the history: in which order, with
/// how many of them, and how many of these were launched.
struct DepthStory: Equatable {
    struct Chapter: Equatable {
        let depth: Control.Word<Control.PrewarmDepth>
        /// When the first of them was paused.
        let since: Int64
        var pausedCount = 0
        var launchedCount = 0
    }

    /// At most this many paused instances are asked for.
    static let pauseLimit = 200
    /// At most this many chapters are told, the latest.
    private static let chapterLimit = 4

    /// The latest comes last. Empty if the depth was always the same.
    let chapters: [Chapter]

    init(_ pauses: [Control.PauseRecord]) {
        var chapters: [Chapter] = []
        for pause in pauses.sorted(by: { $0.pausedTimestampUSec < $1.pausedTimestampUSec }) {
            guard let depth = pause.depth else { continue }
            if chapters.last?.depth != depth {
                chapters.append(Chapter(depth: depth, since: pause.pausedTimestampUSec))
            }
            chapters[chapters.count - 1].pausedCount += 1
            if pause.kind != nil { chapters[chapters.count - 1].launchedCount += 1 }
        }
        self.chapters = chapters.count > 1 ? Array(chapters.suffix(Self.chapterLimit)) : []
    }

    /// The story of an app; empty if nobody tells it, for example because the history is not running.
    init(of app: String, _ client: ControlClient) {
        let past = PastRecords(apps: [app], since: nil, until: nil)
        do throws(Failure) {
            self.init(try past.pauses(atMost: Self.pauseLimit, client))
        } catch { self.init([]) }
    }
}

extension Report {
    static func depths(_ story: DepthStory) -> String {
        "  its instances were paused:\n"
            + story.chapters.map { chapter in
                "    since \(Phrase.dateAndTime(uSec: chapter.since)) \(chapter.depth.place) "
                    + "(\(chapter.pausedCount), of which \(chapter.launchedCount) "
                    + "\(chapter.launchedCount == 1 ? "was" : "were") launched)\n"
            }.joined()
    }
}
