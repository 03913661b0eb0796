import GreenroomControl

/// One sample of each message, with every optional member once present and once absent.
enum Samples {
    static let exit = Control.ExitRecord(
        reason: .crashed, signal: 11, coreDumped: true, lastState: .active, timestampUSec: 7)
    static let returned = Control.ExitRecord(reason: .exitedSelf, status: 255)

    static var fullQuery: Control.HistoryQuery {
        var query = Control.HistoryQuery()
        query.apps = ["a.b", "c.*"]
        query.sinceTimestampUSec = 1 << 50
        query.untilTimestampUSec = 1 << 51
        query.limit = 7
        query.before = 8
        return query
    }

    static var fullRecord: Control.LaunchRecord {
        var launch = Control.LaunchRecord(
            app: "a.b", userId: .max, instance: 3, launchIdentifier: "abc", kind: .cold,
            requestTimestampUSec: 1 << 50)
        launch.caller = caller
        launch.coldReason = .known(.stale)
        launch.anewReason = .known(.options)
        launch.elapsedUSec = 4
        launch.readyUSec = 5
        launch.exit = exit
        launch.ranUSec = 6
        return launch
    }

    static var plainRecord: Control.LaunchRecord {
        .init(
            app: "a.b", userId: 0, instance: 3, launchIdentifier: "", kind: .resume,
            requestTimestampUSec: 1)
    }

    static let caller = Control.Caller(userId: 1000, processId: 4711, program: "greenroomctl")

    static var fullLaunch: Control.LaunchCall {
        var launch = Control.LaunchCall(app: "org.ffmpeg.ffmpeg")
        launch.arguments = ["-i", "ä \"x\"\n", ""]
        launch.environment = [.init(name: "A", value: "1=2"), .init(name: "B", value: "")]
        launch.callerEnvironment = ["PATH=/bin", "X"]
        launch.workingDirectory = "/tmp"
        launch.umask = 0o22
        launch.isBackground = true
        launch.isAttached = true
        launch.launchIdentifier = "abc-123"
        launch.standardInput = 0
        launch.standardOutput = 1
        launch.standardError = 1
        launch.workingDirectoryDescriptor = 2
        launch.takesTerminal = true
        launch.otherDescriptors = [.init(number: 63, index: 2), .init(number: 3, index: 0)]
        launch.closedDescriptors = [0, 2]
        var state = Control.CallerState()
        state.limits = Array(repeating: -1, count: Control.CallerState.limitCount)
        state.nice = -3
        state.ioPriority = 3 << 13
        state.affinity = [.max, 1]
        state.ignoredSignals = [1, 64]
        state.blockedSignals = [13]
        state.personality = 0x0040_0000
        state.noNewPrivileges = true
        launch.callerState = state
        return launch
    }

    /// A launch with words that are not UTF-8 beside words that are.
    static var byteLaunch: Control.LaunchCall {
        var launch = Control.LaunchCall(app: "org.ffmpeg.ffmpeg")
        launch.arguments = (1...7).map { .bytes(Array(repeating: 0xFF, count: $0)) } + ["ä", ""]
        launch.environment = [.init(name: "A", value: .bytes([0x3D, 0xE9]))]
        launch.callerEnvironment = [.bytes([0x42, 0x3D, 0xC3]), "PATH=/bin"]
        return launch
    }

    static var fullOpen: Control.OpenCall {
        var open = Control.OpenCall(urls: ["notes:1", "file:///a%20b"])
        open.app = "a.b"
        open.contentType = "text/plain"
        open.sourceApplication = "a.c"
        open.isBackground = true
        open.annotation = "note"
        open.eventAttribution = "source"
        return open
    }

    static let applicationCalls: [Control.ApplicationCall] = [
        .open(fullOpen), .open(.init(urls: ["notes:"])),
        .performAction(app: "a.b", action: "new", isBackground: true),
        .notify(app: "a.b", payload: "{}", response: "reply"),
        .notify(app: "a.b", payload: "", response: nil),
        .continueActivity(app: "a.b", type: "read", title: "t", webpageURL: "https://a.b"),
        .deliver(app: "a.b", key: .bluetoothCentrals, values: ["1", "2"]),
        .deliver(app: "a.b", key: .location, values: []),
        .setDefaultHandler(app: "a.b", handles: "scheme:x"),
        .scene(app: "a.b", .activate, session: nil), .scene(app: "a.b", .discard, session: "3"),
        .lock(user: nil), .unlock(user: 1000),
    ]

