internal import CApplicationKit
internal import Glibc

/// Waits on the main thread for the app channel and for the main actor's jobs.
///
/// In an app with Foundation, the main thread waits in Foundation's run loop instead, so that
/// timers and other sources of `RunLoop.main` work; the channel is one more source of it. Without
/// Foundation there is no run loop, and the main thread waits for the channel and the jobs in
/// epoll(7).
///
/// Swift's main actor runs on Dispatch's main queue. Another loop can run that queue, because it
/// has a descriptor that is readable when there are jobs. Nothing here starts a thread;
/// `Task.sleep` and tasks off the main actor make Dispatch start threads of its own.
@MainActor
final class EventLoop {
    /// An epoll(7) instance that watches the channel and the jobs: readable when there is something
    /// to do.
    let descriptor: CInt
    private let queueDescriptor: CInt
    private var channelDescriptor: CInt?

    init(channel: AppChannel?) {
        descriptor = cak_watch_create()
        precondition(descriptor >= 0, "epoll_create1: errno \(-descriptor)")
        queueDescriptor = cak_main_queue_descriptor()
        channelDescriptor = channel?.descriptor
        add(queueDescriptor)
        guard let channel else { return }
        add(channel.descriptor)
        channel.outbox.onChange = { [unowned self] in watchRoom($0) }
        if !channel.outbox.isEmpty { watchRoom(true) }
    }

    /// While `isWatched`, the loop also wakes when the channel has room for more messages.
    private func watchRoom(_ isWatched: Bool) {
        guard let channelDescriptor else { return }
        _ = cak_watch_room(descriptor, channelDescriptor, isWatched)
    }

    private func add(_ other: CInt) {
        let result = cak_watch_add(descriptor, other)
        precondition(result == 0, "epoll_ctl: errno \(-result)")
    }

    func forgetChannel() {
        if let channelDescriptor { _ = cak_watch_remove(descriptor, channelDescriptor) }
        channelDescriptor = nil
    }

    /// Whether the main thread waits in Foundation's run loop; nil before the first wait.
    private var usesRunLoop: Bool?

    /// Waits until there is something to do.
    func wait() {
        if usesRunLoop ?? joinRunLoop(), cak_run_loop_wait() { return }
        let result = cak_watch_wait(descriptor)
        precondition(result >= 0, "epoll_wait: errno \(-result)")
    }

    /// The run loop is edge-triggered: it does not wake for messages and jobs that were there
    /// before. So the caller must handle those once after this call.
    private func joinRunLoop() -> Bool {
        let joins = cak_run_loop_join(descriptor) {
            MainActor.assumeIsolated { Application.current?.processEvents() }
        }
        usesRunLoop = joins
        return joins
    }

    /// Runs the jobs that the main actor has now.
    func runMainQueue() {
        var count: UInt64 = 0
        guard unsafe read(queueDescriptor, &count, 8) == 8 else { return }
        cak_run_main_queue()
    }
}
