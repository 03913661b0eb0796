internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// greenroom-history: started when there is something to ask, and ended after a second in which
/// there was nothing. It waits for the disk, so that the loop does not. At most one such process
/// exists. If it hangs, what it was asked fails after a while, and nothing else waits for it.
@LoopActor
@safe final class HistoryProcess {
    typealias Answer = Result<HistoryReply, HistoryError>

    private struct Job {
        let call: HistoryCall
        let onDone: (Answer) -> Void
    }

    private struct Write {
        let take: () -> HistoryBatch?
        let onDone: (HistoryBatch, Answer) -> Void
    }

    /// ```
    /// none -> starting -> running -> ending -> none
    /// ```
    private enum Phase {
        case none
        case starting(SpawnUnderWay, UnixSocket)
        case running(ProcessDescriptor, UnixSocket)
        /// The connection is closed, and the process has not ended yet.
        case ending(ProcessDescriptor)
    }

    private let program: String
    /// The history's file.
    let file: String
    private var phase = Phase.none
    private var connection = ClientConnection()
    private var jobs = Fifo<Job>()
    /// Comes before all jobs that wait.
    private var waitingWrite: Write?
    private var current: Job?
    /// Watches the waiter of the spawn, or the process.
    private var ends: EventSource?
    private var messages: EventSource?
    private var timer: EventSource?
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    /// At most this many jobs wait, apart from a write. Those of one user are limited by
    /// ``LaunchHistory``.
    private static let jobLimit = 64
    /// A disk that sleeps needs ten seconds.
    private static let patience = Duration.seconds(30)
    /// How long the process stays after its last job: long enough for the next page.
    private static let linger = Duration.seconds(1)
    /// How many milliseconds the daemon's own end may wait until the socket has room for more of
    /// the last batch.
    private static let endPatience: CInt = 2000

    init(program: String, file: String) {
        self.program = program
        self.file = file
    }

    isolated deinit { unsafe buffer.deallocate() }

    /// Asks, and calls `onDone` once with the answer. If too many calls wait, or if the process
    /// cannot be started, `onDone` is called before this returns.
    func ask(_ call: HistoryCall, then onDone: @escaping (Answer) -> Void) {
        guard jobs.count < Self.jobLimit else {
            return onDone(.failure(HistoryError(reason: "too many calls wait")))
        }
        jobs.append(Job(call: call, onDone: onDone))
        next()
    }

    /// Has a batch written, before anything that waits, and calls `onDone` once with the answer.
    ///
    /// The batch is taken when its turn has come. So at most one write waits, and it includes what
    /// is added in the meantime.
    func write(
        _ take: @escaping () -> HistoryBatch?,
        then onDone: @escaping (HistoryBatch, Answer) -> Void
    ) {
        guard waitingWrite == nil else { return }
        waitingWrite = Write(take: take, onDone: onDone)
        next()
    }

    // MARK: The process

    private func next() {
        guard current == nil, let job = takeWrite() ?? jobs.popFirst() else { return }
        current = job
        arm(Self.patience)
        switch phase {
        case .none: start()
        case .running: send(job)
        // The job is sent when the process runs, or after this one has ended and another runs.
        case .starting, .ending: break
        }
    }

    private func takeWrite() -> Job? {
        guard let write = waitingWrite else { return nil }
        waitingWrite = nil
        return write.take().map { batch in
            Job(call: .append(batch)) { answer in write.onDone(batch, answer) }
        }
    }

    private func start() {
        do {
            let (own, other) = try UnixSocket.pair(.stream)
            let request = try request(other)
            let spawn: SpawnUnderWay
            do throws(SpawnError) { spawn = try request.begin() } catch {
                return fail("\(program): \(error)")
            }
            phase = .starting(spawn, own)
            let waiter: ProcessDescriptor
            do throws(SystemError) { waiter = try ProcessDescriptor(pid: spawn.waiter) } catch {
                // Where the kernel reaps the daemon's children (SIGCHLD is ignored), a waiter that
                // is gone has done its work.
                guard error.code == ESRCH else { throw error }
                return started()
            }
            ends = try LoopActor.io(waiter.descriptor.rawValue, .readable) { [unowned self] _ in
                _ = try? waiter.wait()
                withExtendedLifetime(other) {}
                started()
            }
        } catch {
            phase = .none
            fail("\(program): \(error)")
        }
    }

    private struct Unusable: Error, CustomStringConvertible {
        let description = "a path with a NUL cannot be used"
    }

    private func request(_ socket: UnixSocket) throws -> SpawnRequest {
        guard let arguments = StringBlock([program, file]) else { throw Unusable() }
        var request = SpawnRequest(
            path: program, arguments: arguments,
            environment: StringBlock(["SWIFT_BACKTRACE=enable=no"]) ?? StringBlock())
        request.workingDirectory = "/"
        // The daemon's own value would protect this process like the daemon.
        request.oomScoreAdjustment = 0
        request.descriptors = [
            .init(socket.descriptor.rawValue, at: 0), .init(2, at: 1), .init(2, at: 2),
        ]
        return request
    }

