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
        "DESKTOP_STARTUP_ID=x", "__GL_SINGLETHREADED=1", "OMP_NUM_THREADS=1",
        "GFORTRAN_STDIN_UNIT=5",
        "GNUTLS_DEBUG_LEVEL=1", "P11_KIT_DEBUG=1", "OPENSSL_ia32cap=0", "ASAN_OPTIONS=x",
        "SWIFT_BACKTRACE=enable=no", "SWIFT_DETERMINISTIC_HASHING=1",
    ])
    func `a different value of a variable read early makes a different key`(entry: String) {
        let base = PoolEnvironment(of: [])
        #expect(PoolEnvironment(of: [entry]).key != base.key)
        #expect(PoolEnvironment(of: [entry + "2"]).key != PoolEnvironment(of: [entry]).key)
    }

    @Test(arguments: ["LD=1", "GCC_COLORS=x", "OMPI_x=1", "_=x", "A__GL=1", "PWD=/x", "DISPLAY=:0"])
    func `what only looks like one makes no difference`(entry: String) {
        #expect(PoolEnvironment(of: [entry]).key == PoolEnvironment(of: []).key)
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
