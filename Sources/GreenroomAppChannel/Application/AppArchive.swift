/// An app's saved state: named strings that only the app understands. The daemon keeps one archive
/// for the app and one for each scene session.
public struct AppArchive: Hashable, Sendable {
    /// `name=value`, in the order in which they were set. A name contains no `=`, and neither
    /// contains a NUL.
    public internal(set) var entries: [String] = []

    /// The largest archive in bytes, including a NUL for each entry. State says where the user was;
    /// what the user created belongs in files. With this limit, the archive fits into a message
    /// beside everything else that a message may contain.
    public static let byteLimit = 32 << 10

    public init() {}
    init(_ fields: AppFields) { entries = fields.entries }

    /// The size that ``byteLimit`` limits.
    public var byteCount: Int { entries.reduce(0) { $0 + $1.utf8.count + 1 } }

    public var isEmpty: Bool { entries.isEmpty }

    /// The first value of that name.
    public subscript(name: String) -> String? {
        fields.pairs.first { $0.name == name }?.value
    }

    public mutating func add(_ name: String, _ value: String) { entries.append("\(name)=\(value)") }

    var fields: AppFields { AppFields(entries: entries) }

    private static let activityName = "restored"

    /// Creates the archive of a scene, which is an activity.
    public init(_ activity: AppContent.Activity) {
        var fields = AppFields()
        activity.add(to: &fields, as: Self.activityName)
        entries = fields.entries
    }

    /// The activity in the archive; nil if there is none.
    public var activity: AppContent.Activity? {
        var activity: AppContent.Activity?
        for (name, value) in fields.pairs {
            if name == Self.activityName {
                activity = AppContent.Activity(value)
            } else if let detail = name.without(prefix: Self.activityName + ".") {
                activity?.take(detail, value)
            }
        }
        return activity
    }
}

/// An archive as the daemon keeps it and hands it over.
public struct SavedState: Hashable, Sendable {
    public var archive: AppArchive
    /// The app's `Version=` when it was saved; empty if its manifest had none.
    public var appVersion: String
    /// The app's `StateVersion=` when it was saved. The archive is handed over only to an app with
    /// the same value.
    public var stateVersion: String
    /// When it was saved: CLOCK_REALTIME in microseconds.
    public var savedAt: UInt64
    /// The user to whom the archive belongs. No other user gets it.
    public var user: UInt32

    public init(
        _ archive: AppArchive, appVersion: String = "", stateVersion: String = "",
        savedAt: UInt64 = 0, user: UInt32 = 0
    ) {
        self.archive = archive
        self.appVersion = appVersion
        self.stateVersion = stateVersion
        self.savedAt = savedAt
        self.user = user
    }
}

/// An app's report about its state; UIKit's `shouldSaveSecureApplicationState` and what follows.
public enum StateReport: Equatable, Sendable {
    /// Keep this archive instead of the earlier one.
    case save(AppArchive)
    /// Delete the earlier archive: the app has no state to save.
    case forget
    /// The archive has more bytes than ``AppArchive/byteLimit``, so it is not sent. The earlier one
    /// stays.
    case tooLarge(byteCount: UInt64)
    /// The app goes on restoring the archive after its callbacks have returned; ``complete``
    /// follows. Nothing is saved until then.
    case extend
    case complete
}

// MARK: On the wire

extension SavedState {
    /// - Parameter session: nil means the app's own state.
    func frame(session: String?, cookie: UInt64) -> AppFrame {
        var frame = AppFrame(
            .restoreState, cookie: cookie,
            words: [session ?? "", appVersion, stateVersion, String(savedAt), String(user)])
        frame.fields = archive.fields
        return frame
    }

    init(_ frame: AppFrame) throws(WireError) {
        guard frame.words.count >= 5, let savedAt = UInt64(frame.words[3]),
            let user = UInt32(frame.words[4])
        else { throw .malformedStrings }
        self.init(
            AppArchive(frame.fields), appVersion: frame.words[1], stateVersion: frame.words[2],
            savedAt: savedAt, user: user)
    }
}

extension StateReport {
    func frame(session: String?, cookie: UInt64) -> AppFrame {
        let words = session.map { [$0] } ?? []
        switch self {
        case .save(let archive):
            var frame = AppFrame(.saveState, cookie: cookie, words: words)
            frame.fields = archive.fields
            return frame
        case .forget: return AppFrame(.saveState, cookie: cookie, status: 1, words: words)
        case .tooLarge(let byteCount):
            var frame = AppFrame(.saveState, cookie: cookie, status: 2, words: words)
            frame.fields.add("size", String(byteCount))
            return frame
        case .extend: return AppFrame(.extendRestoration, cookie: cookie, words: words)
        case .complete: return AppFrame(.completeRestoration, cookie: cookie, words: words)
        }
    }

    init(_ frame: AppFrame) throws(WireError) {
        switch (frame.type, frame.status) {
        case (.saveState, 0): self = .save(AppArchive(frame.fields))
        case (.saveState, 1): self = .forget
        case (.saveState, 2):
            let size = frame.fields.pairs.first { $0.name == "size" }?.value
            self = .tooLarge(byteCount: size.flatMap { UInt64($0) } ?? 0)
        case (.extendRestoration, _): self = .extend
        case (.completeRestoration, _): self = .complete
        default: throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
    }
}
