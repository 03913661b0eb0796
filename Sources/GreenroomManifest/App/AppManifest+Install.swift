internal import UnitFile

/// When the daemon starts an enabled app (`[Install]`, `WantedBy=`).
public enum StartOccasion: String, CaseIterable, Sendable {
    case boot, login

    /// The folder, in each directory of manifests, whose links name the enabled apps.
    public var folder: String { rawValue + ".wants" }
}

extension AppManifest {
    static func readWantedBy(_ reader: inout SectionReader) -> [StartOccasion] {
        let occasions = reader.list(
            "Install", "WantedBy", atMost: 2 * StartOccasion.allCases.count
        ) { word throws(ValueError) in
            guard let occasion = StartOccasion(rawValue: word.text) else {
                let known = StartOccasion.allCases.map(\.rawValue)
                throw ValueError(
                    message: "'\(Names.cut(word.text))' is not one of "
                        + known.joined(separator: ", ") + suggestion(for: word.text, among: known))
            }
            return occasion
        }
        return StartOccasion.allCases.filter(occasions.contains)
    }
}
