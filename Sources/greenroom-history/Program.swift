import Glibc
import GreenroomHistory

/// Keeps the history of launches for greenroomd, which starts it with a connection as standard
/// input: greenroom-history FILE
@main struct Program {
    static func main() {
        guard CommandLine.arguments.count == 2 else {
            let text = "greenroom-history: started by greenroomd, with the history's file\n"
            _ = unsafe write(STDERR_FILENO, text, text.utf8.count)
            exit(64)
        }
        HistoryService(path: CommandLine.arguments[1], descriptor: STDIN_FILENO).run()
    }
}
