import Glibc
import Systemd

/// Runs the loop in one way per word on its command line and prints what happened, one fact per
/// line, for SystemdTests to read.
@main struct Probe {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "serve" {
            return serve(Array(CommandLine.arguments.dropFirst(2)))
        }
        guard CommandLine.arguments.count > 1, let mode = Mode(rawValue: CommandLine.arguments[1])
        else {
            say("modes: \(Mode.allCases.map(\.rawValue))")
            exit(64)
        }
        let keep = LoopActor.assumeIsolated { Keep() }
        LoopActor.assumeIsolated {
            do { try mode.start(keep) } catch {
                say("failed: \(error)")
                exit(1)
            }
        }
        let code = LoopActor.shared.loop.run()
        withExtendedLifetime(keep) {}
        exit(code)
    }
}

/// Sources that outlive the function that made them.
@LoopActor final class Keep {
    var sources: [EventSource] = []
    var named: [String: EventSource] = [:]
}

func say(_ fact: String) {
    let line = Array((fact + "\n").utf8)
    _ = write(1, line, line.count)
}

@LoopActor func finish(_ code: CInt = 0) { LoopActor.shared.loop.exit(code) }
