import GreenroomControl
import UnitFile

extension ControlClient {
    /// The identifier of the app that `name` means. A name without a dot must be the last component
    /// of exactly one identifier (`ffmpeg` of `org.ffmpeg.ffmpeg`).
    func resolve(_ name: String) throws(Failure) -> String {
        if name.utf8.contains(UInt8(ascii: ".")) { return name }
        let apps = try identifiers()
        if apps.contains(name) { return name }
        let matches = apps.filter { $0.split(separator: ".").last.map(String.init) == name }
        switch matches.count {
        case 1: return matches[0]
        case 0 where UInt64(name) != nil: throw .number(name)
        case 0:
            throw .control(
                .noSuchApp(name, suggestion: Spelling.closest(to: name, among: apps)))
        case _: throw .ambiguous(name, matches)
        }
    }

    private func identifiers() throws(Failure) -> [String] {
        guard case .listed(let apps) = try call(.list) else { return [] }
        return apps.map(\.identifier)
    }
}
