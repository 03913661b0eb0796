import GreenroomLifecycle
import GreenroomLinux
import Systemd
import Testing

@testable import GreenroomSupervisor

@Suite struct `Work on the loop` {
    @Test func `in turns is done between the other events`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var done: [String] = []
                var turns: Turns?
                turns = Turns {
                    done.append("turn")
                    if done.count(where: { $0 == "turn" }) < 3 {
                        turns?.ask()
                    } else {
                        turns?.end()
                    }
                }
                var others: [EventSource] = []
                @LoopActor func arrive() throws {
                    others.append(
                        try LoopActor.deferred {
                            done.append("other")
                            if done.count(where: { $0 == "other" }) < 3 {
                                try? arrive()
                            } else {
                                LoopActor.shared.loop.exit(0)
                            }
                        })
                }
                turns?.ask()
                try arrive()
                #expect(turns?.areUnderWay == true)
                #expect(LoopActor.shared.loop.run() == 0)
                #expect(done == ["turn", "other", "turn", "other", "turn", "other"])
                #expect(turns?.areUnderWay == false)
            }
        }
    }

    @Test func `in rounds comes after everything that matters more, once for each request`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var done: [String] = []
                let rounds = Rounds(priority: LoopPriority.idle) {
                    done.append("round")
                    LoopActor.shared.loop.exit(0)
                }
                try rounds.ask()
                try rounds.ask()
                let other = try LoopActor.deferred { done.append("other") }
                #expect(LoopActor.shared.loop.run() == 0)
                withExtendedLifetime(other) {}
                #expect(done == ["other", "round"])
            }
        }
    }

    @Test func `looks again until it sees what it waits for, and then never`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var looks = 0
                let look = RepeatedLook(
                    pauses: .microseconds(100) ... .microseconds(400),
                    until: {
                        looks += 1
                        return looks == 4
                    },
                    then: { LoopActor.shared.loop.exit(0) })
                look.look()
                #expect(looks == 1)
                #expect(LoopActor.shared.loop.run() == 0)
                #expect(looks == 4)
            }
        }
    }
}

@Suite struct `Effects of a start that clients need not wait for` {
    private static let instances = (1...80).map { InstanceIdentifier($0) }

    /// A client that has always sent another call, beside many instances that are to be thawed.
    @Test func `take turns with calls, so that a flood delays neither for long`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var done: [String] = []
                var thawed: [Effect] = []
                let deferred = DeferredEffects {
                    thawed.append($0)
                    done.append("thaw")
                }
                let (ours, flooding) = try UnixSocket.pair(.stream)
                try #require(try flooding.send([1]) == 1)
                // What was sent is never read, so the descriptor stays readable.
                let calls = try LoopActor.io(ours.descriptor.rawValue, .readable) { _ in
                    done.append("call")
                    if done.count(where: { $0 == "call" }) == 12 { LoopActor.shared.loop.exit(0) }
                }
                for instance in Self.instances { #expect(deferred.takes(.thaw(instance))) }
                deferred.end()
                #expect(thawed.isEmpty)
                #expect(LoopActor.shared.loop.run() == 0)
                withExtendedLifetime((calls, flooding)) {}
                #expect(Set(thawed) == Set(Self.instances.map { .thaw($0) }))
                #expect(thawed.count == Self.instances.count)
                // There is a call between two turns, and one turn between two calls.
                let runs = done.chunked()
                let last = runs.lastIndex { $0.word == "thaw" } ?? 0
                #expect(runs[...last].allSatisfy { $0.count <= ($0.word == "call" ? 1 : 16) })
            }
        }
    }

    @Test func `come before whatever else is done to their instance`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var performed: [Effect] = []
                let deferred = DeferredEffects { performed.append($0) }
                let (one, other) = (InstanceIdentifier(1), InstanceIdentifier(2))
                #expect(deferred.takes(.thaw(one)) && deferred.takes(.thaw(other)))
                #expect(!deferred.takes(.kill(one)))
                #expect(performed == [.thaw(one)])
                deferred.end()
                #expect(!deferred.takes(.freeze(other)))
                #expect(performed == [.thaw(one), .thaw(other)])
                #expect(!deferred.takes(.thaw(one)))
            }
        }
    }
}

extension [String] {
    /// Equal words that follow each other, counted.
    fileprivate func chunked() -> [(word: String, count: Int)] {
        reduce(into: []) { runs, word in
            if runs.last?.word == word {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((word, 1))
            }
        }
    }
}

@Suite struct `Files that are written later` {
    @Test func `are written once each, after everything that is ready`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var written: [Int] = []
                var isDone = false
                let writes = DelayedWrites<Int>(after: .milliseconds(1), accuracy: .zero) {
                    written.append($0)
                } onEmpty: {
                    isDone = true
                    LoopActor.shared.loop.exit(0)
                }
                for key in [1, 2, 3, 4, 5, 6, 1, 2, 3] { writes.ask(key) }
                writes.drop(6)
                #expect(written.isEmpty && writes.contains(5) && !writes.contains(6))
                #expect(LoopActor.shared.loop.run() == 0)
                #expect(written.sorted() == [1, 2, 3, 4, 5] && isDone)
            }
        }
    }

    @Test func `are written at the end, without waiting`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                var written: [Int] = []
                let writes = DelayedWrites<Int>(after: .seconds(3600), accuracy: .seconds(1)) {
                    written.append($0)
                }
                writes.ask(1)
                writes.ask(2)
                #expect(written.isEmpty)
                writes.writeAll()
                writes.writeAll()
                #expect(written.sorted() == [1, 2])
            }
        }
    }
}
