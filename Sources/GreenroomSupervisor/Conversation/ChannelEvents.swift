internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns what instances say on their channels into events of the core: that they have started, and,
/// by `PrewarmReports` and `ApplicationReports`, whatever they say before and after that. The end
/// of an instance is handled after everything that the instance has said.
@LoopActor
final class ChannelEvents {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let spawner: CurrentSpawner
    private let prewarms: PrewarmReports
    private let reports: ApplicationReports
    private let ready: ReadyConditions
    private let ends: OutOfMemoryEnds
    private let reporter: Reporter

    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)

    /// At most this many messages are read in a row. An app sends two messages before it starts, an
    /// answer to each ping, and one for each library that it opens before its pause. One that sends
    /// more (another process of it may go on after its main process has ended) must not delay
    /// everybody else.
    private static let drainLimit = 64 + OpenedLibraries.countLimit

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, spawner: CurrentSpawner,
        prewarms: PrewarmReports, reports: ApplicationReports, ready: ReadyConditions,
        ends: OutOfMemoryEnds, reporter: Reporter
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.spawner = spawner
        self.prewarms = prewarms
        self.reports = reports
        self.ready = ready
        self.ends = ends
        self.reporter = reporter
    }

    /// Watches the app channel until the app has started.
    func listen(to instance: Instance) {
        do throws(SystemdError) {
            try instance.watchChannel { [unowned self] in receive(from: $0) }
        } catch {
            reporter.failed("watching the channel of \(instance.app)", error)
        }
    }

    /// The instance's main process has ended, whoever reports it: the spawner now, or its table
    /// after a restart.
    ///
    /// - Parameter isOrphan: whether the spawner that started the instance has ended.
    func ended(_ instance: InstanceIdentifier, _ status: ExitStatus, isOrphan: Bool = false) {
        drain(instance)
        if isOrphan, core.lifecycle.instance(instance)?.state.isPrewarm == true {
            core.handle(.reconciled(instance, found: .noChannel(hasEnded: false)))
        }
        ends.examine(instance, status)
        core.handle(.exited(instance, status))
    }

    /// The instance was stopped because it was about to start a program. What it said before tells
    /// which library is to blame.
    func misfired(_ instance: InstanceIdentifier, _ program: String?) {
        // The spawner kills the instance at once. The end of its channel is not reported here,
        // because it would hide why the instance ended.
        drain(instance, untilEnd: false)
        core.handle(.misfired(instance, .startsPrograms(program)))
    }

    /// Reads what the instance sent before it ended. If a program started and ended at once, its
    /// STARTED came before its exit and must be handled first, although the exit arrives on another
    /// descriptor.
    ///
    /// - Parameter untilEnd: whether the channel's end is to be reported too.
    private func drain(_ identifier: InstanceIdentifier, untilEnd: Bool = true) {
        guard let instance = instances[identifier] else { return }
        for _ in 0..<Self.drainLimit {
            guard let channel = instance.channel else { return }
            if !untilEnd, (try? peek(channel))?.byteCount ?? 0 == 0 { return }
            guard receiveOne(from: instance) else { return }
        }
    }

    func receive(from instance: Instance) { _ = receiveOne(from: instance) }

    /// - Returns: true if there was a message.
    private func receiveOne(from instance: Instance) -> Bool {
        guard let channel = instance.channel else { return false }
        let message: AppMessage
        do {
            guard let (byteCount, hasDescriptors) = try peek(channel) else { return false }
            // An app has no reason to send descriptors. If we received them we would have to close
            // them, which may take any time; the disposer closes the channel, and them with it.
            // (From Linux 6.16 on, the kernel lets none arrive.)
            guard byteCount > 0, !hasDescriptors else { return lost(instance) }
            let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            message = try AppMessage(
                decoding: bytes.extracting(first: byteCount), descriptorCount: 0)
            if !Self.isTakenOnceRecorded(message) { try channel.discard() }
        } catch {
            // A newer SDK may send messages that we do not know.
            guard isApplication(instance), Self.isOfNewerVersion(error),
                (try? channel.discard()) != nil
            else { return lost(instance) }
            return true
        }
        return heard(message, from: instance)
    }

    /// Whether the error comes from a well-formed message of a newer version of the protocol.
    private static func isOfNewerVersion(_ error: any Error) -> Bool {
        switch error as? WireError {
        case .unknownType, .unknownValue: true
        case .truncated, .wrongMagic, .unsupportedVersion, .unknownFlags, .unusedFieldSet,
            .wrongLength, .wrongDescriptorCount, .tooManyDescriptors, .unknownRole,
            .duplicateRole, .malformedStrings, .tooManyStringBytes, .noArguments, .invalidUmask,
            .unknownPauseReason, .stringContainsNUL, nil:
            false
        }
    }

    /// Whether the message is taken from the channel only after it was recorded. If we were killed
    /// between taking STARTED and recording it, nobody could tell a program that runs from one that
    /// never started. The same holds for acknowledgements; to count one of them twice does no harm.
    private static func isTakenOnceRecorded(_ message: AppMessage) -> Bool {
        switch message {
        case .started, .startedAnew, .report: true
        case .paused, .pong, .error, .wantsName, .opening: false
        }
    }

    /// - Returns: false if the channel was closed.
    private func heard(_ message: AppMessage, from instance: Instance) -> Bool {
        switch message {
        case .paused(let pause): prewarms.paused(instance, pause)
        case .pong(let cookie):
            if instance.pause.takeAnswer(cookie) { prewarms.isStillPaused(instance) }
        case .wantsName(let name):
            guard prewarms.watch(name, for: instance) else { return lost(instance) }
        case .opening(let index, let step):
            let index = Int(clamping: index)
            switch step {
            case .next: core.handle(.opening(instance.identifier, index))
            case .failed: core.handle(.openingFailed(instance.identifier, index))
            case .done: core.handle(.opening(instance.identifier, nil))
            }
        case .started: started(instance, anew: nil)
        case .startedAnew(_, let status): started(instance, anew: AnewReason(status))
        case .report(let report):
            guard isApplication(instance) else { return lost(instance) }
            reports.received(report, from: instance)
            // This fails if the instance has ended in the meantime.
            try? instance.channel?.discard()
        case .error(let code, let cookie): return failed(instance, code, cookie)
        }
        return true
    }

    /// The app could not do what it was sent, or does not know the message.
    /// - Returns: false if the app cannot go on.
    private func failed(_ instance: Instance, _ code: CInt, _ cookie: UInt64) -> Bool {
        if reports.refused(cookie, by: instance.identifier) { return true }
        // A running app goes on, even if it did not understand a message.
        if hasLaunched(instance), isApplication(instance) { return true }
        prewarms.failed(instance, code)
        return lost(instance)
    }

    private func isApplication(_ instance: Instance) -> Bool {
        catalog[instance.app]?.kind == .applicationKit
    }

    private func hasLaunched(_ instance: Instance) -> Bool {
        core.lifecycle.instance(instance.identifier)?.launchedAt != nil
    }

    /// If an app closed its end before it had read everything that we sent, the first call fails
    /// with ECONNRESET, and the next returns what the app had sent.
    private func peek(
        _ channel: UnixSocket
    ) throws(SystemError) -> (byteCount: Int, hasDescriptors: Bool)? {
        do throws(SystemError) {
            return unsafe try channel.peek(into: Self.buffer)
        } catch {
            guard error.code == ECONNRESET else { throw error }
            return unsafe try channel.peek(into: Self.buffer)
        }
    }

    private func started(_ instance: Instance, anew reason: AnewReason?) {
        // This comes first, because the client waits for its answer.
        core.handle(.started(instance.identifier, anew: reason))
        ready.watch(instance)
        prewarms.end(of: instance.identifier)
        // An SDK app keeps its channel for the life-cycle events; the shim has closed its end.
        if catalog[instance.app]?.kind != .applicationKit {
            instance.closeChannel()
        } else {
            try? instance.channel?.discard()
        }
    }

    @discardableResult
    private func lost(_ instance: Instance) -> Bool {
        let identifier = instance.identifier
        instance.closeChannel()
        ends.examineLost(identifier)
        let state = core.lifecycle.instance(identifier)?.state
        guard state?.isPrewarm == true else {
            core.handle(.channelLost(identifier))
            return false
        }
        // The end is reported next, and says more about a prewarm than the loss of the channel. A
        // paused instance must not be launched meanwhile.
        if state == .prewarming, instance.isEnding { return false }
        // The kernel kills what a spawner traces when the spawner ends.
        if spawner.isEnding {
            core.handle(.reconciled(identifier, found: .noChannel(hasEnded: false)))
        } else {
            core.handle(.channelLost(identifier))
        }
        return false
    }
}
