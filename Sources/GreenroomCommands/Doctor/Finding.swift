import GreenroomControl
import Varlink

/// The result of one check of `greenroomctl doctor`.
struct Finding: Equatable {
    enum Verdict: String, CaseIterable {
        case good
        /// What was checked works less well than it could, or it cannot be checked from here.
        case warning
        case failure
    }

    /// A stable code for programs.
    var code: String
    var verdict: Verdict
    /// What was found, for humans.
    var text: String
    /// How to repair it; nil if there is nothing to repair.
    var remedy: String?

    static func good(_ code: String, _ text: String) -> Finding {
        Finding(code: code, verdict: .good, text: text)
    }
    static func warning(_ code: String, _ text: String, _ remedy: String) -> Finding {
        Finding(code: code, verdict: .warning, text: text, remedy: remedy)
    }
    static func failure(_ code: String, _ text: String, _ remedy: String) -> Finding {
        Finding(code: code, verdict: .failure, text: text, remedy: remedy)
    }
}

/// All findings.
struct Diagnosis: ParametersEncodable {
    var findings: [Finding]

    var isHealthy: Bool { !findings.contains { $0.verdict == .failure } }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("healthy", isHealthy)
        writer.name("findings")
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            writer.member("code", finding.code)
            writer.member("verdict", finding.verdict.rawValue)
            writer.member("text", finding.text)
            writer.member("remedy", ifPresent: finding.remedy)
            writer.endObject()
        }
        writer.endArray()
    }

    /// A line for each finding, and another one with its remedy if it has one.
    func report(_ appearance: Appearance) -> String {
        var text = ""
        for finding in findings {
            let (word, style): (String, Style) =
                switch finding.verdict {
                case .good: ("good     ", .good)
                case .warning: ("warning  ", .notable)
                case .failure: ("FAILED   ", .bad)
                }
            text += appearance.styled(word, style) + finding.text.harmless + "\n"
            if let remedy = finding.remedy { text += "         -> \(remedy.harmless)\n" }
        }
        let failures = findings.count { $0.verdict == .failure }
        let warnings = findings.count { $0.verdict == .warning }
        return text + "\(failures) failed, \(warnings) warning\(warnings == 1 ? "" : "s")\n"
    }
}
