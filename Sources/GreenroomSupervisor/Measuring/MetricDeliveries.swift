internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import Systemd

/// Delivers payloads to apps, at most once in each interval, and diagnostics, at once, where a
/// running instance has a subscriber. Whatever is not acknowledged, or is acknowledged by an
/// instance without a subscriber, is kept for the next subscriber.
@LoopActor
final class MetricDeliveries {
    private let times: InstanceTimes
    private let books: MetricBooks
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let log: Log
    /// Instances up to this number may have subscribed with a former supervisor.
    private let lastAdopted: InstanceIdentifier
    private var timer: EventSource?

    private final class Subscription: InstancePart {
        /// Nil if the instance has not said whether it has a subscriber.
        var isWanted: Bool?
        /// Deliveries that the instance has not acknowledged yet, by cookie.
        var underWay: [UInt64: Delivery] = [:]
    }

    private struct Delivery {
        var key: MetricKey
        var payloads: [MetricReport]
        var diagnostics: [DiagnosticReport]
    }

    init(
        times: InstanceTimes, books: MetricBooks, instances: InstanceTable,
        messenger: AppMessenger, log: Log, lastAdopted: InstanceIdentifier
    ) {
        self.times = times
        self.books = books
        self.instances = instances
        self.messenger = messenger
        self.log = log
        self.lastAdopted = lastAdopted
    }

    func subscribe(_ instance: InstanceIdentifier, _ wants: Bool) {
        instances.part(Subscription.self, of: instance)?.isWanted = wants
        guard let key = times[instance]?.key else { return }
        _ = books[key]
        review(key)
    }

    /// Delivers what is due, and arms the timer for what will be due later.
    func review(_ key: MetricKey) {
        guard let instance = times.listeners(of: key).first(where: mayListen) else { return }
        let now = WallClock.nowMicroseconds
        let known = books[key]
        if known.nextDelivery(interval: times.interval) <= now {
            times.settle(key)
            books.change(key) { [interval = times.interval] in
                $0.close(at: now, interval: interval)
            }
        }
        let book = books[key]
        if !book.diagnostics.isEmpty, !isUnderWay(key, \.diagnostics.isEmpty) {
            deliver(key, instance, [], book.diagnostics)
        }
        if book.mayDeliver(at: now, interval: times.interval),
            !isUnderWay(key, \.payloads.isEmpty)
        {
            deliver(key, instance, book.pending, [])
        }
        arm(book.nextDelivery(interval: times.interval) - now)
    }

    private func mayListen(_ instance: InstanceIdentifier) -> Bool {
        instances.known(Subscription.self, of: instance)?.isWanted
            ?? (instance.rawValue <= lastAdopted.rawValue)
    }

    private func isUnderWay(_ key: MetricKey, _ isOther: (Delivery) -> Bool) -> Bool {
        instances.all(Subscription.self).contains { _, subscription in
            subscription.underWay.values.contains { $0.key == key && !isOther($0) }
        }
    }

    private func deliver(
        _ key: MetricKey, _ instance: InstanceIdentifier, _ payloads: [MetricReport],
        _ diagnostics: [DiagnosticReport]
    ) {
        let cookie = messenger.send(to: instance) {
            payloads.isEmpty
                ? .diagnostics(diagnostics, cookie: $0) : .metrics(payloads, cookie: $0)
        }
        guard let cookie else { return }
        instances.part(Subscription.self, of: instance)?.underWay[cookie] = Delivery(
            key: key, payloads: payloads, diagnostics: diagnostics)
    }

    /// - Returns: whether the cookie belonged to a delivery.
    func acknowledged(
        _ cookie: UInt64, handled: Bool, by instance: InstanceIdentifier
    ) -> Bool {
        guard let subscription = instances.known(Subscription.self, of: instance),
            let delivery = subscription.underWay.removeValue(forKey: cookie)
        else { return false }
        guard handled else {
            // The instance has no subscriber for the delivery.
            subscription.isWanted = false
            review(delivery.key)
            return true
        }
        subscription.isWanted = true
        books.change(delivery.key) { book in
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

    /// One timer for all apps: an app for which nothing is due yet arms it again.
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
            log.failed("arming the timer", error)
        }
    }
    private var due: UInt64 = 0

    func reviewAll() { for key in times.keys { review(key) } }
}
