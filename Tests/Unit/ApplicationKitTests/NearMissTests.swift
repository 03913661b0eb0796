import GreenroomAppChannel
import TestSupport
import Testing

/// Methods that are not what they look like.
@Suite struct NearMissTests {
    @Test func `a method that only nearly matches the delegate's is named at the launch`() throws {
        let app = try AppProcess("nearMiss", .cold, mergingErrors: true)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground]), .cold)
        #expect(try app.awaitAcknowledgement(1))
        let warnings = try app.end().filter { $0.hasPrefix("warning: ") }
        let name = "application_kit_probe.NearMiss.application"
        #expect(warnings.count == 2, "\(warnings)")
        #expect(
            warnings.contains {
                $0.hasPrefix("warning: \(name)(_:didFinishLaunchingWithOptions:) is never called,")
                    && $0.contains("Swift.Dictionary<Swift.String, Swift.String>")
                    && $0.contains("ApplicationKit.Application.LaunchOptions")
            })
        #expect(
            warnings.contains(
                "warning: \(name)DidBecomActive(_:) is never called; "
                    + "is applicationDidBecomeActive(_:) meant?"))
    }

    @Test(arguments: ["both", "scenes", "bare", "state", "tasks"])
    func `a delegate whose methods all match is not warned of`(delegate: String) throws {
        let app = try AppProcess(delegate, .cold, mergingErrors: true)
        try app.launch(
            AppLaunch(cookie: 1, flags: delegate == "scenes" ? [.scenes] : []), .cold)
        #expect(try app.awaitAcknowledgement(1))
        if delegate == "scenes" { try app.connect("s1", foreground: false) }
        #expect(try app.end().filter { $0.hasPrefix("warning: ") } == [])
    }
}
