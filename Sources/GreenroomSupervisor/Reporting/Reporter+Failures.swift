internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Reports that memory is short, and what failed.
extension Reporter {
    // MARK: Memory

    func reclaimed(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ byteCount: UInt64,
        _ pressure: MemoryPressure, _ state: ExecutionState
    ) {
        log.line(
            app, .notice,
            "reclaimed \(byteCount >> 10) KiB from \(app), which was \(state): memory pressure is "
                + "\(pressure)",
            [
                "app": app.rawValue, "instance": instance.description,
                "pressure": "\(pressure)", "bytes": "\(byteCount)", "state": "\(state)",
            ], as: .reclaiming)
        publish(.reclaimed, app, instance) {
            $0.byteCount = byteCount
            $0.pressure = Control.MemoryPressure(pressure)
            $0.from = .known(Control.ExecutionState(state))
        }
    }

    func pressureChanged(_ pressure: MemoryPressure) {
        log.journal.log(
            pressure > .none ? .notice : .info, "memory pressure is \(pressure)",
            ["pressure": "\(pressure)"], as: .pressureChanged)
        publish(.pressureChanged) { $0.pressure = Control.MemoryPressure(pressure) }
    }

    func stalled(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ level: MemoryPressure
    ) {
        log.line(
            app, .notice, "\(app) is short of memory within its own limit (\(level))",
            fields(app, instance), as: .pressureChanged)
        publish(.pressureChanged, app, instance) { $0.pressure = Control.MemoryPressure(level) }
    }

    func pagedOut(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ byteCount: UInt64
    ) {
        log.line(
            app, .info, "\(byteCount >> 10) KiB of \(app), which is suspended, were paged out",
            fields(app, instance))
        publish(.pagedOut, app, instance) { $0.byteCount = byteCount }
    }

    // MARK: Failures and pauses

    func prewarmFailed(_ app: AppIdentifier, _ reason: ExitReason, _ retryAt: Instant) {
        log.line(
            app, .warning,
            "prewarming \(app) failed: \(reason.row.word); the next try is "
                + "delayed, see greenroomctl explain \(app)", ["app": app.rawValue],
            as: .prewarmingFailed)
        publish(.prewarmFailed, app) { $0.retryAfterUSec = Self.microseconds(to: retryAt) }
    }

    func misfired(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ misfire: Misfire
    ) {
        let cause =
            switch misfire {
            case .startsPrograms(let program):
                "a library of \(app) would \(program.map { "run \($0)" } ?? "start a process") at each "
                    + "prewarm, which was stopped"
            case .changesProcess:
                "a library of \(app) writes something or changes the process when it is loaded, "
                    + "and a launch would lose that"
            case .secureExecution:
                "\(app) loads no preload library (AT_SECURE, getauxval(3)) and would run at each prewarm, "
                    + "which was stopped"
            case .ownsName, .nameTaken, .otherDisplay, .showsNotice:
                "\(app) cannot be held at its first window"
            }
        log.line(
            app, .warning,
            "\(cause): it is launched cold until its program or its manifest changes",
            fields(app, instance), as: .prewarmingFailed)
        publish(.prewarmFailed, app, instance) { _ in }
    }

    func demoted(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault,
        of depth: PrewarmDepth, _ program: String?, _ isEverywhere: Bool
    ) {
        let name = program.map { " (\($0))" } ?? ""
        let range = isEverywhere ? "" : "with that caller's environment "
        let isOfImports =
            depth == .runtime && core.lifecycle.description(of: app)?.importsLearned == true
        let rest =
            depth == .window
            ? "its first window is not prepared"
            : isOfImports ? "it imports nothing before its pause" : "it pauses before main"
        log.line(
            app, .notice,
            "\(app): \(fault.words(at: depth))\(name), so \(range)\(rest) until its files change",
            fields(app, instance), as: .prewarmingFailed)
    }

    func librariesLearned(_ app: AppIdentifier, _ count: Int) {
        log.line(
            app, .debug,
            "\(app) opens \(count) libraries after main: they are opened before its next pauses",
            ["app": app.rawValue])
    }

    func libraryDropped(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ fault: DepthFault
    ) {
        log.line(
            app, .notice,
            "\(app): a library is not opened before its pauses any more, because "
                + "\(fault.wordsOfLibrary); greenroomctl explain \(app) names it",
            fields(app, instance), as: .prewarmingFailed)
    }

    func crashLooped(_ app: AppIdentifier, _ until: Instant) {
        log.line(
            app, .error, "\(app) crashes in a loop: no prewarming and no background launches",
            ["app": app.rawValue], as: .crashLooped)
        publish(.crashLooped, app) { $0.retryAfterUSec = Self.microseconds(to: until) }
    }

    func restartScheduled(_ app: AppIdentifier, _ time: Instant) {
        log.line(app, .notice, "\(app) is started again", ["app": app.rawValue])
        publish(.restartScheduled, app) { $0.retryAfterUSec = Self.microseconds(to: time) }
    }

    func gaveUp(_ app: AppIdentifier, _ failure: SupervisionFailure) {
        log.line(
            app, .error, "\(app) \(failure.words); end that with greenroomctl reset-failed \(app)",
            ["app": app.rawValue, "failure": failure.code])
        publish(.failed, app) { $0.text = failure.words }
    }

    func triggersLeftAlone(_ app: AppIdentifier, _ count: Int) {
        log.line(
            app, .error,
            "\(app): its paths launched it \(count) times in a row, and are ignored from now on; an "
                + "app must remove what PathExists= or DirectoryNotEmpty= found before it ends "
                + "(\"greenroomctl reload\" tries again)", ["app": app.rawValue])
    }

    private static func microseconds(to instant: Instant) -> Int64 {
        max(0, WallClock.microseconds(at: instant) - WallClock.nowMicroseconds)
    }
}
