import AppFolders
import Glibc
import TestSupport
import Testing

@Suite struct `A process that cannot ask the daemon` {
    @Test func `finds the manifests that the user's daemon would find`() throws {
        let home = try TemporaryDirectory()
        let environment = ["XDG_CONFIG_HOME": home.path]
        func haveManifest() -> Bool {
            AppFolders.haveManifest(of: "org.example.app", isRoot: false, environment)
        }
        #expect(!haveManifest())
        mkdir("\(home.path)/greenroom", 0o755)
        mkdir("\(home.path)/greenroom/apps", 0o755)
        #expect(!haveManifest())
        _ = try home.write("[App]\nExec=/bin/true\n", to: "greenroom/apps/org.example.app.app")
        #expect(haveManifest())

        // What this process cannot read, a daemon of the same user cannot read either.
        let other = try TemporaryDirectory()
        _ = try other.write("no folder", to: "greenroom")
        let closed = ["XDG_CONFIG_HOME": other.path]
        #expect(!AppFolders.haveManifest(of: "org.example.app", isRoot: false, closed))
    }
}
