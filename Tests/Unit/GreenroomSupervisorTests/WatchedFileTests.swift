import Glibc
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The rooms `Installing`, `Prewarming` and `Triggers`, on real files.

private func append(_ text: String, to path: String) throws {
    let file = try FileDescriptor.open(path, O_WRONLY | O_APPEND)
    #expect(write(file.rawValue, text, text.utf8.count) == text.utf8.count)
}

@Suite struct `The files of apps' programs` {
    @Test func `are watched by name, and so are programs that are missing`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let folder = try TemporaryDirectory()
                let program = try folder.write("one", to: "program")
                var changes = 0
                let watcher = try ProgramWatcher { changes += 1 }
                let steps = Steps()
                @LoopActor func after(
                    _ act: @escaping () throws -> Void, isReported: Bool
                ) {
                    steps.add {
                        changes = 0
                        try act()
                    } until: {
                        // What is not reported is not reported later either: the kernel has queued
                        // the change, and the loop has looked since.
                        isReported ? changes > 0 : true
                    }
                    steps.add {
                        #expect((changes > 0) == isReported)
                    } until: {
                        true
                    }
                }
                watcher.watch([program])
                after({ try append("two", to: program) }, isReported: true)
                after({ rename(try folder.write("three", to: "new"), program) }, isReported: true)
                // Another file has the name now. Whoever hears of a change watches again.
                after({ watcher.watch([program]) }, isReported: false)
                after({ try append("four", to: program) }, isReported: true)
                after({ unlink(program) }, isReported: true)
                let missing = folder.path + "/missing"
                after({ watcher.awaitReturn(of: [missing]) }, isReported: false)
                after({ try folder.write("", to: "other") }, isReported: false)
                after({ try folder.write("", to: "missing") }, isReported: true)
                after({ watcher.awaitReturn(of: []) }, isReported: false)
                after({ try folder.write("again", to: "missing") }, isReported: false)
                try steps.run()
            }
        }
    }
}

@Suite struct `The files that a paused instance was made from` {
    /// A paused instance in the core, and the file that it was made from.
    @LoopActor
    private struct Paused {
        let ground: Ground
        let watcher: StalenessWatcher
        let instance: InstanceIdentifier
        let file: String
        private let calls: DetachedCalls

        init() throws {
            ground = try Ground()
            ground.core.begin(performing: ground.recorder)
            ground.core.handle(
                .appInstalled(AppDescription(identifier: AppIdentifier("a.b"))))
            ground.core.handle(.restored)
            instance = ground.recorder.spawned[0]
            ground.core.handle(.spawned(instance))
            ground.core.handle(.paused(instance, byteCount: 1))
            file = try ground.folder.write("one", to: "library")
            calls = try DetachedCalls()
            watcher = try StalenessWatcher(core: ground.core, instances: ground.instances)
        }

        /// Has another process watch the file and look at it, as for an inspection.
        func watch(then done: @escaping ([CInt]) -> Void) {
            watcher.expectWatches()
            calls.make(
                DetachedJob([watcher.watchedLook(at: file)]), for: AppIdentifier("a.b"),
                of: getuid()
            ) { job in done(job?.watch(0).map { [$0] } ?? []) }
        }

        var hasEnded: Bool {
            ground.recorder.effects.contains(.kill(instance))
                || ground.recorder.effects.contains(.terminate(instance))
        }

        /// The process that has looked shares this one's memory.
        func end() { #expect(calls.end()) }
    }

    @Test func `make it stale when one of them changes, until it is launched`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let paused = try Paused()
                let steps = Steps()
                var isUnchanged: Bool?
                steps.add {
                    paused.watch {
                        isUnchanged = paused.watcher.gotWatches($0, for: paused.instance)
                    }
                } until: {
                    isUnchanged != nil
                }
                steps.add {
                    #expect(isUnchanged == true && !paused.hasEnded)
                    paused.watcher.forget(paused.instance)
                    try paused.ground.folder.write("two", to: "library")
                } until: {
                    true
                }
                steps.add {
                    #expect(!paused.hasEnded)
                    isUnchanged = nil
                    paused.watch {
                        isUnchanged = paused.watcher.gotWatches($0, for: paused.instance)
                    }
                } until: {
                    isUnchanged != nil
                }
                steps.add {
                    try paused.ground.folder.write("three", to: "library")
                } until: {
                    paused.hasEnded
                }
                try steps.run()
                paused.end()
            }
        }
    }

    /// The inspection would find the new file and take it for the one that is mapped.
    @Test func `may not change between the look and the answer`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let paused = try Paused()
                let steps = Steps()
                var watches: [CInt]?
                steps.add {
                    paused.watch { watches = $0 }
                } until: {
                    watches != nil
                }
                steps.add {
                    try paused.ground.folder.write("two", to: "library")
                } until: {
                    true
                }
                steps.add {
                    #expect(watches?.count == 1)
                    #expect(!paused.watcher.gotWatches(watches ?? [], for: paused.instance))
                } until: {
                    true
                }
                try steps.run()
                paused.end()
            }
        }
    }
}

@Suite struct `The paths of an app` {
    @Test func `launch it when they are there, and again if they still are when it has ended`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let wanted = ground.folder.path + "/wanted"
                let text = """
                    [App]
                    Exec=/bin/true
                    [Prewarm]
                    When=never
                    [Path]
                    PathExists=\(wanted)
                    """
                let app = try #require(try ground.load(["a.b": text]).apps.first)
                let path = try #require(app.path)
                let catalog = AppCatalog()
                _ = catalog.replace(with: [app], former: [])
                ground.core.handle(.appInstalled(app.description))
                ground.core.handle(.restored)
                let requests = Requests(core: ground.core, instances: ground.instances)
                let contexts = ground.contexts(
                    requests,
                    ListeningSockets(
                        core: ground.core, instances: ground.instances, spawner: ground.spawner,
                        log: ground.log))
                let paths = AppPaths(
                    launches: TriggeredLaunches(
                        core: ground.core, catalog: catalog, contexts: contexts,
                        requests: requests),
                    log: ground.log)
                @LoopActor func end() {
                    let instance = ground.recorder.spawned.last!
                    ground.core.handle(.spawned(instance))
                    ground.core.handle(.exited(instance, .exited(0)))
                    ground.core.handle(.emptied(instance))
                    paths.review(app.identifier)
                }
                let steps = Steps()
                steps.add {
                    paths.update([(app.identifier, path)])
                } until: {
                    true
                }
                steps.add {
                    #expect(ground.recorder.spawned.isEmpty)
                    try ground.folder.write("", to: "wanted")
                } until: {
                    ground.recorder.spawned.count == 1
                }
                steps.add {
                    end()
                } until: {
                    ground.recorder.spawned.count == 2
                }
                steps.add {
                    unlink(wanted)
                    end()
                } until: {
                    true
                }
                steps.add {
                    #expect(ground.recorder.spawned.count == 2)
                    paths.update([])
                    #expect(!paths.has(app.identifier))
                    try ground.folder.write("", to: "wanted")
                } until: {
                    true
                }
                try steps.run()
                #expect(ground.recorder.spawned.count == 2)
            }
        }
    }
}
