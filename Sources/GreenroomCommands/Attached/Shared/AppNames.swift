import GreenroomControl

/// Which apps a short name means.
enum AppNames {
    /// The identifiers that a word of the command line means: the word itself, or the identifiers
    /// with this last component (`ffmpeg` for `org.ffmpeg.ffmpeg`).
    static func identifiers(meantBy name: String, among identifiers: [String]) -> [String] {
        if identifiers.contains(name) { return [name] }
        return identifiers.filter { lastComponent(of: $0, after: ".") == name }
    }

    /// The apps that the name of a link means: the app with this identifier or its last component,
    /// else those with a program of this file name, else those with this name for humans. If there
    /// are several, the link is ambiguous.
    static func apps(
        called name: String, among apps: [Control.AppSummary]
    ) -> [Control.AppSummary] {
        let meanings: [(Control.AppSummary) -> Bool] = [
            { $0.identifier == name },
            { lastComponent(of: $0.identifier, after: ".") == name },
            { $0.program.map { lastComponent(of: $0, after: "/") } == name },
            { $0.name == name },
        ]
        for meaning in meanings {
            let matches = apps.filter(meaning)
            if !matches.isEmpty { return matches }
        }
        return []
    }

    /// The apps of the system's daemon, without those that the user's own daemon has, too.
    static func systemsApps(
        _ apps: [Control.AppSummary], besides own: [Control.AppSummary]
    ) -> [Control.AppSummary] {
        if apps.isEmpty { return [] }
        let names = Set(own.map { $0.identifier })
        return apps.filter { !names.contains($0.identifier) }
    }

    /// The part after the last separator, of components that are not empty; nil if there is none.
    static func lastComponent(of text: String, after separator: Character) -> String? {
        text.split(separator: separator).last.map { String($0) }
    }
}
