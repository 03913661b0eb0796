import Glibc
import Systemd

enum Mode: String, CaseIterable {
    case idle, detached, order, rearm, drop, foreignDrop, io, signal, task, code
    case notify, watchdog, sockets, log, structured

    @LoopActor func start(_ keep: Keep) throws {
        switch self {
        case .idle: try runIdle(keep)
        case .detached:
            // The daemon must not do this. The counter of the idle test must see it.
            Task.detached {}
            try runIdle(keep)
        case .order: try runOrder(keep)
        case .rearm: try runRearm(keep)
        case .drop: try runDrop(keep)
        case .foreignDrop: try runForeignDrop(keep)
        case .io: try runIo(keep)
        case .signal: try runSignal(keep)
        case .task:
            // The daemon must not do this. The loop refuses it.
            Task.immediate { @LoopActor in await Task.yield() }
        case .code:
            keep.sources.append(
                try LoopActor.deferred {
                    finish(7)
                    // After the loop has ended, one of its sources can still be changed.
                    keep.sources[0].isEnabled = true
                })
        case .notify: runNotify()
        case .watchdog: try runWatchdog(keep)
        case .sockets:
            for socket in try InheritedSocket.takeAll() {
                say("\(socket.descriptor) \(socket.name) \(fcntl(socket.descriptor, F_GETFD))")
            }
            say("again \(try InheritedSocket.takeAll().count)")
            say("environment \(getenv("LISTEN_FDS") == nil)")
            finish()
        case .log: runLog()
        case .structured: try runStructured()
        }
    }
}

/// Uses each kind of source, says so, and waits for standard input to end.
@LoopActor private func runIdle(_ keep: Keep) throws {
    keep.named["once"] = try LoopActor.deferred { say("ready") }
    keep.sources.append(try LoopActor.timer(after: .seconds(3600)) {})
    keep.sources.append(try LoopActor.io(0, .readable) { _ in finish() })
}

@LoopActor private func runOrder(_ keep: Keep) throws {
    let now = LoopActor.nowNanoseconds
    keep.sources = [
        // This timer has the last priority: on a busy machine it is due before the others have run.
        try LoopActor.timer(deadlineNanoseconds: now + 10_000_000, priority: 10) {
            say("timer")
            finish()
        },
        try LoopActor.deferred(priority: 5) {
            say("deferred 5")
        },
        try LoopActor.deferred(priority: -5) { say("deferred -5") },
    ]
    say("started")
}

/// A timer fires once per deadline, and never early. If the deadline is past, it fires at once; if
/// it is disabled, it does not fire.
@LoopActor private func runRearm(_ keep: Keep) throws {
    var fired = 0
    let deadline = LoopActor.nowNanoseconds + 5_000_001
    keep.named["t"] = try LoopActor.timer(deadlineNanoseconds: deadline) {
        fired += 1
        guard let timer = keep.named["t"] else { return }
        switch fired {
        case 1:
            say("early \(LoopActor.nowNanoseconds < deadline)")
            say("enabled \(timer.isEnabled)")
            try? timer.setDeadline(nanoseconds: 1)
        case 2:
            say("past")
            try? timer.setDeadline(after: .milliseconds(1))
            timer.isEnabled = false
            say("disabled \(!timer.isEnabled)")
            keep.named["wait"] = try? LoopActor.timer(after: .milliseconds(10)) {
                say("fired \(fired)")
                finish()
            }
        default: say("fired while disabled")
        }
    }
}

/// A source that is dropped on the loop is gone at once, so its descriptor number can be used
/// again.
@LoopActor private func runDrop(_ keep: Keep) throws {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { return finish(1) }
    let (reader, writer) = (ends[0], ends[1])
    _ = write(writer, "x", 1)
    keep.named["io"] = try LoopActor.io(reader, .readable) { _ in
        say("first")
        keep.named["io"] = nil
        close(reader)
        // The same number is open and readable again. Only a new source may see it.
        let again = open("/proc/self/stat", O_RDONLY)
        close(again)
        var second: [CInt] = [0, 0]
        _ = pipe(&second)
        _ = write(second[1], "y", 1)
        say("same number \(second[0] == reader)")
        keep.named["new"] = try? LoopActor.io(second[0], .readable) { _ in
            say("second")
            finish()
        }
    }
}

/// A source cannot be removed at once outside of the loop: code that drops it there has a fault.
@LoopActor private func runForeignDrop(_ keep: Keep) throws {
    let box = Unmanaged.passRetained(try LoopActor.io(0, .readable) { _ in })
    var thread = pthread_t()
    pthread_create(&thread, nil, dropSource, box.toOpaque())
    pthread_join(thread, nil)
    say("dropped")
    finish()
}

private nonisolated func dropSource(_ raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Unmanaged<AnyObject>.fromOpaque(raw!).release()
    return nil
}

@LoopActor private func runIo(_ keep: Keep) throws {
    var ends: [CInt] = [0, 0]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return finish(1) }
    let (near, far) = (ends[0], ends[1])
    keep.named["io"] = try LoopActor.io(near, .writable) { seen in
        if seen.contains(.writable) && !seen.contains(.readable) {
            say("writable")
            try? keep.named["io"]?.setEvents(.readable)
            close(far)
        } else {
            say("readable \(seen.contains(.readable)) hangUp \(seen.contains(.hangUp))")
            finish()
        }
    }
}

@LoopActor private func runSignal(_ keep: Keep) throws {
    for number in [SIGUSR1, SIGTERM] {
        keep.sources.append(
            try LoopActor.signal(number) { seen in
                say("signal \(seen)")
                if seen == SIGTERM { finish() }
            })
    }
    kill(getpid(), SIGUSR1)
    keep.sources.append(try LoopActor.timer(after: .milliseconds(5)) { kill(getpid(), SIGTERM) })
}
