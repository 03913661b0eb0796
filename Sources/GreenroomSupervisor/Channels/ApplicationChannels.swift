internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The channels of apps made with the SDK, which live as long as the apps: carries what the core tells
/// them, and what they say back. An app that sends nonsense, too much or nothing hurts only itself: its
/// messages are taken one a turn of the loop, and its deadlines come.
@LoopActor
final class ApplicationChannels {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    /// Opens a URL for an app, as this request; the reason if it cannot.
    var open: ((_ url: String, _ from: AppIdentifier, RequestIdentifier) -> String?)?

    /// The acknowledgement of a launch. Cookies of steps count up from 1 and never come so far; those
    /// of what needs no answer lie between (`freeCookie`).
    static let launchCookie = UInt64.max
    private static let freeCookieBit: UInt64 = 1 << 63
    /// Requests of apps, apart from those of clients.
    private static let appRequestBit: UInt64 = 1 << 62

    private var traces: [InstanceIdentifier: LaunchTrace] = [:]
    private let contents: WaitingContents
    let credentials: CredentialDirectories
    private var launches: [InstanceIdentifier: AppLaunch] = [:]
    /// Of those in their launch sequence: whether they were told that protected data can be read.
    private var toldAvailable: [InstanceIdentifier: Bool] = [:]
    private var appRequests: [RequestIdentifier: AppRequest] = [:]
    private var requestCounts: [InstanceIdentifier: Int] = [:]
    private var repeated = RepeatedRequests()
    private var nextAppRequest: UInt64 = 1

    let containers: Containers

    init(
        supervisor: Supervisor, catalog: AppCatalog, runtimeDirectory: String,
        containers: Containers
    ) {
        self.containers = containers
        self.supervisor = supervisor
        self.catalog = catalog
        contents = WaitingContents(runtimeDirectory: runtimeDirectory)
        credentials = CredentialDirectories(runtimeDirectory: runtimeDirectory)
    }

    func forget(_ instance: InstanceIdentifier) {
        traces[instance] = nil
        contents.forget(instance)
        credentials.remove(instance)
        launches[instance] = nil
        toldAvailable[instance] = nil
        repeated.forget(instance)
        requestCounts[instance] = nil
    }

    // MARK: Launching

    /// What an app is launched with; its scene's share of it waits for the scene.
    func launch(
        _ instance: InstanceIdentifier, of app: InstalledApp, _ context: LaunchContext
    ) -> AppLaunch {
        let inBackground = supervisor.lifecycle.instance(instance)?.inBackground ?? false
        var launch = plainLaunch(instance, of: app, inBackground: inBackground)
        launch.reason = context.reason
        launch.requestInstant = context.requestedAt.nanoseconds
        var trace = LaunchTrace(requestedAt: context.requestedAt)
        if let pausedAt = supervisor.instances[instance]?.pausedAt {
            trace.add("prewarmed", at: pausedAt)
        }
        traces[instance] = trace
        if app.description.scenes == .unsupported {
            launch.content = context.content
        } else if !context.content.isEmpty {
            contents.set(context.content, for: instance, isKept: inBackground)
        }
        return launch
    }

    private func plainLaunch(
        _ instance: InstanceIdentifier, of app: InstalledApp, inBackground: Bool
    ) -> AppLaunch {
        var flags: AppLaunch.Flags = inBackground ? [] : [.foreground]
        if app.description.scenes != .unsupported { flags.insert(.scenes) }
        let isAvailable = supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        if isAvailable { flags.insert(.protectedDataAvailable) }
        flags.formUnion(setupFlags(instance, app))
        toldAvailable[instance] = isAvailable
        if !app.credentials.isEmpty, credentials.has(instance) { flags.insert(.credentials) }
        var launch = AppLaunch(
            cookie: Self.launchCookie, flags: flags, requestInstant: supervisor.now.nanoseconds,
            interface: app.interface)
        addSetup(of: app, to: &launch)
        return launch
    }

    /// Of a paused app: just before its GO.
    func sendLaunch(
        to instance: Instance, of app: InstalledApp, _ context: LaunchContext
    ) throws {
        guard let channel = instance.channel else { return }
        let launch = launch(instance.identifier, of: app, context)
        let directory =
            launch.flags.contains(.credentials)
            ? credentials.directory(of: instance.identifier) : nil
        _ = try channel.send(
            try DaemonMessage.event(.launch(launch)).encoded().datagram,
            descriptors: directory.map { [$0.rawValue] } ?? [])
        withExtendedLifetime(directory) {}
    }

