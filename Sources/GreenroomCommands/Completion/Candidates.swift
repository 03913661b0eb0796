import ArgumentParser
import Glibc
import GreenroomControl

/// What the daemon knows that may stand where the cursor is.
///
/// A shell asks while its user waits: no answer within a moment is no candidates, and nothing is ever
/// printed about it.
enum Candidates {
    /// In microseconds: longer than any answer takes, shorter than what feels stuck.
    private static let deadline: suseconds_t = 400_000

    static let apps = CompletionKind.custom { words, _, prefix in
        ask(words) { client throws(Failure) in
            try apps(for: states(of: words), prefix: prefix, client)
        }
    }

    static let instances = CompletionKind.custom { words, _, _ in
        ask(words) { client throws(Failure) in try instances(for: states(of: words), client) }
    }

    /// Identifiers; where none begins like this, last parts of identifiers.
    static func apps(
        for states: Set<Control.ExecutionState>?, prefix: String, _ client: ControlClient
    ) throws(Failure) -> [String] {
        var identifiers: [String]
        if let states {
            guard case .status(let instances) = try client.call(.status(nil)) else { return [] }
            identifiers = Set(
                instances.filter { $0.state.known.map(states.contains) ?? false }.map(\.app)
            ).sorted()
        } else {
            guard case .listed(let apps) = try client.call(.list) else { return [] }
            identifiers = apps.map(\.identifier)
        }
        // What would have to be quoted is no identifier.
        identifiers.removeAll { $0.harmless != $0 || $0.contains(" ") }
        if identifiers.contains(where: { $0.hasPrefix(prefix) }) { return identifiers }
        let names = identifiers.compactMap { $0.split(separator: ".").last.map(String.init) }
        return names.filter { name in names.count { $0 == name } == 1 }
    }

    static func instances(
        for states: Set<Control.ExecutionState>?, _ client: ControlClient
    ) throws(Failure) -> [String] {
        guard case .status(let instances) = try client.call(.status(nil)) else { return [] }
        return instances.filter { status in
            guard let states else { return true }
            return status.state.known.map(states.contains) ?? false
        }.map { String($0.instance) }
    }

    /// Those from which the verb of the command line leads somewhere; nil where any will do.
    static func states(of words: [String]) -> Set<Control.ExecutionState>? {
        let running: Set<Control.ExecutionState> = [
            .launching, .inactive, .active, .background, .suspended,
        ]
        for word in words.dropFirst() {
            switch word {
            case "foreground": return running.subtracting([.active])
            case "background": return running.subtracting([.background])
            case "suspend": return running.subtracting([.suspended])
            case "resume": return [.suspended]
            case "terminate": return running
            case "kill": return running.union([.terminating, .prewarmed, .prewarming])
            case _: continue
            }
        }
        return nil
    }

    private static func ask(
        _ words: [String], _ question: (ControlClient) throws(Failure) -> [String]
    ) -> [String] {
        giveUpInTime()
        let socket = words.firstIndex(of: "--socket").flatMap { index in
            words.indices.contains(index + 1) ? words[index + 1] : nil
        }
        do throws(Failure) {
            return try question(ControlClient(path: SocketPath.find(option: socket)))
        } catch {
            return []
        }
    }

    /// Ends the process without a word (setitimer(2)): connecting, too, may wait.
    private static func giveUpInTime() {
        signal(SIGALRM) { _ in _exit(0) }
        var timer = itimerval()
        timer.it_value.tv_usec = deadline
        unsafe setitimer(__itimer_which_t(0), &timer, nil)
    }
}
