internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// What apps have scheduled, kept across a reboot: a file of lines for each app, below
/// `STATE/tasks`.
///
///     request refresh|processing IDENTIFIER [earliest=MICROSECONDS] [power] [network]
///     run NUMBER refresh|processing IDENTIFIER
///
/// Identifiers have no blanks. A line that makes no sense is skipped.
struct TaskFiles {
    private let directory: String

    init(stateDirectory: String) { directory = stateDirectory + "/tasks" }

    /// At most this many lines are read: more than are ever written here.
    private static let lineLimit = 32
    /// At most this many bytes are read. The lines with the longest identifiers stay far below
    /// this.
    private static let byteLimit = 64 << 10
    /// Numbers count nanoseconds since the machine's start, so none comes near this.
    private static let numberLimit = UInt64.max / 2

    private func path(of app: AppIdentifier) -> String { "\(directory)/\(app)" }

    /// Writes the file as a whole or not at all (rename(2)). An app that has scheduled nothing has
    /// no file.
    func save(_ tasks: AppTasks, of app: AppIdentifier) throws(SystemError) {
        if tasks == AppTasks() {
            unsafe unlink(path(of: app))
            return
        }
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        unsafe mkdir(String(directory[..<slash]), 0o755)
        unsafe mkdir(directory, 0o755)
        try SmallFile.replace(path(of: app), with: Self.text(of: tasks))
    }

    /// - Parameter complain: called with what is wrong with a file that is damaged.
    func tasks(of app: AppIdentifier, _ complain: (String) -> Void) -> AppTasks {
        let path = path(of: app)
        do throws(SystemError) {
            guard let lines = try StateLines(path: path, byteLimit: Self.byteLimit) else {
                return AppTasks()
            }
            if !lines.areWhole(by: { Self.tasks("\($0)\n") != AppTasks() }) {
                complain("\(path) is damaged; the requests that can be read are scheduled again")
            }
            return Self.tasks(lines.text)
        } catch {
            complain("\(error); the work that was scheduled there is forgotten")
            return AppTasks()
        }
    }

    static func text(of tasks: AppTasks) -> String {
        var lines = tasks.requests.map { task in
            var words = ["request", task.kind.word, task.identifier]
            if let earliest = task.earliestBegin { words.append("earliest=\(earliest)") }
            if task.requiresExternalPower { words.append("power") }
            if task.requiresNetworkConnectivity { words.append("network") }
            return words.joined(separator: " ")
        }
        if let run = tasks.run {
            lines.append("run \(run.number) \(run.kind.word) \(run.identifier)")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    static func tasks(_ text: String) -> AppTasks {
        var tasks = AppTasks()
        for line in StateLines(text).lines.prefix(lineLimit) {
            let words = line.split(separator: " ").map(String.init)
            if words.count >= 3, words[0] == "request", let task = request(words) {
                let isKnown = tasks.requests.contains { $0.identifier == task.identifier }
                let count = tasks.requests.count { $0.kind == task.kind }
                if !isKnown, count < task.kind.limit { tasks.requests.append(task) }
            } else if words.count == 4, words[0] == "run", let number = UInt64(words[1]),
                number <= numberLimit, let kind = ScheduledTask.Kind(word: words[2])
            {
                tasks.run = ScheduledRun(number: number, identifier: words[3], kind: kind)
            }
        }
        return tasks
    }

    private static func request(_ words: [String]) -> ScheduledTask? {
        guard let kind = ScheduledTask.Kind(word: words[1]) else { return nil }
        var task = ScheduledTask(identifier: words[2], kind: kind)
        for word in words.dropFirst(3) {
            if word == "power" { task.requiresExternalPower = true }
            if word == "network" { task.requiresNetworkConnectivity = true }
            if word.hasPrefix("earliest=") { task.earliestBegin = Int64(word.dropFirst(9)) }
        }
        return task
    }
}

extension ScheduledTask.Kind {
    fileprivate var word: String {
        switch self {
        case .appRefresh: "refresh"
        case .processing: "processing"
        }
    }

    fileprivate init?(word: String) {
        guard let kind = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = kind
    }
}