    /// A cold launch waits for its process.
    func prepare(_ launch: AppLaunch, for instance: InstanceIdentifier) {
        launches[instance] = launch
    }

    /// The process of a cold launch is there. After a restart of the supervisor what the request
    /// brought is gone with its client, and the app is launched plainly.
    func sendLaunch(to instance: Instance) {
        guard let app = catalog[instance.app], app.kind == .applicationKit,
            let record = supervisor.lifecycle.instance(instance.identifier),
            record.state == .launching, !record.isResuming, record.launchedAt == nil
        else { return }
        let launch =
            launches.removeValue(forKey: instance.identifier)
            ?? plainLaunch(
                instance.identifier, of: app, inBackground: record.inBackground)
        send(.launch(launch), to: instance.identifier)
    }

    // MARK: Credentials

    /// Before a launch: not while its user's session is locked.
    func provideCredentials(
        to instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        guard !app.credentials.isEmpty,
            supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        else { return }
        try credentials.make(for: instance, of: app)
    }

    /// It was launched while the session was locked.
    private func handOver(to instance: InstanceIdentifier) {
        guard let name = supervisor.instances[instance]?.app, let app = catalog[name],
            !app.credentials.isEmpty, !credentials.has(instance)
        else { return }
        do throws(SystemError) {
            try provideCredentials(to: instance, of: app)
            if app.kind == .applicationKit {
                send(.credentials(cookie: freeCookie()), to: instance)
            }
        } catch {
            supervisor.reporter.say(.error, "the credentials of \(name): \(error)")
        }
    }

    /// The session was locked or unlocked while it launched and was told nothing.
    private func tellLockChange(to instance: Instance) {
        guard let told = toldAvailable.removeValue(forKey: instance.identifier),
            let owner = catalog.owner(of: instance.app)
        else { return }
        let isAvailable = supervisor.lifecycle.isProtectedDataAvailable(toUser: owner.user)
        guard told != isAvailable else { return }
        notify(
            instance.identifier,
            isAvailable ? .protectedDataDidBecomeAvailable : .protectedDataWillBecomeUnavailable)
    }

    /// Programs find their directory where they were told that it would be.
    func becameUnlocked(_ user: UInt32) {
        for app in catalog.unsortedApps
        where app.kind == .program && !app.credentials.isEmpty && app.account.user == user {
            for record in supervisor.lifecycle.instances(of: app.identifier)
            where record.launchedAt != nil && record.state != .notRunning {
                handOver(to: record.instance)
            }
        }
    }

    // MARK: Telling

    func tell(_ instance: InstanceIdentifier, _ pending: PendingStep) {
        guard let app = supervisor.instances[instance]?.app else { return }
        letHear(instance)
        let session = pending.scene.description
        if pending.step == .connect || pending.step == .connectInBackground {
            var connection = SceneConnection(session: session, cookie: pending.cookie)
            connection.isForForeground = pending.step == .connect
            connection.configuration = catalog[app]?.sceneConfiguration
            connection.content = contents.take(instance)
            return connect(connection, pending.scene, to: instance)
        }
        if pending.scene == .application {
            guard let event = AppEvent.Lifecycle(pending.step) else { return }
            send(.lifecycle(event, cookie: pending.cookie), to: instance)
        } else {
            guard let transition = AppEvent.SceneTransition(pending.step) else { return }
            send(.scene(transition, session: session, cookie: pending.cookie), to: instance)
        }
    }

    /// Its terminal's ^Z has stopped it, and it could not answer: it goes on until the freezer has it.
    private func letHear(_ instance: InstanceIdentifier) {
        guard supervisor.lifecycle.instance(instance)?.isAttached == true,
            let pid = supervisor.instances.pid(of: instance),
            ProcessTable.entry(of: pid)?.isStopped == true
        else { return }
        _ = supervisor.instances.signal(SIGCONT, to: instance)
    }

