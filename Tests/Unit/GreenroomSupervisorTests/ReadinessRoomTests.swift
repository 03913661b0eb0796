import Glibc
import GreenroomLifecycle
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Launching`: what makes a launched instance ready, on real sockets and pipes.

extension Ground {
    /// Installs the app and launches it. Its process is this one, and runs.
    fileprivate func launch(
        _ manifest: String, isKnown: Bool = true
    ) throws -> (app: InstalledApp, instance: InstanceIdentifier) {
        let app = try #require(try load(["a.b": manifest]).apps.first)
        core.begin(performing: recorder)
        core.handle(.appInstalled(app.description))
        core.handle(
            .requested(
                RequestIdentifier(1),
                .launch(
                    LaunchRequest(
                        app: app.identifier, launchIdentifier: LaunchIdentifier("1"),
                        environmentKey: EnvironmentKey(0)))))
        let instance = try #require(recorder.spawned.first)
        if isKnown { _ = try begin("a.b", as: instance) }
        core.handle(.spawned(instance))
        return (app, instance)
    }

    fileprivate func isReady(_ instance: InstanceIdentifier) -> Bool {
        core.lifecycle.instance(instance)?.state == .active
    }
}

@Suite struct `READY=1 of a launched program` {
    private static let manifest = """
        [App]
        Exec=/bin/true
        ReadyOn=notify
        [Prewarm]
        When=never
        """

    @Test func `makes its instance ready, also if it comes before the spawner's report`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let (app, instance) = try ground.launch(Self.manifest, isKnown: false)
                let readiness = try ReadinessListener(
                    core: ground.core, instances: ground.instances,
                    directory: ground.folder.path + "/notify", log: ground.log,
                    disposer: try Disposer())
                let path = try #require(readiness.socketPath(of: app.account.user))
                setenv("NOTIFY_SOCKET", path, 1)
                let steps = Steps()
                // The sender's process belongs to no instance that is known.
                steps.add {
                    Notify.ready(status: "early")
                } until: {
                    true
                }
                steps.add {
                    #expect(!ground.isReady(instance))
                    _ = try ground.begin("a.b", as: instance)
                    readiness.hearEarly(ground.instances[instance]!, of: app.account.user + 1)
                    #expect(!ground.isReady(instance))
                    readiness.hearEarly(ground.instances[instance]!, of: app.account.user)
                } until: {
                    ground.isReady(instance)
                }
                try steps.run()
            }
        }
    }

    @Test func `is not any other message`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let (app, instance) = try ground.launch(Self.manifest)
                let readiness = try ReadinessListener(
                    core: ground.core, instances: ground.instances,
                    directory: ground.folder.path + "/notify", log: ground.log,
                    disposer: try Disposer())
                let path = try #require(readiness.socketPath(of: app.account.user))
                setenv("NOTIFY_SOCKET", path, 1)
                let steps = Steps()
                steps.add {
                    Notify.status("READY=1")
                } until: {
                    true
                }
                steps.add {
                    #expect(!ground.isReady(instance))
                    Notify.ready(status: "now")
                } until: {
                    ground.isReady(instance)
                }
                try steps.run()
            }
        }
    }
}

@Suite struct `The first output of a program` {
    private static let manifest = """
        [App]
        Exec=/bin/true
        ReadyOn=first-output
        [Prewarm]
        When=never
        """

    @Test func `makes its instance ready only when its process is known`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let (app, instance) = try ground.launch(Self.manifest, isKnown: false)
                let catalog = AppCatalog()
                _ = catalog.replace(with: [app], former: [])
                let calls = try DetachedCalls()
                let output = AppOutput(
                    core: ground.core, catalog: catalog, instances: ground.instances,
                    directory: ground.folder.path + "/output", hasJournal: false, calls: calls,
                    disposer: try Disposer(), log: ground.log)
                let stream = try #require(output.stream(for: app, instance: instance))
                let steps = Steps()
                steps.add {
                    #expect(write(stream.rawValue, "early\n", 6) == 6)
                } until: {
                    // What was printed has been heard: it is passed on.
                    var byteCount: CInt = 0
                    return ioctl(stream.rawValue, UInt(FIONREAD), &byteCount) == 0 && byteCount == 0
                }
                steps.add {
                    #expect(!ground.isReady(instance))
                    _ = try ground.begin("a.b", as: instance)
                    output.hearEarly(ground.instances[instance]!)
                } until: {
                    ground.isReady(instance)
                }
                try steps.run()
                #expect(calls.end())
            }
        }
    }

    @Test func `makes its instance ready, and is passed on, by the next supervisor, too`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                // The output goes to the daemon's own standard error.
                let log = try ground.folder.write("", to: "log")
                dup2(open(log, O_WRONLY | O_APPEND), 2)
                let (app, instance) = try ground.launch(Self.manifest)
                let catalog = AppCatalog()
                _ = catalog.replace(with: [app], former: [])
                let calls = try DetachedCalls()
                let disposer = try Disposer()
                @LoopActor func room() -> AppOutput {
                    AppOutput(
                        core: ground.core, catalog: catalog, instances: ground.instances,
                        directory: ground.folder.path + "/output", hasJournal: false,
                        calls: calls, disposer: disposer, log: ground.log)
                }
                @LoopActor func printed() -> String {
                    String(decoding: (try? readFile(log)) ?? [], as: UTF8.self)
                }
                var output = room()
                let stream = try #require(output.stream(for: app, instance: instance))
                let steps = Steps()
                steps.add {
                } until: {
                    true
                }
                steps.add {
                    #expect(!ground.isReady(instance))
                    #expect(write(stream.rawValue, "first\n", 6) == 6)
                } until: {
                    ground.isReady(instance) && printed().contains("first")
                }
                steps.add {
                    output = room()
                    output.adopt(ground.instances[instance]!, of: app)
                    #expect(write(stream.rawValue, "second\n", 7) == 7)
                } until: {
                    printed().contains("second")
                }
                try steps.run()
                output.remove(instance)
                #expect(access("\(ground.folder.path)/output/\(instance)", F_OK) != 0)
                #expect(calls.end())
            }
        }
    }
}
