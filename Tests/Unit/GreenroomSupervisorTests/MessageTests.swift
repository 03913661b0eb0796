import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

/// An instance of an app made with the SDK, with the app's end of its channel.
@LoopActor
private struct Conversing {
    let ground: Ground
    let reporter: Reporter
    let messenger: AppMessenger
    let instance: Instance
    private let channel: UnixSocket

    init() throws {
        ground = try Ground()
        ground.core.begin(performing: ground.recorder)
        ground.launch("a.b", as: 1 << 40)
        reporter = try ground.reporter()
        messenger = AppMessenger(instances: ground.instances, reporter: reporter)
        let identifier = ground.recorder.spawned[0]
        channel = try ground.begin("a.b", as: identifier)
        guard let made = ground.instances[identifier] else { throw TestError("no instance") }
        instance = made
    }

    /// The events that the app was sent since the last call.
    func received() throws -> [AppEvent] {
        try messages(on: channel).map { message in
            guard case .event(let event) = message else {
                throw TestError("the message is no event")
            }
            return event
        }
    }
}

@Suite struct `Messages to an app` {
    @Test func `have cookies that no step has, and none is given twice`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Conversing()
                let identifier = app.instance.identifier
                let first = app.messenger.send(to: identifier) { .metrics([], cookie: $0) }
                let second = app.messenger.send(to: identifier) { .metrics([], cookie: $0) }
                let cookies = [first, second].compactMap(\.self)
                #expect(Set(cookies).count == 2)
                for cookie in cookies {
                    guard case .free = AppCookie(cookie) else { throw TestError("\(cookie)") }
                }
                #expect(
                    try app.received() == cookies.map { AppEvent.metrics([], cookie: $0) })
                app.instance.closeChannel()
                #expect(app.messenger.send(to: identifier) { .metrics([], cookie: $0) } == nil)
            }
        }
    }

    @Test func `leave content to a scene that comes later, also to the next supervisor's`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Conversing()
                let identifier = app.instance.identifier
                @LoopActor func room() -> WaitingContents {
                    WaitingContents(
                        instances: app.ground.instances, reporter: app.reporter,
                        runtimeDirectory: app.ground.folder.path)
                }
                var content = AppContent()
                content.urls = [AppContent.OpenURL("notes:1")]
                let contents = room()
                contents.set(content, for: identifier, isKept: false)
                #expect(contents.take(identifier) == content)
                #expect(contents.take(identifier).isEmpty)
                contents.set(content, for: identifier, isKept: true)
                // What the former supervisor had in memory is gone.
                contents.set(AppContent(), for: identifier, isKept: false)
                #expect(room().take(identifier) == content)
                #expect(room().take(identifier).isEmpty)
                contents.set(content, for: identifier, isKept: true)
                app.ground.instances.release(identifier)
                #expect(room().take(identifier).isEmpty)
            }
        }
    }
}

@Suite struct `Content that waits for a scene` {
    /// Clients may ask as often as they like, and the scene may never come.
    @Test func `is never more than one message delivers, and the latest of it stays`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Conversing()
                let identifier = app.instance.identifier
                let contents = WaitingContents(
                    instances: app.ground.instances, reporter: app.reporter,
                    runtimeDirectory: app.ground.folder.path)
                let padding = String(repeating: "x", count: 1000)
                for number in 0..<400 {
                    var content = AppContent()
                    content.urls = [AppContent.OpenURL("notes:\(number)-" + padding)]
                    contents.add(content, for: identifier, isKept: true)
                }
                let kept = contents.take(identifier)
                #expect(kept.urls.count > 20)
                #expect(kept.urls.last?.url == "notes:399-" + padding)
                let delivery = AppEvent.deliver(kept, session: nil, cookie: 1)
                app.messenger.send(delivery, to: identifier)
                #expect(try app.received() == [delivery])
            }
        }
    }
}

@Suite struct `Requests of an app` {
    @Test func `are admitted in one place, whatever they ask for`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Conversing()
                let (core, instances) = (app.ground.core, app.ground.instances)
                let catalog = AppCatalog()
                let text = """
                    [App]
                    Type=application-kit
                    Exec=/bin/true
                    [Application]
                    ScheduledTasks=refresh
                    """
                _ = catalog.replace(with: try app.ground.load(["a.b": text]).apps, former: [])
                let path = app.ground.folder.path
                let requests = Requests(core: core, instances: instances)
                let contexts = app.ground.contexts(
                    requests,
                    ListeningSockets(
                        core: core, instances: instances, spawner: app.ground.spawner,
                        log: app.ground.log))
                let room = AppRequests(
                    core: core, instances: instances, requests: requests,
                    messenger: app.messenger,
                    contents: WaitingContents(
                        instances: instances, reporter: app.reporter, runtimeDirectory: path),
                    opening: URLOpening(
                        catalog: catalog,
                        launches: TriggeredLaunches(
                            core: core, catalog: catalog, contexts: contexts, requests: requests),
                        stateDirectory: path, manifestDirectory: path))
                @LoopActor func refusals() throws -> [UInt64: Int32] {
                    var refusals: [UInt64: Int32] = [:]
                    for event in try app.received() {
                        guard case .answer(let cookie, .refused(let code, _)) = event else {
                            throw TestError("\(event)")
                        }
                        refusals[cookie] = code
                    }
                    return refusals
                }

                // The recorder answers nobody, so each request stays open.
                let last = UInt64(Requests.limitPerInstance)
                for cookie in 1...last {
                    room.submitted(
                        TaskSubmission("refresh", kind: .appRefresh), cookie, by: app.instance)
                }
                #expect(try refusals() == [:])
                room.submitted(
                    TaskSubmission("refresh", kind: .appRefresh), last + 1, by: app.instance)
                room.requested(.destroy(session: "1"), last + 2, by: app.instance)
                #expect(try refusals() == [last + 1: EAGAIN, last + 2: EAGAIN])
                // One is answered, so there is room for another.
                let open = try #require(app.ground.recorder.answered.first)
                _ = requests.take(open)
                room.requested(.destroy(session: "1"), last + 3, by: app.instance)
                #expect(try refusals() == [:])
            }
        }
    }
}
