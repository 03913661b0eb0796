internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import Systemd

/// Brings apps their payloads, at most one in the interval, and their diagnostics, at once: where a running
/// instance has a subscriber. What is not acknowledged, or by nobody who wanted it, is kept for the next.
@LoopActor
final class MetricDeliveries {
    unowned var metrics: Metrics!
    /// Sends to an app; returns the cookie of its acknowledgement.
    var send: ((_ make: (UInt64) -> AppEvent, InstanceIdentifier) -> UInt64?)?
    /// Instances up to this number may have subscribed with a former supervisor.
    var lastInherited = InstanceIdentifier(0)

    private var subscribers: [InstanceIdentifier: Bool] = [:]
    private var underWay: [UInt64: Delivery] = [:]
    private var timer: EventSource?

    private struct Delivery {
        var key: MetricKey
        var instance: InstanceIdentifier
        var payloads: [MetricReport]
        var diagnostics: [DiagnosticReport]
    }

    func subscribe(_ instance: InstanceIdentifier, _ wants: Bool) {
        subscribers[instance] = wants
        guard let key = metrics.key(ofInstance: instance) else { return }
        _ = metrics.book(of: key)
        review(key)
    }

    func forget(_ instance: InstanceIdentifier) {
        subscribers[instance] = nil
        underWay = underWay.filter { $0.value.instance != instance }
    }

    /// Delivers what is due, and comes back when more will be.
    func review(_ key: MetricKey) {
        guard let instance = metrics.listeners(of: key).first(where: mayListen) else { return }
        let now = WallClock.nowMicroseconds
        let known = metrics.book(of: key)
        if known.nextDelivery(interval: metrics.interval) <= now {
            metrics.settle(key)
            metrics.change(key) { [interval = metrics.interval] in
                $0.close(at: now, interval: interval)
            }
        }
        let book = metrics.book(of: key)
        if !book.diagnostics.isEmpty, !isUnderWay(key, \.diagnostics.isEmpty) {
            deliver(key, instance, [], book.diagnostics)
        }
        if book.mayDeliver(at: now, interval: metrics.interval),
            !isUnderWay(key, \.payloads.isEmpty)
        {
            deliver(key, instance, book.pending, [])
        }
        arm(book.nextDelivery(interval: metrics.interval) - now)
    }

    private func mayListen(_ instance: InstanceIdentifier) -> Bool {
        subscribers[instance] ?? (instance.rawValue <= lastInherited.rawValue)
    }

    private func isUnderWay(_ key: MetricKey, _ isOther: (Delivery) -> Bool) -> Bool {
        underWay.values.contains { $0.key == key && !isOther($0) }
    }

    private func deliver(
        _ key: MetricKey, _ instance: InstanceIdentifier, _ payloads: [MetricReport],
        _ diagnostics: [DiagnosticReport]
    ) {
        let cookie = send?(
            {
                payloads.isEmpty
                    ? .diagnostics(diagnostics, cookie: $0) : .metrics(payloads, cookie: $0)
            }, instance)
        guard let cookie else { return }
        underWay[cookie] = Delivery(
            key: key, instance: instance, payloads: payloads, diagnostics: diagnostics)
    }

    /// - Returns: whether it was one of these.
    func acknowledged(_ cookie: UInt64, handled: Bool) -> Bool {
        guard let delivery = underWay.removeValue(forKey: cookie) else { return false }
        guard handled else {
            // Nobody there wants it.
            subscribers[delivery.instance] = false
            review(delivery.key)
            return true
        }
        subscribers[delivery.instance] = true
        metrics.change(delivery.key) { book in
            book.pending.removeAll { delivery.payloads.contains($0) }
            for diagnostic in delivery.diagnostics {
                guard let index = book.diagnostics.firstIndex(of: diagnostic) else { continue }
                book.diagnostics.remove(at: index)
            }
            if !delivery.payloads.isEmpty { book.deliveredAt = WallClock.nowMicroseconds }
        }
        review(delivery.key)
        return true
    }

    /// One timer for all: who is not due then is asked again.
    private func arm(_ delay: Int64) {
        let isArmed = timer?.isEnabled ?? false
        let wanted = TimerClock.boot.nowNanoseconds + UInt64(max(1000, delay)) * 1000
        if isArmed, due <= wanted { return }
        due = wanted
        do throws(SystemdError) {
            if timer == nil {
                timer = try LoopActor.timer(on: .boot, accuracy: .milliseconds(20)) {
                    [unowned self] in reviewAll()
                }
            }
            try timer?.setDeadline(nanoseconds: wanted)
        } catch {
            metrics.supervisor.reporter.failed("arming the timer", error)
        }
    }
    private var due: UInt64 = 0

    func reviewAll() { for key in metrics.present { review(key) } }
}
