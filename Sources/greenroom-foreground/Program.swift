import GreenroomSession

/// Reports the foreground of a display to greenroomd.
@main struct Program {
    static func main() {
        SessionProgram.foreground.main { try ForegroundReporter($0).run() }
    }
}