    func notify(_ instance: InstanceIdentifier, _ notice: Notice) {
        let cookie = freeCookie()
        switch notice {
        case .didReceiveMemoryWarning:
            send(.lifecycle(.didReceiveMemoryWarning, cookie: cookie), to: instance)
        case .significantTimeChange:
            send(.lifecycle(.significantTimeChange, cookie: cookie), to: instance)
        case .protectedDataWillBecomeUnavailable:
            if toldAvailable[instance] != nil { toldAvailable[instance] = false }
            send(.lifecycle(.protectedDataWillBecomeUnavailable, cookie: cookie), to: instance)
        case .protectedDataDidBecomeAvailable:
            if toldAvailable[instance] != nil { toldAvailable[instance] = true }
            handOver(to: instance)
            send(.lifecycle(.protectedDataDidBecomeAvailable, cookie: cookie), to: instance)
        case .discardedSessions(let sessions):
            send(.discardScenes(sessions.map(\.description), cookie: cookie), to: instance)
        }
    }

    /// To the scene used last; where none is connected, it waits for the one that will be.
    func deliver(_ instance: InstanceIdentifier, _ request: RequestIdentifier) {
        guard let context = supervisor.launcher.context(of: request) else { return }
        noteReturn(instance, context.requestedAt)
        guard !context.content.isEmpty, let app = supervisor.instances[instance]?.app else {
            return
        }
        let record = supervisor.lifecycle.instance(instance)
        let scene = record?.conversation?.scenes.last { $0.isConnected }
        if catalog[app]?.description.scenes != .unsupported, scene == nil {
            contents.set(
                context.content, for: instance, isKept: record?.inBackground ?? false)
            return
        }
        let session = scene.flatMap { $0.scene == .application ? nil : $0.scene.description }
        send(.deliver(context.content, session: session, cookie: freeCookie()), to: instance)
    }

    /// Its clock starts anew with each return to the foreground.
    private func noteReturn(_ instance: InstanceIdentifier, _ requestedAt: Instant) {
        guard supervisor.lifecycle.instance(instance)?.conversation != nil else { return }
        traces[instance] = LaunchTrace(requestedAt: requestedAt)
    }

    func inspectTracer(of instance: InstanceIdentifier) {
        let isTraced = supervisor.instances.pid(of: instance).map(Self.isTraced) ?? false
        supervisor.handle(.tracerInspected(instance, isTraced: isTraced))
    }

    /// TracerPid of proc_pid_status(5).
    private static func isTraced(_ pid: Int32) -> Bool {
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/status") else { return false }
        let line = text.split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
        return line.map { $0.split(separator: "\t").last != "0" } ?? false
    }

    /// Never given twice, not even by another supervisor.
    func freeCookie() -> UInt64 { MonotonicClock.nanoseconds | Self.freeCookieBit }

