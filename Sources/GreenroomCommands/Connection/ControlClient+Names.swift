import Glibc
import GreenroomControl
import UnitFile

extension ControlClient {
    /// The identifier of the app that `name` means. A name without a dot must be the last component
    /// of exactly one identifier (`ffmpeg` for `org.ffmpeg.ffmpeg`).
    func resolve(_ name: String) throws(Failure) -> String {
        if name.utf8.contains(UInt8(ascii: ".")) { return name }
        let apps = try identifiers()
        let matches = AppNames.identifiers(meantBy: name, among: apps)
        switch matches.count {
        case 1: return matches[0]
        case 0 where UInt64(name) != nil: throw .number(name)
        case 0:
            // The daemon says why such an app is not installed.
            if let absent = absent(called: name) { return absent }
            throw .control(
                .noSuchApp(name, suggestion: Spelling.closest(to: name, among: apps)))
        case _: throw .ambiguous(name, matches)
        }
    }

    /// The apps that a name or a pattern (glob(7)) means.
    func apps(
        meantBy word: String, where isMeant: (Control.AppSummary) -> Bool
    ) throws(Failure) -> [String] {
        guard AppPattern.isPattern(word) else { return [try resolve(word)] }
        guard case .listed(let own) = try call(.list) else { return [] }
        return (own + systemsApps(besides: own)).filter { app in
            isMeant(app) && AppPattern.matches(word, app.identifier)
        }.map(\.identifier)
    }

    /// The app of this short name that was refused or masked, if there is one.
    private func absent(called name: String) -> String? {
        guard case .listed(let apps)? = try? call(.listAll) else { return nil }
        let absent = apps.filter { $0.refusal != nil }.map(\.identifier)
        let matches = absent.filter { $0 == name || $0.hasSuffix("." + name) }
        return matches.count == 1 ? matches[0] : nil
    }

    private func identifiers() throws(Failure) -> [String] {
        guard case .listed(let apps) = try call(.list) else { return [] }
        return (apps + systemsApps(besides: apps)).map(\.identifier)
    }

    /// The apps of the system's daemon that this user may see, without those that the user's own daemon has,
    /// too.
    func systemsApps(besides own: [Control.AppSummary]) -> [Control.AppSummary] {
        guard let system, case .listed(let apps)? = try? system.call(.list) else { return [] }
        return AppNames.systemsApps(apps, besides: own)
    }
}

/// Patterns of apps (glob(7)), which mean identifiers or the last part of them.
enum AppPattern {
    static func isPattern(_ word: String) -> Bool { word.contains { "*?[".contains($0) } }

    static func matches(_ pattern: String, _ identifier: String) -> Bool {
        let last = identifier.split(separator: ".").last.map(String.init) ?? ""
        return unsafe fnmatch(pattern, identifier, 0) == 0 || fnmatch(pattern, last, 0) == 0
    }
}
