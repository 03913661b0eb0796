internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The pipe that an instance prints to, if its first output makes it ready. What it prints is
/// passed on to where the output of other apps goes, until nobody has the pipe open for writing.
///
/// A program that writes to a pipe holds the pipe's lock while the kernel reads the data, which may
/// lie in a file whose server does not answer (fuse(4)). Opening, reading and closing the pipe wait
/// for that lock; poll(2) does not. So the loop only polls the pipe, and other processes, which may
/// hang, do the rest (``DetachedCalls``, ``Disposer``).
@LoopActor
final class OutputPipe {
    /// At most `byteCount` bytes are passed on per `pause`; an app that prints more waits.
    private enum Pace {
        static let byteCount = 256 << 10
        static let pause = Duration.milliseconds(10)
        /// How long to leave a pipe alone while somebody holds its lock.
        static let patience = Duration.seconds(1)
    }

    private let path: String
    private let app: AppIdentifier
    private let target: FileDescriptor?
    private let stranger: Stranger
    private let calls: DetachedCalls
    /// Called whenever there is output, before it is read: the next supervisor finds what this one
    /// has not recorded.
    private let onOutput: () -> Void
    /// Called when the pipe is empty for ever.
    private let onEnd: () -> Void

    private var reading: FileDescriptor?
    private var source: EventSource?
    private var pause: EventSource?

    /// Whether something was printed since the pipe was made, or since it was opened again.
    private(set) var hasOutput = false

    /// - Parameters:
    ///   - reading: nil if a former supervisor made the pipe, which is opened now.
    ///   - target: where the output goes; nil if it is thrown away.
    init(
        at path: String, reading: FileDescriptor?, of app: AppIdentifier, _ stranger: Stranger,
        passingTo target: FileDescriptor?, calls: DetachedCalls,
        onOutput: @escaping () -> Void, onEnd: @escaping () -> Void
    ) throws(SystemdError) {
        self.path = path
        self.app = app
        self.target = target
        self.stranger = stranger
        self.calls = calls
        self.onOutput = onOutput
        self.onEnd = onEnd
        pause = try LoopActor.timer { [unowned self] in proceed() }
        if let reading { try watch(reading.given(to: stranger, .sent)) } else { open() }
    }

    // The source is dropped before its descriptor.
    isolated deinit { source = nil }

    private func watch(_ pipe: FileDescriptor) throws(SystemdError) {
        reading = pipe
        source = try LoopActor.io(pipe.rawValue, .readable) { [unowned self] in
            if $0.contains(.readable) { heard() }
            passOn()
        }
    }

    private func heard() {
        hasOutput = true
        onOutput()
    }

    private func proceed() {
        if let source { source.isEnabled = true } else { open() }
    }

    private func rest(for duration: Duration) {
        do throws(SystemdError) { try pause?.setDeadline(after: duration) } catch { proceed() }
    }

    private func passOn() {
        guard let reading else { return }
        source?.isEnabled = false
        let job = DetachedJob([.forward(reading, to: target, limit: Pace.byteCount)])
        calls.make(
            job, for: app, of: stranger.user, onLate: { [weak self] in self?.passed($0) }
        ) { [weak self] job in
            if let job { self?.passed(job) } else { self?.rest(for: Pace.patience) }
        }
    }

    private func passed(_ job: DetachedJob) {
        switch job.forwarding(0) {
        case .moved:
            // The output was written between the opening and the first poll(2).
            if !hasOutput { heard() }
            rest(for: Pace.pause)
        case .nothing, .blocked: rest(for: Pace.pause)
        case .ended: onEnd()
        }
    }

    private func open() {
        calls.make(
            DetachedJob([.openPipe(path)]), for: app, of: stranger.user,
            onLate: { [weak self, stranger] in
                let pipe = $0.pipe(0, of: stranger)
                self?.opened(pipe)
            }
        ) { [weak self, stranger] job in
            guard let job else { self?.rest(for: Pace.patience); return }
            let pipe = job.pipe(0, of: stranger)
            self?.opened(pipe)
        }
    }

    private func opened(_ pipe: FileDescriptor?) {
        guard reading == nil else { return }
        guard let pipe, (try? watch(pipe)) != nil else { return onEnd() }
        // The app may have ended before. If nobody has written to the pipe since it was opened,
        // poll(2) does not show that.
        passOn()
    }
}
