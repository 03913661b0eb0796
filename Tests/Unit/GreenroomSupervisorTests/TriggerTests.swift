import Glibc
import GreenroomLifecycle
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Triggers`, with a catalog of apps that were read from manifests.

@LoopActor
private struct Machine {
    let ground: Ground
    let launches: TriggeredLaunches
    let catalog = AppCatalog()
    let memory: TimerMemory
    let apps: [InstalledApp]

    /// - Parameter sections: what the manifest of each app has besides its `[App]`.
    init(_ ground: Ground, _ sections: [String: String]) throws {
        self.ground = ground
        ground.core.begin(performing: ground.recorder)
        apps = try ground.load(sections.mapValues { "[App]\nExec=/bin/true\n\($0)" }).apps
            .sorted { $0.identifier < $1.identifier }
        _ = catalog.replace(with: apps, former: [])
        for app in apps { ground.core.handle(.appInstalled(app.description)) }
        let requests = Requests(core: ground.core, instances: ground.instances)
        let sockets = ListeningSockets(
            core: ground.core, instances: ground.instances, spawner: ground.spawner,
            log: ground.log)
        launches = TriggeredLaunches(
            core: ground.core, catalog: catalog, contexts: ground.contexts(requests, sockets),
            requests: requests)
        memory = TimerMemory(
            stateDirectory: ground.folder.path + "/state", runtimeDirectory: ground.folder.path)
    }

    /// The apps that were launched, in order.
    var launched: [String] {
        ground.recorder.effects.compactMap {
            if case .spawn(_, let app, .launch) = $0 { app.rawValue } else { nil }
        }
    }

    func timers() -> AppTimers { AppTimers(launches: launches, log: ground.log, memory: memory) }

    func update(_ timers: AppTimers, _ apps: [InstalledApp]) {
        timers.update(apps.compactMap { app in app.timer.map { (app.identifier, $0) } })
    }

    func update(_ paths: AppPaths, _ apps: [InstalledApp]) {
        paths.update(apps.compactMap { app in app.path.map { (app.identifier, $0) } })
    }
}

@Suite struct `The timers of apps` {
    @Test func `launch once after the activation, also beyond a restart of the daemon`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let machine = try Machine(
                    try Ground(),
                    [
                        "a.a": "[Timer]\nOnActiveSec=100ms\nAccuracySec=1ms\n",
                        "a.b": "[Timer]\nOnActiveSec=3s\nAccuracySec=1ms\n",
                        "a.c": "[Timer]\nOnActiveSec=3100ms\nAccuracySec=1ms\n",
                    ])
                var timers: AppTimers? = machine.timers()
                let steps = Steps()
                steps.add {
                    timers.map { machine.update($0, [machine.apps[0]]) }
                } until: {
                    machine.launched == ["a.a"]
                }
                steps.add {
                    // A launch of an app that runs would spawn nothing.
                    let instance = machine.ground.recorder.spawned[0]
                    for event in [
                        Event.spawned(instance), .exited(instance, .exited(0)), .emptied(instance),
                    ] { machine.ground.core.handle(event) }
                    // The others are not installed before, because the first launch may take long.
                    timers.map { machine.update($0, machine.apps) }
                    // The next daemon knows what is over, and a removed app is forgotten.
                    timers = machine.timers()
                    timers.map { machine.update($0, machine.apps) }
                    timers.map { machine.update($0, [machine.apps[0], machine.apps[2]]) }
                } until: {
                    machine.launched.contains("a.c")
                }
                try steps.run()
                #expect(machine.launched == ["a.a", "a.c"])
                withExtendedLifetime(timers) {}
            }
        }
    }

    @Test func `launch at once for a calendar time that passed while no daemon ran, if persistent`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let calendar = "[Timer]\nOnCalendar=daily\nAccuracySec=1ms\n"
                let machine = try Machine(
                    try Ground(), ["a.a": calendar, "a.b": calendar + "Persistent=yes\n"])
                mkdir(machine.ground.folder.path + "/state", 0o755)
                let long = WallClock.nowMicroseconds - 3 * 86_400_000_000
                for app in machine.apps { machine.memory.noteElapse(of: app.identifier, at: long) }
                let timers = machine.timers()
                let steps = Steps()
                steps.add {
                    machine.update(timers, machine.apps)
                } until: {
                    !machine.launched.isEmpty
                }
                try steps.run()
                #expect(machine.launched == ["a.b"])
                // The launch is remembered: another daemon does not make it again.
                let latest = machine.memory.lastElapse(
                    of: machine.apps[1].identifier, now: WallClock.nowMicroseconds)
                #expect(latest > long + 86_400_000_000)
            }
        }
    }
}

@Suite struct `The paths of apps` {
    /// (`WatchedFileTests` has a path that appears.)
    @Test func `launch when a file is written or a folder is not empty, until the app is removed`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let folder = ground.folder.path
                mkdir(folder + "/in", 0o755)
                try ground.folder.write("x", to: "written")
                let machine = try Machine(
                    ground,
                    [
                        "a.a": "[Path]\nPathChanged=\(folder)/written\n",
                        "a.b": "[Path]\nDirectoryNotEmpty=\(folder)/in\n",
                    ])
                let paths = AppPaths(launches: machine.launches, log: ground.log)
                let steps = Steps()
                steps.add {
                    machine.update(paths, machine.apps)
                    #expect(machine.launched.isEmpty)
                    try ground.folder.write("y", to: "written")
                } until: {
                    machine.launched == ["a.a"]
                }
                steps.add {
                    machine.update(paths, [machine.apps[1]])
                    try ground.folder.write("z", to: "written")
                    try ground.folder.write("x", to: "in/here")
                } until: {
                    machine.launched.last == "a.b"
                }
                try steps.run()
                #expect(machine.launched == ["a.a", "a.b"])
                #expect(!paths.has(machine.apps[0].identifier))
                #expect(paths.has(machine.apps[1].identifier))
            }
        }
    }
}