    /// The spawn is over.
    private func started() {
        guard case .starting(let spawn, let socket) = phase else { return }
        ends = nil
        let end = spawn.end()
        guard let process = end.spawned?.process, end.error == nil else {
            if let process = end.spawned?.process { awaitEnd(of: process) } else { phase = .none }
            return fail("\(program): \(end.error.map { "\($0)" } ?? "it did not start")")
        }
        connection = ClientConnection()
        phase = .running(process, socket)
        do throws(SystemdError) {
            messages = try LoopActor.io(socket.descriptor.rawValue, .readable) {
                [unowned self] _ in happened()
            }
        } catch {
            leave()
            return fail("\(error)")
        }
        if let current { send(current) } else { leave() }
    }

    /// Closes the connection, so the process ends.
    private func leave() {
        guard case .running(let process, _) = phase else { return }
        messages = nil
        awaitEnd(of: process)
    }

    private func awaitEnd(of process: ProcessDescriptor) {
        phase = .ending(process)
        do throws(SystemdError) {
            ends = try LoopActor.io(process.descriptor.rawValue, .readable) { [unowned self] _ in
                _ = try? process.wait()
                ends = nil
                phase = .none
                if current != nil { start() }
            }
        } catch {
            // Nobody will see the end of the process, but it ends nevertheless. Whatever was asked
            // last is about to be answered with a failure, so the next job starts another process.
            phase = .none
        }
    }

    // MARK: Jobs

    private func arm(_ time: Duration) {
        do throws(SystemdError) {
            if timer == nil {
                timer = try LoopActor.timer(accuracy: .milliseconds(500)) {
                    [unowned self] in timePassed()
                }
            }
            try timer?.setDeadline(after: time)
        } catch {
            fail("\(error)")
        }
    }

    private func timePassed() {
        // The process was idle for a while.
        guard current != nil else { return leave() }
        switch phase {
        case .starting(let spawn, _):
            if spawn.isOver { return started() }
            spawn.kill()
        case .running(let process, _):
            _ = try? process.send(signal: SIGKILL)
            leave()
        case .ending(let process): _ = try? process.send(signal: SIGKILL)
        case .none: break
        }
        fail("greenroom-history does not answer")
    }

    private func send(_ job: Job) {
        connection.call(job.call.method, job.call)
        flush()
    }

    private func flush() {
        guard case .running(_, let socket) = phase else { return }
        var isBlocked = false
        while !isBlocked {
            let sent: Int?? = connection.withOutput { span, _ in
                unsafe span.withUnsafeBytes { (unsafe try? socket.send($0)) ?? nil }
            }
            guard let sent else { break }
            if let sent { connection.sent(byteCount: sent) } else { isBlocked = true }
        }
        try? messages?.setEvents(isBlocked ? [.readable, .writable] : .readable)
    }

    private func happened() {
        guard case .running(_, let socket) = phase else { return }
        let message = unsafe (try? socket.receive(into: buffer)) ?? nil
        if let message {
            guard message.byteCount > 0 else {
                leave()
                return fail("greenroom-history ended")
            }
            let bytes = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(buffer))
            connection.receive(bytes.extracting(first: message.byteCount))
        }
        if let reply = connection.nextReply(), let job = current {
            do throws(HistoryError) {
                finish(job, .success(try HistoryReply(reply, to: job.call)))
            } catch {
                finish(job, .failure(error))
            }
        } else if connection.violation != nil {
            leave()
            fail("greenroom-history is another version")
        } else {
            flush()
        }
    }

    private func fail(_ reason: String) {
        guard let job = current else { return }
        finish(job, .failure(HistoryError(reason: reason)))
    }

    private func finish(_ job: Job, _ answer: Answer) {
        current = nil
        job.onDone(answer)
        if current == nil, jobs.isEmpty { arm(Self.linger) }
        next()
    }

    // MARK: The daemon's end

    /// Hands over a last batch to a process of its own, and waits only until the socket has taken
    /// all of it: the process may write it after the daemon has ended.
    func handOver(_ batch: HistoryBatch) throws {
        let (own, other) = try UnixSocket.pair(.stream)
        let request = try request(other)
        _ = try request.spawn()
        var last = ClientConnection()
        let call = HistoryCall.append(batch)
        last.call(call.method, call)
        while true {
            let sent: Int?? = last.withOutput { span, _ in
                unsafe span.withUnsafeBytes { (unsafe try? own.send($0)) ?? nil }
            }
            guard let sent else { return }
            if let sent {
                last.sent(byteCount: sent)
            } else if try !PollEntry.wait(
                for: own.descriptor.rawValue, CInt(POLLOUT), milliseconds: Self.endPatience)
            {
                throw HistoryError(reason: "greenroom-history does not answer")
            }
        }
    }
}
