import Glibc
import GreenroomReplay

/// `greenroom-replay [--trace FILE|GENERATOR] [--seed S] [--seeds N] [--days D] [--share X]
/// [--budget BYTES] [--uniform] [--ablate PART|all] [--check]`: shows what the predictor and
/// simpler rules save over histories of launches. With `--ablate`, it also shows what the predictor
/// saves without that part, or without each part; with `--check`, it fails if the predictor is
/// below the bars.
@main struct Program {
    static func main() {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            switch option {
            case "--uniform": options.isUniform = true
            case "--check": options.checks = true
            default:
                guard let value = arguments.popFirst(), options.set(option, value) else { usage() }
            }
        }
        if let trace = options.trace { return replay(trace, options) }
        let generators = options.generator.map { [$0] } ?? Generator.all
        var report = Report(options.names)
        for generator in generators {
            let generator = options.isUniform ? generator.uniform : generator
            for seed in options.seed..<options.seed + options.seedCount {
                let launches = generator.launches(seed: seed, days: options.days)
                report.add(Replay(launches, budgetShare: options.share), generator.name)
            }
        }
        print(
            "seeds \(options.seed) to \(options.seed + options.seedCount - 1), \(options.days) days,"
                + " budget \(options.share) of all apps")
        print(report)
        for shortfall in report.shortfalls { print("below the bars: \(shortfall)") }
        if options.checks, !report.shortfalls.isEmpty { exit(1) }
    }

    static func replay(_ path: String, _ options: Options) {
        guard let text = read(path) else {
            print("greenroom-replay: cannot read \(path)")
            exit(66)
        }
        do throws(RecordedHistory.Fault) {
            let history = try RecordedHistory(text)
            if !history.assumed.isEmpty {
                print(
                    "no measured costs of \(history.assumed.count) apps; a line of greenroomctl"
                        + " plan --json has them")
            }
            var report = Report(options.names)
            let replay =
                (options.budget ?? history.byteBudget).map {
                    Replay(history.launches, byteBudget: $0)
                } ?? Replay(history.launches, budgetShare: options.share)
            report.add(replay, path)
            print("budget \(replay.byteBudget) bytes")
            print(report)
        } catch {
            print("greenroom-replay: \(path): \(error)")
            exit(65)
        }
    }

    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer[..<count]
        }
        return ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }

    static func usage() -> Never {
        print(
            """
            usage: greenroom-replay [--trace FILE|GENERATOR] [--seed S] [--seeds N] [--days D]
                [--share X] [--budget BYTES] [--uniform] [--ablate PART|all] [--check]
            generators: \(Generator.all.map(\.name).joined(separator: ", "))
            parts: \(Ablation.all.map { "\($0)" }.joined(separator: ", "))
            """)
        exit(64)
    }
}

struct Options {
    var trace: String?
    var generator: Generator?
    var seed: UInt64 = 1
    var seedCount: UInt64 = 1
    var days = 60
    var share = 0.125
    var budget: UInt64?
    var isUniform = false
    var ablations: [Ablation] = []
    var checks = false

    mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--trace":
            generator = Generator.named(value)
            trace = generator == nil ? value : nil
        case "--seed": return Self.parse(value, &seed)
        case "--seeds": return Self.parse(value, &seedCount) && seedCount > 0
        case "--days": return Self.parse(value, &days) && days > 0
        case "--share": return Self.parse(value, &share) && share > 0
        case "--budget":
            budget = UInt64(value)
            return budget != nil
        case "--ablate":
            ablations = Ablation.all.filter { value == "all" || value == "\($0)" }
            return !ablations.isEmpty
        default: return false
        }
        return true
    }

    private static func parse<Value: LosslessStringConvertible>(
        _ text: String, _ value: inout Value
    ) -> Bool {
        guard let parsed = Value(text) else { return false }
        value = parsed
        return true
    }

    var names: [RuleName] {
        RuleName.baselines + RuleName.informed + [.predictor]
            + (ablations.isEmpty ? [.value] : ablations).map { .without($0) }
    }
}
