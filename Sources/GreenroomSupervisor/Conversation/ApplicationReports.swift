internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import Systemd

/// Hears what apps made with the SDK say. An app that sends nonsense, too much or nothing harms
/// only itself: only one of its messages is read in each turn of the loop, and its deadlines pass.
@LoopActor
struct ApplicationReports {
    let core: Core
    let states: KeptStates
    let metrics: Metrics
    let deliveries: MetricDeliveries
    let traces: LaunchTraces
    let work: BackgroundWork
    let appLaunches: AppLaunches
    let appRequests: AppRequests

    func received(_ report: AppReport, from instance: Instance) {
        let identifier = instance.identifier
        switch report {
        case .acknowledged(let cookie, let handled):
            acknowledged(cookie, handled: handled, by: instance)
        case .launchStep(let step, let time, _): traces.note("\(step)", time, of: instance)
        case .didDrawFirstFrame(let time, _):
            traces.note("firstDraw", time, of: instance)
            metrics.drew(identifier, at: traces.latest(time), isSaid: true)
            core.handle(.drewFirstFrame(identifier))
        case .callbackOverran(let callback, let duration):
            traces.overran(instance, callback, duration)
        case .state(let state, let session, let cookie):
            states.received(state, session: session, cookie, from: instance)
        case .requestScene(let wish, let cookie): appRequests.requested(wish, cookie, by: instance)
        case .openURL(let url, let cookie): appRequests.requestedURL(url, cookie, by: instance)
        case .launchTask(let name, let isFinished, let time):
            metrics.task(
                name, isFinished: isFinished, at: traces.latest(time), of: identifier)
        case .launchSteps(let steps): traces.restore(steps, of: identifier)
        case .subscribesToMetrics(let wants):
            deliveries.subscribe(identifier, wants)
        case .background(.submit(let request, let cookie)):
            appRequests.submitted(request, cookie, by: instance)
        case .background(let report): work.received(report, from: instance)
        }
    }

    /// The app could not do what it was sent with this cookie.
    /// - Returns: whether it was something that the app may leave undone.
    func refused(_ cookie: UInt64, by instance: InstanceIdentifier) -> Bool {
        deliveries.acknowledged(cookie, handled: false, by: instance)
    }

    private func acknowledged(_ cookie: UInt64, handled: Bool, by instance: Instance) {
        let identifier = instance.identifier
        switch AppCookie(cookie) {
        case .launch:
            appLaunches.tellLockChange(to: instance)
            core.handle(.becameReady(identifier))
        // A delivery of metrics, the notice of a lock, or a message whose acknowledgement nobody
        // awaits.
        case .free:
            if deliveries.acknowledged(cookie, handled: handled, by: identifier) { return }
            appLaunches.acknowledgedLock(cookie, by: identifier)
        case .step: core.handle(.acknowledged(identifier, cookie: cookie))
        }
    }
}
