@testable import ApplicationKit
import GreenroomAppChannel
import Testing

/// Tests that need no process of their own.
@Suite @MainActor struct `The library for apps` {
    @Test func `states have UIKit's raw values`() {
        #expect(
            [Application.State.active, .inactive, .background].map(\.rawValue) == [0, 1, 2])
        #expect(
            [
                Scene.ActivationState.unattached, .foregroundActive, .foregroundInactive,
                .background,
            ].map(\.rawValue) == [-1, 0, 1, 2])
    }

    @Test func `errors are described in words`() {
        let errors: [any Error] = [
            ProtectedDataError.unavailable, ProtectedDataError.unreadable(code: 5),
            ProtectedDataError.tooLarge, LaunchTaskError.invalidID, LaunchTaskError.maxCount,
            LaunchTaskError.pastDeadline, LaunchTaskError.duplicated, LaunchTaskError.unknown,
        ]
        for error in errors { #expect("\(error)".contains(" ")) }
    }

    @Test func `reasons and steps of a launch have the channel's names and numbers`() {
        func numbered(_ cases: [some RawRepresentable<Int32>]) -> [String] {
            cases.map { "\($0) \($0.rawValue)" }
        }
        #expect(numbered(LaunchInfo.Reason.allCases) == numbered(AppLaunch.Reason.allCases))
        #expect(numbered(LaunchInfo.Step.allCases) == numbered(AppReport.LaunchStep.allCases))
    }

    @Test func `a payload has every count of the daemon's report`() {
        var report = MetricReport(begin: 1, end: 2)
        for (index, metric) in LaunchMetric.allCases.enumerated() {
            report.launches[metric, default: .init()].add(UInt64(index) + 1, to: 0)
        }
        for (index, exit) in MetricExit.allCases.enumerated() {
            report.foregroundExits[exit] = UInt64(index) + 1
        }
        let payload = MetricPayload(report)
        let launches = Mirror(reflecting: payload.applicationLaunchMetrics).children.compactMap {
            ($0.value as? Histogram)?.totalCount
        }
        #expect(launches.sorted() == Array(1...UInt64(LaunchMetric.allCases.count)))
        let exits = payload.applicationExitMetrics.foregroundExitData
        let counts = Mirror(reflecting: exits).children.compactMap { $0.value as? UInt64 }
        #expect(counts.sorted() == Array(1...UInt64(MetricExit.allCases.count)))
    }

    @Test func `a coder says whether it contains a key`() {
        let coder = StateCoder(appVersion: "1")
        #expect(!coder.containsValue(forKey: "page"))
        coder.encode(7, forKey: "page")
        #expect(coder.containsValue(forKey: "page"))
    }
}