    static let launched = Control.Launched(
        instance: 1, processId: 2, launchIdentifier: "x", kind: .cold, elapsedUSec: 3)

    static let calls: [ControlCall] =
        [
            .describe, .list, .status(nil), .status(.app("a.b")), .status(.instance(7)),
            .prewarm(app: "a.b", count: 3), .launch(Control.LaunchCall(app: "a.b")),
            .launch(fullLaunch), .launch(byteLaunch), .wait(.instance(1 << 40)),
            .wait(.launch("abc")),
            .signal(instance: 3, signal: 15), .watch(), .watch(after: 3),
            .watch(own: true), .reload, .listAll, .listCalled("b"),
            .verify([.init(name: "a.app", sources: [.init(file: "/a.app", text: "[App]\n")])]),
            .explain(app: "a.b"),
            .resetFailed(app: "a.b"), .forgetImports(app: "a.b"), .prepare(app: "a.b"),
            .debugPressure(.critical),
            .metrics(app: "a.b"),
            .task(.list(app: nil)), .task(.list(app: "a.b")), .task(.expire(app: "a.b")),
            .task(.run(app: "a.b", identifier: "c")),
            .history(.init()), .history(fullQuery), .forgetHistory(app: nil),
            .forgetHistory(app: "a.*"), .keepHistory(true), .keepHistory(false),
            .plan(app: nil), .plan(app: "a.b"),
            .pauseHistory(.init()), .pauseHistory(fullQuery),
            .reportForeground(nil), .reportForeground(.app("a.b")),
            .reportForeground(.instance(7)), .reportForeground(.process(9)),
        ]
        + applicationCalls.map { .application($0) }
        + Control.Transition.allCases.flatMap {
            [.transition($0, .app("a.b")), .transition($0, .instance(1))]
        }

    static var fullInstance: Control.InstanceStatus {
        var status = Control.InstanceStatus(
            instance: 4, app: "a.b", state: .notRunning, sinceTimestampUSec: 1 << 50)
        status.processId = 4711
        status.launchIdentifier = "abc"
        status.kind = .known(.cold)
        status.coldReason = .known(.environmentMismatch)
        status.launchElapsedUSec = 1234
        status.isAttached = true
        status.byteCount = 1 << 30
        status.exit = exit
        status.restartCount = 3
        status.scenes = [.init(session: "1", activation: .foregroundActive)]
        status.steps = [.init(step: "main", elapsedUSec: -5)]
        status.backgroundTasks = ["upload"]
        status.backgroundRemainingUSec = 12
        status.areThreadsFrozen = true
        return status
    }

    static var fullEvent: Control.Event {
        var event = Control.Event(
            sequence: 1, timestampUSec: 2, kind: .exited, app: "a.b", instance: 3, text: "x")
        event.from = .known(.active)
        event.to = .known(.notRunning)
        event.launchIdentifier = "abc"
        event.launchKind = .known(.prewarmed)
        event.coldReason = .known(.stale)
        event.elapsedUSec = 5
        event.exit = returned
        event.byteCount = 6
        event.retryAfterUSec = 7
        event.session = "2"
        event.activation = .known(.background)
        event.step = "willConnect"
        event.launchScreen = .init(file: "/a.ui", shownTimestampUSec: 8)
        event.task = "refresh"
        event.outcome = .known(.expired)
        event.caller = caller
        event.ranUSec = 9
        return event
    }

    static var fullTask: Control.ScheduledTask {
        var task = Control.ScheduledTask(
            app: "a.b", identifier: "c", kind: .processing, state: .running)
        task.earliestTimestampUSec = 1 << 50
        task.requiresExternalPower = true
        task.requiresNetwork = true
        task.instance = 3
        task.remainingUSec = 4
        task.hold = .init(code: "in_use", text: "an app was used")
        return task
    }

