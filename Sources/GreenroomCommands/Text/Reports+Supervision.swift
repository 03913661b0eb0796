import GreenroomControl

extension Report {
    static func supervision(_ status: Control.SupervisionStatus) -> String {
        var text = "  restart: \(status.restart.harmless)"
        if status.restartCount > 0 { text += ", \(status.restartCount) so far" }
        if let next = status.nextStartUSec { text += ", next in \(Phrase.duration(uSec: next))" }
        text += "\n"
        if let failed = status.failed { text += "  failed: it \(failed.text.harmless)\n" }
        if let quit = status.forceQuit { text += "  force-quit: \(quit.text.harmless)\n" }
        return text
    }
}
