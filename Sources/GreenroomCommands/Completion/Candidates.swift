import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomManifest

/// Candidates for completion that the daemon knows.
///
/// The user waits in the meantime, so if the daemon does not answer quickly there are no
/// candidates, and nothing is printed about it.
enum Candidates {
    /// How long to wait, in microseconds: longer than any answer takes, and too short to seem
    /// stuck.
    private static let deadline: suseconds_t = 400_000

    static let apps = CompletionKind.custom { words, _, prefix in
        ask(words) { client throws(Failure) in
            try apps(for: states(of: words), prefix: prefix, client)
        }
    }

    /// Masked apps, which the daemon does not know.
    static let masked = CompletionKind.custom { words, _, _ in
        ask(words) { client throws(Failure) in
            guard case .described(let daemon) = try client.call(.describe) else { return [] }
            let folders = AppFolders(daemon.appDirectories)
            return folders.files.filter { folders.file(of: $0)?.isMasked == true }
                .map(\.identifier)
        }
    }

    static let instances = CompletionKind.custom { words, _, _ in
        ask(words) { client throws(Failure) in try instances(for: states(of: words), client) }
    }

    /// The identifiers; if none begins with the prefix, the last parts of identifiers.
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
        // A name that would have to be quoted is not an identifier.
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

    /// The states in which the verb of the command line has an effect; nil means any state.
    static func states(of words: [String]) -> Set<Control.ExecutionState>? {
        let running: Set<Control.ExecutionState> = [
            .launching, .inactive, .active, .background, .suspended,
        ]
        for word in words.dropFirst() {
            switch word {
            case "foreground": return running.subtracting([.active])
            case "background": return running.subtracting([.background])
            case "suspend", "freeze": return running.subtracting([.suspended])
            case "resume", "thaw": return [.suspended]
            case "interrupt": return [.launching, .active]
            case "end-interruption": return [.inactive]
            case "terminate", "stop", "restart": return running
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
        let whose = words.lazy.compactMap { word in
            word.hasPrefix("--") ? DaemonOwner(rawValue: String(word.dropFirst(2))) : nil
        }.first
        do throws(Failure) {
            return try question(ControlClient(path: SocketPath.find(option: socket, whose)))
        } catch {
            return []
        }
    }

    /// Ends this process silently when the time is over (setitimer(2)), because connecting can also
    /// block.
    private static func giveUpInTime() {
        signal(SIGALRM) { _ in _exit(0) }
        var timer = itimerval()
        timer.it_value.tv_usec = deadline
        unsafe setitimer(__itimer_which_t(0), &timer, nil)
    }
}