    static var fullExplanation: Control.Explanation {
        var explanation = Control.Explanation(app: "a.b", isEligible: false)
        explanation.reasons = [.init(code: "static", text: "it is static")]
        explanation.prewarmedCount = 1
        explanation.prewarmTarget = 2
        explanation.prewarmByteCount = 3
        explanation.retryAfterUSec = 4
        explanation.lastLaunch = .init(
            instance: 5, kind: .cold, coldReason: .ineligible, elapsedUSec: 6, timestampUSec: 7)
        explanation.lastLaunch?.differingVariables = ["LANG"]
        explanation.lastLaunch?.differingState = ["directory"]
        explanation.lastLaunch?.caller = .init(userId: 0, processId: 1)
        explanation.lastLaunch?.readyUSec = 8
        explanation.lastLaunch?.exit = returned
        explanation.lastLaunch?.ranUSec = 9
        explanation.confinement = ["ProtectSystem=strict"]
        var supervision = Control.SupervisionStatus(restart: "always", restartCount: 8)
        supervision.nextStartUSec = 9
        supervision.failed = .init(code: "start_limit", text: "too often")
        supervision.forceQuit = .init(code: "force_quit", text: "nothing starts it")
        explanation.supervision = supervision
        explanation.rank = fullRank
        return explanation
    }

    static var saving: Control.AppSummary {
        var summary = Control.AppSummary(identifier: "a.d")
        summary.savedUSec = 5
        summary.isSavingEstimated = true
        return summary
    }

    static var refused: Control.AppSummary {
        var summary = Control.AppSummary(identifier: "a.b")
        summary.manifestFile = "/a.b.app"
        summary.refusal = .init(code: "manifest_refused", text: "refused because it is bad")
        return summary
    }

    static let replies: [(ControlReply, ControlCall)] = [
        (
            .described(
                .init(
                    version: "1", processId: 2, features: ["x"],
                    degraded: [.init(code: "no_cgroup", text: "no")])), .describe
        ),
        (.described(.init(version: "1", processId: 2)), .describe),
        (
            .listed([
                .init(identifier: "a.b"), saving,
                .init(
                    identifier: "a.c", name: "C", isEligible: false, prewarmedCount: 1,
                    prewarmTarget: 2, runningCount: 3, state: .suspended),
            ]), .list
        ),
        (
            .status([
                fullInstance,
                .init(instance: 1, app: "a.b", state: .active, sinceTimestampUSec: 0),
            ]), .status(nil)
        ),
        (.prewarmed([1, 2]), .prewarm(app: "a.b", count: 2)),
        (
            .launched(
                .init(
                    instance: 1, processId: 2, launchIdentifier: "x", kind: .cold,
                    coldReason: .noneReady, isRepeated: true, elapsedUSec: 3)),
            .launch(.init(app: "a.b"))
        ),
        (
            .launched(
                .init(
                    instance: 1, processId: nil, launchIdentifier: "x", kind: .prewarmed,
                    elapsedUSec: 3)), .launch(.init(app: "a.b"))
        ),
        (.exited(.init(instance: 1, app: "a.b", exit: exit)), .wait(.instance(1))),
        (.changed(.init(instance: 1, state: .background)), .transition(.background, .app("a.b"))),
        (.done, .signal(instance: 1, signal: 2)),
        (.watched(nil), .watch()),
        (.watching(latest: 3), .watch(after: 3)),
        (.watched(fullEvent), .watch()),
        (.watched(.init(sequence: 9, timestampUSec: 1, kind: .appsChanged)), .watch()),
        (
            .reloaded(
                .init(
                    loaded: ["a.b"],
                    failed: [.init(file: "/x.app", line: 1, column: 2, message: "m")])), .reload
        ),
        (.verified([.init(file: "/x.app", line: 1, column: 2, message: "m")]), .verify([])),
        (.listed([refused]), .listAll),
        (.handled(app: "a.b", launched), .application(.open(fullOpen))),
        (.done, .application(.lock(user: nil))),
        (.done, .application(.scene(app: "a.b", .discard, session: "3"))),
        (
            .changed(.init(instance: 1, state: .active)),
            .application(.scene(app: "a.b", .activate, session: nil))
        ),
        (.explained(fullExplanation), .explain(app: "a.b")),
        (.explained(.init(app: "a.b", isEligible: true)), .explain(app: "a.b")),
        (.tasks([fullTask]), .task(.list(app: nil))), (.tasks([]), .task(.list(app: "a.b"))),
        (.changed(.init(instance: 1, state: .background)), .task(.expire(app: "a.b"))),
        (.done, .resetFailed(app: "a.b")), (.done, .forgetImports(app: "a.b")),
        (.done, .keepHistory(true)),
        (.prepared(isReady: true), .prepare(app: "a.b")),
        (.metrics(fullMetrics), .metrics(app: "a.b")),
        (.history(.init([fullRecord, plainRecord], next: 7)), .history(.init())),
        (.planned(fullPlan), .plan(app: nil)), (.planned(.init()), .plan(app: "a.b")),
        (.pauseHistory(fullPauses), .pauseHistory(.init())),
        (.pauseHistory(.init()), .pauseHistory(fullQuery)),
        (.history(.init()), .history(fullQuery)), (.forgotten(count: 3), .forgetHistory(app: nil)),
        (.foreground(.init()), .reportForeground(nil)),
        (.foreground(.init(app: "a.b", instance: 7)), .reportForeground(.process(9))),
    ]

