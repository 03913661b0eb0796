// Apps that fail, before or after they run. With each failure in a row the daemon waits twice as
// long before it prewarms or starts the app by itself. Crashes that come too often stop both for a
// while. A user's launch is always tried.

extension Lifecycle {
    /// A prewarm failed. The next one must wait, longer after each failure, and clients that wait
    /// for the prewarm are refused.
    mutating func prewarmFailed(
        _ app: AppIdentifier, _ reason: ExitReason, _ refusal: Refusal? = nil
    ) {
        let retryAt = countPrewarmFailure(app)
        report(.prewarmFailed(app, reason, retryAt: retryAt))
        refusePrewarms(of: app, refusal ?? .backOff(app, until: retryAt))
        wantRefill(of: app)
    }

    mutating func countPrewarmFailure(_ app: AppIdentifier) -> Instant {
        let failures = self[app].record.prewarmFailures.addingClamped(1)
        let backOffEnd = now.advanced(by: backOff(after: failures))
        // A pause after a reclaim may end later than the back-off.
        let retryAt = max(self[app].record.prewarmRetryAt ?? backOffEnd, backOffEnd)
        updateApp(app) {
            $0.prewarmFailures = failures
            $0.prewarmRetryAt = retryAt
            $0.isReclaimed = false
        }
        return retryAt
    }

    mutating func launchFailed(_ app: AppIdentifier) {
        let failures = self[app].record.launchFailures.addingClamped(1)
        let retryAt = now.advanced(by: backOff(after: failures))
        updateApp(app) {
            $0.launchFailures = failures
            $0.launchRetryAt = retryAt
        }
    }

    /// The back-off doubles with each failure, from `backOffFirst` to `backOffCap`.
    private func backOff(after failures: UInt32) -> Duration {
        // Even if the first back-off is a millisecond, 2^20 times that exceeds every sensible cap.
        let factor = Int64(1) << Int64(min(failures - 1, 20))
        return min(policy.backOffCap, max(.milliseconds(1), policy.backOffFirst) * factor)
    }

    mutating func crashed(_ app: AppIdentifier) {
        updateApp(app) { [now, policy] in
            $0.crashes.append(now)
            $0.crashes.removeFirst(max(0, $0.crashes.count - max(1, policy.crashLoopCount)))
        }
        let crashes = self[app].record.crashes
        guard crashes.count >= policy.crashLoopCount, let first = crashes.first,
            first.duration(to: now) <= policy.crashLoopWindow
        else { return }
        let until = now.advanced(by: policy.crashLoopWindow)
        updateApp(app) { $0.crashLoopUntil = until }
        report(.crashLooped(app, until: until))
        wantRefill(of: app)
    }
}

extension UInt32 {
    fileprivate func addingClamped(_ other: UInt32) -> UInt32 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
