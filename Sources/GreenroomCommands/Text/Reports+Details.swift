extension Report {
    /// What is known of an app beside its instances; empty if nothing is.
    static func details(_ details: AppDetails, _ appearance: Appearance = .plain) -> String {
        var lines: [String] = []
        if let first = details.files.first {
            let word = details.enablement.map { " (\($0))" } ?? ""
            lines.append("manifest: \(first.harmless)\(word)")
            lines += details.files.dropFirst().map { "drop-in: \($0.harmless)" }
        }
        for (instance, found) in details.processes {
            let time =
                found.cpuUSec.map { ", \(Phrase.duration(uSec: $0)) of processor time" } ?? ""
            lines.append("processes of instance \(instance)\(time):")
            lines += found.processes.map { process in
                let indent = String(repeating: "  ", count: process.depth + 1)
                return "\(indent)\(process.pid) \(process.command.harmless)"
            }
        }
        if !details.log.isEmpty {
            lines.append("journal:")
            lines += details.log.map { "  \($0.harmless)" }
        }
        if lines.isEmpty { return "" }
        let heading = appearance.styled(details.app.harmless, .heading)
        return "\n\(heading)\n"
            + lines.map { line in
                "  " + (appearance.columns.map { line.ellipsized(to: $0 - 2) } ?? line) + "\n"
            }.joined()
    }
}
