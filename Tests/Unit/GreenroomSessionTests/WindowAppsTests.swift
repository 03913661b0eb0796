import Testing

@testable import GreenroomSession

/// Which apps windows belong to.
@Suite struct WindowAppsTests {
    private let second = WindowApps.pause

    @Test func `an app that is installed after its window was seen is found`() {
        var apps = WindowApps()
        var installed = ["org.example.other"]
        #expect(apps.app(of: "org.example.one", at: 0) { installed } == nil)
        installed.append("org.example.one")
        #expect(apps.app(of: "org.example.one", at: second) { installed } == "org.example.one")
    }

    @Test func `the daemon is asked once for a known window, once a second for an unknown one`() {
        var apps = WindowApps()
        var count = 0
        func look(_ name: String, at now: UInt64) -> String? {
            apps.app(of: name, at: now) {
                count += 1
                return ["org.example.Known"]
            }
        }
        for now in 0..<UInt64(10) { #expect(look("known", at: now) == "org.example.Known") }
        #expect(count == 1)
        for now in 0..<UInt64(10) { #expect(look("unknown", at: now) == nil) }
        #expect(count == 2)
        _ = look("unknown", at: second)
        #expect(count == 3)
    }

    @Test func `few names are kept, however many there are, and none that is too long`() {
        var apps = WindowApps()
        for number in 0..<10_000 {
            _ = apps.app(of: "a\(number)", at: 0) { ["org.example.a\(number)"] }
        }
        #expect(1...WindowApps.countLimit ~= apps.names.count)
        let long = String(repeating: "a", count: 256)
        #expect(apps.app(of: long, at: 0) { [long] } == nil)
    }
}