    /// What cannot be sent is not acknowledged, and the deadline comes.
    func send(_ event: AppEvent, to identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier], let channel = instance.channel
        else { return }
        do {
            let directory = event.carriesCredentials ? credentials.directory(of: identifier) : nil
            _ = try channel.send(
                try DaemonMessage.event(event).encoded().datagram,
                descriptors: directory.map { [$0.rawValue] } ?? [])
            withExtendedLifetime(directory) {}
        } catch {
            supervisor.reporter.say(
                .warning, "telling instance \(identifier): \(error)", of: instance.app, identifier)
        }
    }

    // MARK: Hearing

    func received(_ report: AppReport, from instance: Instance) {
        let identifier = instance.identifier
        switch report {
        case .acknowledged(Self.launchCookie, _):
            tellLockChange(to: instance)
            supervisor.handle(.becameReady(identifier))
        case .acknowledged(let cookie, let handled):
            if supervisor.metrics.deliveries.acknowledged(cookie, handled: handled) { return }
            guard cookie & Self.freeCookieBit == 0 else { return }
            supervisor.handle(.acknowledged(identifier, cookie: cookie))
        case .launchStep(let step, let time, _): noteStep("\(step)", time, of: instance)
        case .didDrawFirstFrame(let time, _):
            noteStep("firstDraw", time, of: instance)
            supervisor.metrics.drew(identifier, at: latest(time), isSaid: true)
            supervisor.handle(.drewFirstFrame(identifier))
        case .callbackOverran(let callback, let duration): overran(instance, callback, duration)
        case .state(let state, let session, let cookie):
            supervisor.states.received(state, session: session, cookie, from: instance)
        case .requestScene(let wish, let cookie):
            let standing = repeated.standing(
                of: cookie, from: identifier, canRepeat: wish.canRepeat)
            if let cookie = toDo(standing, cookie, instance) {
                requested(wish, cookie, by: instance)
            }
        case .openURL(let url, let cookie):
            let standing = repeated.standing(of: cookie, from: identifier, canRepeat: false)
            if let cookie = toDo(standing, cookie, instance) {
                openURL(url, cookie, for: instance)
            }
        case .launchTask(let name, let isFinished, let time):
            supervisor.metrics.task(
                name, isFinished: isFinished, at: latest(time), of: identifier)
        case .subscribesToMetrics(let wants):
            supervisor.metrics.deliveries.subscribe(identifier, wants)
        case .background(.submit(let request, let cookie)):
            let standing = repeated.standing(of: cookie, from: identifier, canRepeat: true)
            if let cookie = toDo(standing, cookie, instance) {
                supervisor.work.submit(request, cookie, instance)
            }
        case .background(let report): supervisor.work.received(report, from: instance)
        }
    }

    /// The app's word, but nothing of the future has happened.
    private func latest(_ time: UInt64) -> Instant {
        Instant(nanoseconds: min(time, supervisor.now.nanoseconds))
    }

    /// Sends what the app acknowledges and nobody else waits for; the cookie of that.
    func send(
        _ make: (UInt64) -> AppEvent, to identifier: InstanceIdentifier
    ) -> UInt64? {
        guard supervisor.instances[identifier]?.channel != nil else { return nil }
        let cookie = freeCookie()
        send(make(cookie), to: identifier)
        return cookie
    }

    private func noteStep(_ step: String, _ time: UInt64, of instance: Instance) {
        // The app's word, but it can only be wrong about itself: between the request and now.
        let time = Instant(nanoseconds: min(time, supervisor.now.nanoseconds))
        guard var trace = traces[instance.identifier], trace.add(step, at: time) else { return }
        traces[instance.identifier] = trace
        supervisor.reporter.launchStep(
            step, of: instance.app, instance.identifier,
            elapsedUSec: trace.requestedAt.duration(to: time).microseconds)
    }

    func steps(of instance: InstanceIdentifier) -> [(name: String, elapsedUSec: Int64)] {
        guard let trace = traces[instance] else { return [] }
        return trace.steps.map {
            ($0.name, trace.requestedAt.duration(to: $0.instant).microseconds)
        }
    }

    private func overran(_ instance: Instance, _ callback: String, _ duration: Duration) {
        guard supervisor.metrics.wasAwake(instance.identifier, for: duration) else { return }
        let name = String(
            String.UnicodeScalarView(
                callback.unicodeScalars.prefix(100).filter { $0.value >= 0x20 }))
        var trace = traces[instance.identifier]
        let mayComplain = trace?.mayComplain() ?? false
        traces[instance.identifier] = trace
        supervisor.metrics.hung(
            instance.identifier, in: name, for: duration, isNews: mayComplain)
        guard mayComplain else { return }
        supervisor.reporter.say(
            .warning,
            "\(instance.app): \(name) kept the main thread for \(duration.microseconds / 1000) ms; "
                + "move long work off it, or into afterLaunch", of: instance.app,
            instance.identifier)
    }

    // MARK: What apps ask for

    /// To one that a former supervisor told of its launch.
    func askAgain(_ instance: InstanceIdentifier) { send(.askAgain, to: instance) }

    /// The cookie to answer, where there is something to do.
    private func toDo(
        _ standing: RepeatedRequests.Standing, _ cookie: UInt64, _ instance: Instance
    ) -> UInt64? {
        let plain = cookie & ~AppReport.againBit
        switch standing {
        case .new: return plain
        case .underWay: return nil
        case .lost:
            answer(
                instance.identifier, plain,
                .refused(
                    code: ECONNRESET,
                    reason: "greenroomd was restarted; whether it had done this is not known"))
            return nil
        }
    }

    /// One of an app, not of a client.
    func newRequest() -> RequestIdentifier {
        defer { nextAppRequest += 1 }
        return RequestIdentifier(nextAppRequest | Self.appRequestBit)
    }

    private struct AppRequest {
        let instance: InstanceIdentifier
        /// Nil where the app has its answer already.
        let cookie: UInt64?
    }

    /// Requests of one instance that are under way: an app that asks in a loop waits for itself.
    static let requestLimit = 16

    /// Counts one more request; refuses it if there are too many.
    private func admit(_ cookie: UInt64, of instance: InstanceIdentifier) -> Bool {
        let count = requestCounts[instance] ?? 0
        guard count < Self.requestLimit else {
            answer(
                instance, cookie,
                .refused(
                    code: EAGAIN,
                    reason:
                        "\(Self.requestLimit) requests of this app are under way; ask again when "
                        + "one of them is answered"))
            return false
        }
        requestCounts[instance] = count + 1
        return true
    }

    private func settle(_ instance: InstanceIdentifier) {
        guard let count = requestCounts[instance] else { return }
        requestCounts[instance] = count > 1 ? count - 1 : nil
    }

    /// The core's answer to it goes back to the app; nil: it has too many, and its refusal.
    func request(of instance: InstanceIdentifier, _ cookie: UInt64) -> RequestIdentifier? {
        guard admit(cookie, of: instance) else { return nil }
        let request = newRequest()
        appRequests[request] = AppRequest(instance: instance, cookie: cookie)
        return request
    }

    private func requested(
        _ wish: AppReport.SceneRequest, _ cookie: UInt64, by instance: Instance
    ) {
        let request: SceneRequest
        switch wish {
        case .activate(nil, let content):
            contents.set(content, for: instance.identifier, isKept: false)
            request = .activate(nil)
        case .activate(let session?, _):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .activate(scene)
        case .destroy(let session):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .discard(scene)
        // It runs, so it can update what it shows.
        case .refresh: return answer(instance.identifier, cookie, .done)
        }
        guard admit(cookie, of: instance.identifier) else { return }
        let identifier = newRequest()
        appRequests[identifier] = AppRequest(instance: instance.identifier, cookie: cookie)
        supervisor.handle(.sceneRequested(identifier, instance.app, request))

        func refuse() {
            answer(
                instance.identifier, cookie, .refused(code: 2, reason: "there is no such session"))
        }
    }

    /// True if an app had asked.
    func take(_ answer: Answer, to request: RequestIdentifier) -> Bool {
        guard request.rawValue & Self.appRequestBit != 0 else { return false }
        guard let own = appRequests.removeValue(forKey: request) else { return true }
        settle(own.instance)
        guard let cookie = own.cookie else { return true }
        let instance = own.instance
        if case .refused(.noSuchScene) = answer, repeated.wasRepeated(cookie, by: instance) {
            // The former supervisor saw to it.
            self.answer(instance, cookie, .done)
        } else if case .refused(let refusal) = answer {
            self.answer(instance, cookie, refusal.answerToApp)
        } else {
            self.answer(instance, cookie, .done)
        }
        return true
    }

    private func openURL(_ url: String, _ cookie: UInt64, for instance: Instance) {
        guard supervisor.lifecycle.instance(instance.identifier)?.isInFront == true else {
            return answer(
                instance.identifier, cookie,
                .refused(code: 1, reason: "only the app in front may open a URL"))
        }
        guard admit(cookie, of: instance.identifier) else { return }
        let request = newRequest()
        appRequests[request] = AppRequest(instance: instance.identifier, cookie: nil)
        let reason = open?(url, instance.app, request) ?? nil
        if reason != nil, appRequests.removeValue(forKey: request) != nil {
            settle(instance.identifier)
        }
        answer(
            instance.identifier, cookie,
            reason.map { .refused(code: 2, reason: $0) } ?? .done)
    }

    func answer(
        _ instance: InstanceIdentifier, _ cookie: UInt64, _ answer: AppEvent.Answer
    ) {
        send(.answer(request: cookie, answer), to: instance)
    }
}

extension AppEvent {
    fileprivate var carriesCredentials: Bool {
        switch self {
        case .launch(let launch): launch.flags.contains(.credentials)
        case .credentials: true
        case .lifecycle, .connectScene, .scene, .discardScenes, .deliver, .answer, .restoreState,
            .background, .metrics, .diagnostics:
            false
        }
    }
}
