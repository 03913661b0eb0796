import Testing

@testable import GreenroomSupervisor

struct PoolEnvironmentTests {
    @Test func `only what is read before main is part of the key`() {
        let one = PoolEnvironment(of: ["PATH=/bin", "EDITOR=vi", "LC_ALL=C", "SECRET=1"])
        let two = PoolEnvironment(of: ["LC_ALL=C", "SECRET=2", "PATH=/bin"])
        #expect(one == two)
        #expect(one.variables == ["LC_ALL=C", "PATH=/bin"])
    }

    @Test(arguments: [
        "LD_LIBRARY_PATH=/x", "LANG=de_DE.UTF-8", "LANGUAGE=de", "LC_TIME=C", "TZ=UTC", "TMPDIR=/x",
        "GLIBC_TUNABLES=x", "MALLOC_ARENA_MAX=1", "XDG_DATA_HOME=/x", "HOME=/x", "PATH=/x",
        "DESKTOP_STARTUP_ID=x",
    ])
    func `a different value of a variable read early makes a different key`(entry: String) {
        let base = PoolEnvironment(of: [])
        #expect(PoolEnvironment(of: [entry]).key != base.key)
        #expect(PoolEnvironment(of: [entry + "2"]).key != PoolEnvironment(of: [entry]).key)
    }

    @Test func `a manifest adds names to the key`() {
        let plain = PoolEnvironment(of: ["DISPLAY=:0"])
        let named = PoolEnvironment(of: ["DISPLAY=:0"], extraNames: ["DISPLAY"])
        #expect(plain.key != named.key)
    }

    @Test func `of a name given twice the first counts`() {
        #expect(
            PoolEnvironment(of: ["TZ=a", "TZ=b"]).key == PoolEnvironment(of: ["TZ=a"]).key)
    }

    @Test func `the boundary between entries is part of the key`() {
        #expect(
            PoolEnvironment(of: ["LC_A=x", "LC_B=y"]).key
                != PoolEnvironment(of: ["LC_A=xLC_B=y"]).key)
    }

    @Test func `a pool environment replaces that part of another and nothing else`() {
        let pool = PoolEnvironment(of: ["LANG=de", "PATH=/opt"])
        let whole = pool.overlaid(on: ["PATH=/bin", "USER=me", "LC_ALL=C"])
        #expect(whole == ["USER=me", "LANG=de", "PATH=/opt"])
        #expect(PoolEnvironment(of: whole) == pool)
    }
}
