internal import UnitFile

/// When an enabled app starts by itself (`[Install]`, `WantedBy=`).
public enum StartOccasion: String, CaseIterable, Sendable {
    case boot, login

    /// The folder, in those of manifests, whose links say which apps are enabled.
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
