import GreenroomLifecycle
import GreenroomLinux
import Systemd
import Testing
import Varlink

@testable import GreenroomSupervisor

// Rooms of the supervisor, each with those below it and without the daemon (`Ground`).

@LoopActor
private final class Nobody: ClientHandler {
    func called(_ connection: ControlConnection, _ call: Call, _ descriptors: [FileDescriptor]) {}
    func left(_ connection: ControlConnection) {}
}

@Suite struct `The core in the shell` {
    @Test func `keeps events until a performer for their effects is there`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.launch("a")
                #expect(ground.core.lifecycle.instances.isEmpty)
                ground.core.begin(performing: ground.recorder)
                #expect(ground.recorder.spawned.count == 1 && ground.recorder.turns == 1)
            }
        }
    }

    @Test func `handles an event that an effect causes after all effects before it`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                var seen = 0
                ground.recorder.respond = { [core = ground.core, recorder = ground.recorder] in
                    guard case .spawn(let instance, _, _) = $0 else { return }
                    core.handle(.spawnFailed(instance, SpawnFailure(stage: "test", errno: 2)))
                    seen = recorder.effects.count
                }
                ground.launch("a")
                // The spawn was performed, and the effects of the failure came later.
                #expect(seen > 0 && ground.recorder.effects.count > seen)
                let released = ground.recorder.effects.contains {
                    if case .release = $0 { true } else { false }
                }
                #expect(released)
            }
        }
    }

    @Test func `reports that no instance is left to the latest caller`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                var told: [String] = []
                ground.launch("a")
                ground.core.shutDown { told.append("first") }
                ground.core.cancelShutdown()
                ground.core.shutDown { told.append("second") }
                #expect(told == [])
                let instance = ground.recorder.spawned[0]
                ground.core.handle(.exited(instance, .exited(0)))
                ground.core.handle(.emptied(instance))
                #expect(told == ["second"])
            }
        }
    }
}

@Suite struct `The part of an instance that a room keeps` {
    final class Kept: InstancePart {
        var word = ""
    }

    @Test func `exists from the spawn order until the release`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                ground.launch("a")
                let instance = ground.recorder.spawned[0]
                weak var kept: Kept?
                do {
                    #expect(ground.instances.known(Kept.self, of: instance) == nil)
                    kept = ground.instances.part(Kept.self, of: instance)
                    kept?.word = "here"
                    #expect(ground.instances.part(Kept.self, of: instance)?.word == "here")
                    #expect(ground.instances.all(Kept.self).map(\.0) == [instance])
                }
                ground.core.handle(.spawnFailed(instance, SpawnFailure(stage: "test", errno: 2)))
                ground.instances.release(instance)
                #expect(kept == nil)
                // No part can be made for a released instance, nor for an unknown one.
                #expect(ground.instances.part(Kept.self, of: instance) == nil)
                #expect(ground.instances.part(Kept.self, of: InstanceIdentifier(99)) == nil)
            }
        }
    }

    /// A call that another process makes for the instance, for example, has it until the answer.
    @Test func `is dropped at the release although somebody still has the instance`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                ground.launch("a")
                let identifier = ground.recorder.spawned[0]
                weak let kept = ground.instances.part(Kept.self, of: identifier)
                _ = try ground.begin("a", as: identifier)
                let instance = try #require(ground.instances[identifier])
                #expect(kept != nil && instance.parts.known(Kept.self) === kept)
                ground.instances.release(identifier)
                #expect(kept == nil && instance.parts.known(Kept.self) == nil)
            }
        }
    }
}

@Suite struct `The table of requests` {
    @Test func `answers each request once, and lets an app ask again after an answer`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                ground.launch("a")
                ground.launch("b", as: 2)
                let (app, other) = (ground.recorder.spawned[0], ground.recorder.spawned[1])
                let requests = Requests(core: ground.core, instances: ground.instances)
                var asked: [RequestIdentifier] = []
                for cookie in 0..<UInt64(Requests.limitPerInstance) {
                    #expect(!requests.isFull(of: app))
                    asked.append(
                        requests.ask(
                            .expireTask(AppIdentifier("a")), for: .app(app, cookie: cookie)))
                }
                #expect(requests.isFull(of: app) && !requests.isFull(of: other))
                guard case .app(app, cookie: 3)? = requests.take(asked[3])?.origin else {
                    throw SystemError(code: 22, call: "take")
                }
                #expect(requests.take(asked[3]) == nil)
                #expect(!requests.isFull(of: app))
                #expect(Set(asked).count == asked.count)
            }
        }
    }

    @Test func `keeps a launch whose client has left, and drops a wait whose client has left`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let requests = Requests(core: ground.core, instances: ground.instances)
                let (socket, _) = try UnixSocket.pair(.stream)
                let user = ControlUser(try Disposer().stranger(0))
                let connection = try ControlConnection(
                    identifier: 1, socket: socket, peer: try Peer(socket), user: user,
                    turns: try ControlTurns(), handler: Nobody())
                try user.beginLaunch(byteCount: 10)
                let call = WaitingCall.Launch(
                    connection: connection, identifier: LaunchIdentifier("x"), byteCount: 10)
                let app = AppIdentifier("a")
                let launch = requests.ask(
                    .launch(
                        LaunchRequest(
                            app: app, launchIdentifier: LaunchIdentifier("x"),
                            environmentKey: EnvironmentKey(0))), for: .client(.launch(call)))
                let wait = requests.ask(.awaitExit(.app(app)), for: .client(.plain(connection)))
                requests.abandon(connection)
                #expect(requests.take(wait) == nil && user.isBusy)
                // Until the launch is answered, its bytes count for its user.
                #expect(requests.take(launch) != nil && !user.isBusy && requests.count == 0)
            }
        }
    }
}
