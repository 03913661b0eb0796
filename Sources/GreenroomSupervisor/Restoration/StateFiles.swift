internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux

/// What is kept of apps beyond the boot: a folder for each app that has something to keep. Only the
/// daemon reads it.
///
///     STATE/apps/APP/archive    the app's own archive, as the message that will carry it
///     STATE/apps/APP/scene-N    the archive of session N
///     STATE/apps/APP/sessions   which sessions there are
///     STATE/apps/APP/version    the versions that finished a launch, the latest first
///
/// Each file is written beside its place and then renamed. Nothing waits for the disk, so a file
/// may be empty or torn after a power cut. That is noticed, and the file counts as missing.
struct StateFiles {
    private let root: String

    init(stateDirectory: String) { root = stateDirectory + "/apps" }

    /// The longest text, a version or a list of sessions, in bytes; more is damage.
    private static let textLimit = 4096

    private func folder(_ app: AppIdentifier) -> String { "\(root)/\(app)" }

    private static func name(_ scene: SceneIdentifier) -> String {
        scene == .application ? "archive" : "scene-\(scene)"
    }

    // MARK: Archives

    /// Nil if there is no archive, or if the file cannot be one.
    func archive(of app: AppIdentifier, _ scene: SceneIdentifier) -> SavedState? {
        guard
            let bytes = read(app, Self.name(scene), atMost: WireFormat.datagramLimit),
            case .event(.restoreState(let state?, _, _))? = try? unsafe DaemonMessage(
                decoding: bytes.span.bytes)
        else { return nil }
        return state
    }

    func keep(
        _ state: SavedState, of app: AppIdentifier, _ scene: SceneIdentifier
    ) throws(SystemError) {
        let message = DaemonMessage.event(.restoreState(state, session: nil, cookie: 0))
        let bytes: [UInt8]
        do throws(WireError) { bytes = try message.encoded().datagram } catch {
            throw SystemError(code: EINVAL, call: "encoding")
        }
        try write(bytes, app, Self.name(scene))
    }

    func delete(_ scene: SceneIdentifier, of app: AppIdentifier) {
        unsafe unlink("\(folder(app))/\(Self.name(scene))")
    }

    /// The scenes that have an archive. Files with other names are left alone.
    func scenes(of app: AppIdentifier) -> [SceneIdentifier] {
        ((try? FolderContents.names(in: folder(app))) ?? []).compactMap { name in
            if name == "archive" { return .application }
            guard name.hasPrefix("scene-"), let number = UInt32(name.dropFirst(6)), number > 0
            else { return nil }
            return SceneIdentifier(number)
        }
    }

    // MARK: Sessions

    func sessions(of app: AppIdentifier) -> SessionList {
        var list = SessionList()
        guard let text = text(app, "sessions") else { return list }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let numbers = words.dropFirst().compactMap { UInt32($0) }
            switch words.first {
            case "open": list.open = numbers.map(SceneIdentifier.init)
            case "discarded": list.discarded = numbers.map(SceneIdentifier.init)
            case "last": list.last = numbers.first ?? 0
            case _: break
            }
        }
        return list
    }

    func keep(_ list: SessionList, of app: AppIdentifier) throws(SystemError) {
        func words(_ scenes: [SceneIdentifier]) -> String {
            scenes.map { " \($0)" }.joined()
        }
        let text = """
            open\(words(list.open))
            discarded\(words(list.discarded))
            last \(list.last)

            """
        try write(Array(text.utf8), app, "sessions")
    }

    // MARK: Versions

    /// The versions that have finished a launch, the latest first, each on a line. (A version is a
    /// line of a manifest.)
    func versions(of app: AppIdentifier) -> [String] {
        guard let text = text(app, "version") else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    func note(version: String, of app: AppIdentifier) throws(SystemError) {
        let earlier = versions(of: app).filter { $0 != version }
        var text = version
        for one in earlier.prefix(KeptState.versionLimit - 1) {
            guard text.utf8.count + one.utf8.count < Self.textLimit else { break }
            text += "\n" + one
        }
        try write(Array(text.utf8), app, "version")
    }

    // MARK: Files

    private func text(_ app: AppIdentifier, _ name: String) -> String? {
        read(app, name, atMost: Self.textLimit).map { String(decoding: $0, as: UTF8.self) }
    }

    private func read(_ app: AppIdentifier, _ name: String, atMost limit: Int) -> [UInt8]? {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let file = try? FileDescriptor.open("\(folder(app))/\(name)", flags)
        return try? file?.readBytes(atMost: limit)
    }

    private func write(
        _ bytes: [UInt8], _ app: AppIdentifier, _ name: String
    ) throws(SystemError) {
        let slash = root.lastIndex(of: "/") ?? root.startIndex
        for path in [String(root[..<slash]), root, folder(app)] { unsafe mkdir(path, 0o700) }
        try SmallFile.replace("\(folder(app))/\(name)", with: bytes, mode: 0o600)
    }
}
