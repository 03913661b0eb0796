import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import Varlink

struct Top: Verb {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the instances that have a process, sorted by memory, and update the list.",
        discussion: "Runs until interrupted; prints once to a pipe. CPU is the main process's.")

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("How many times. Default: until interrupted.", valueName: "number"))
    var number: UInt?

    @Option(
        name: [.customShort("d"), .long],
        help: ArgumentHelp("Seconds between two updates. Default: 2.", valueName: "seconds"))
    var delay: UInt32 = 2

    @Flag(help: "Print JSON: a line for each update.") var json = false

    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let isTerminal = console.appearance.columns != nil
        var rest = number ?? (isTerminal ? .max : 1)
        var former = ProcessorTimes()
        while rest > 0 {
            rest -= 1
            guard case .status(let instances) = try client.call(.status(nil)) else { return 1 }
            let now = ProcessorTimes(
                of: client.sharesProcessNumbers ? instances.compactMap(\.processId) : [])
            let look = TopLook(instances, now, since: former)
            if json {
                console.write(Report.json(look))
            } else {
                let text = Report.top(look, display.appearance(on: console))
                // Moves the cursor home and clears the screen (console_codes(4)).
                console.write(isTerminal ? "\u{1B}[H\u{1B}[2J" + text : text)
            }
            former = now
            if rest > 0 { sleep(max(1, delay)) }
        }
        return 0
    }
}

/// How much processor time processes have used (proc_pid_stat(5)).
struct ProcessorTimes {
    private var ticks: [Int32: UInt64] = [:]
    private var nanoseconds: UInt64 = 0

    init() {}

    init(of processes: [Int32]) {
        nanoseconds = MonotonicClock.nanoseconds
        for process in processes {
            // The name in parentheses may contain anything.
            guard let text = try? SmallFile.text(of: "/proc/\(process)/stat"),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 12, let user = UInt64(fields[11]), let system = UInt64(fields[12])
            else { continue }
            ticks[process] = user + system
        }
    }

    /// The part of one processor that the process has used since the former look, in percent; nil
    /// if that is not known.
    func share(of process: Int32, since former: ProcessorTimes) -> UInt64? {
        guard let now = ticks[process], let before = former.ticks[process], now >= before,
            nanoseconds > former.nanoseconds
        else { return nil }
        let perSecond = UInt64(max(1, sysconf(CInt(_SC_CLK_TCK))))
        return (now - before) * 100_000_000_000 / perSecond / (nanoseconds - former.nanoseconds)
    }
}

/// The instances at one moment, those with the most memory first.
struct TopLook: ParametersEncodable {
    struct Row {
        let instance: Control.InstanceStatus
        /// In percent of one processor; nil if it is not known.
        let share: UInt64?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("instance", instance.instance)
            writer.member("app", instance.app)
            writer.member("state", instance.state.rawValue)
            writer.member("processId", ifPresent: instance.processId)
            writer.member("processorPercent", ifPresent: share)
            writer.member("byteCount", ifPresent: instance.byteCount)
        }
    }

    let rows: [Row]

    init(
        _ instances: [Control.InstanceStatus], _ times: ProcessorTimes,
        since former: ProcessorTimes
    ) {
        rows = instances.sorted { ($0.byteCount ?? 0) > ($1.byteCount ?? 0) }.map { instance in
            Row(
                instance: instance,
                share: instance.processId.flatMap { times.share(of: $0, since: former) })
        }
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.name("instances")
        writer.beginArray()
        for row in rows {
            writer.beginObject()
            row.encodeMembers(to: &writer)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension Report {
    static func top(_ look: TopLook, _ appearance: Appearance) -> String {
        var table = Table("INSTANCE", "APP", "STATE", "PID", "CPU", "MEMORY")
        for row in look.rows {
            let instance = row.instance
            table.add(
                [
                    String(instance.instance), instance.app, instance.state.words,
                    instance.processId.map { String($0) } ?? "-",
                    row.share.map { "\($0) %" } ?? "-",
                    instance.byteCount.map(Phrase.bytes) ?? "-",
                ], styles: [2: instance.state.style].compactMapValues { $0 })
        }
        return table.text(appearance)
    }
}