    static let fullRank = Control.PlannedApp(
        app: "a.b", userId: 1000, verdict: .noRoom, isWarm: true, probability: 0.25,
        usualProbability: 0.125,
        terms: Control.PlanTerm.allCases.map {
            .init(term: $0, probability: 0.0625, logarithm: -1)
        },
        savedUSec: 5, valueUSec: -6, byteCount: 7)
    static var fullPlan: Control.PlanReport {
        var plan = Control.PlanReport(
            byteBudget: 1 << 40, byteCount: 7, isOnBattery: true, apps: [fullRank])
        plan.isOff = true
        return plan
    }
    static var fullPauses: Control.HistoryPage<Control.PauseRecord> {
        let plain = Control.PauseRecord(
            app: "a.b", userId: 1000, instance: 3, pausedTimestampUSec: 1 << 50,
            untilTimestampUSec: 1 << 51, byteCount: 4)
        var full = plain
        (full.preparationUSec, full.processorUSec) = (5, 6)
        full.kind = .known(.startedAnew)
        full.depth = .known(.libraries)
        var page = Control.HistoryPage([plain, full], next: 7)
        page.isOff = true
        return page
    }

    static var fullMetrics: Control.MetricsReply {
        var total = Control.AppMetrics(sinceTimestampUSec: 1 << 50)
        total.launches = Control.LaunchMetric.allCases.map {
            .init(metric: $0, buckets: [.init(fromUSec: 0, toUSec: 1000, count: 2)])
        }
        total.hangs = [.init(fromUSec: 60_000_000, toUSec: nil, count: 1)]
        total.exits = Control.MetricExit.allCases.map {
            .init(exit: $0, foreground: 3, background: 4)
        }
        total.savings = [.init(depth: .runtime, launchCount: 3, savedUSec: 40)]
        (total.foregroundUSec, total.backgroundUSec) = (5, 6)
        (total.peakByteCount, total.averageSuspendedByteCount) = (7, 8)
        var reply = Control.MetricsReply(
            app: "a.b", total: total, current: .init(sinceTimestampUSec: 9))
        reply.undeliveredCount = 1
        var crash = Control.Diagnostic(
            kind: .crash, timestampUSec: 10, wasInForeground: true, reason: "crashed")
        crash.signal = 11
        var hang = Control.Diagnostic(
            kind: .hang, timestampUSec: 12, wasInForeground: false, reason: "open")
        hang.durationUSec = 13
        reply.diagnostics = [crash, hang]
        return reply
    }

    static let errors: [ControlError] = [
        .noSuchApp("ffmpg", suggestion: "org.ffmpeg.ffmpeg"), .noSuchApp("x", suggestion: nil),
        .notRunning(.app("a.b")), .notRunning(.instance(7)), .noSuchLaunch("abc"),
        .illegalTransition(instance: 1, from: .known(.terminating), to: .known(.suspended)),
        .ineligible(app: "a.b"), .refused(code: "ended", reason: "it ended before it was ready"),
        .permissionDenied(needed: "membership in the group greenroom"),
        .spawnFailed(stage: "entering cgroup", errno: 13, reason: "permission denied"),
        .backOff(app: "a.b", retryAfterUSec: 1_500_000, isCrashLooping: false),
        .backOff(app: "a.b", retryAfterUSec: 1, isCrashLooping: true),
        .backOff(app: "a.b", retryAfterUSec: 1, isCrashLooping: false, wasReclaimed: true),
        .limitExceeded(what: "instances", limit: 2048), .shuttingDown,
    ]
}
