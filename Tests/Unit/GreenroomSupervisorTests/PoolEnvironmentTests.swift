import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

struct PoolEnvironmentTests {
    @Test func `only variables that are read before main are part of a pool environment`() {
        let one = PoolEnvironment(of: ["PATH=/bin", "EDITOR=vi", "LC_ALL=C", "SECRET=1"])
        let two = PoolEnvironment(of: ["LC_ALL=C", "SECRET=2", "PATH=/bin"])
        #expect(one == two)
        #expect(one.variables == ["LC_ALL=C", "PATH=/bin"])
    }

    @Test(arguments: [
        "LD_LIBRARY_PATH=/x", "LANG=de_DE.UTF-8", "LANGUAGE=de", "LC_TIME=C", "TZ=UTC", "TMPDIR=/x",
        "GLIBC_TUNABLES=x", "MALLOC_ARENA_MAX=1", "XDG_DATA_HOME=/x", "HOME=/x", "PATH=/x",
        "DESKTOP_AUTOSTART_ID=x", "__GL_SINGLETHREADED=1", "OMP_NUM_THREADS=1",
        "GFORTRAN_STDIN_UNIT=5",
        "GNUTLS_DEBUG_LEVEL=1", "P11_KIT_DEBUG=1", "OPENSSL_ia32cap=0", "ASAN_OPTIONS=x",
        "SWIFT_BACKTRACE=enable=no", "SWIFT_DETERMINISTIC_HASHING=1",
    ])
    func `a different value of a variable that is read early makes a different environment`(
        entry: String
    ) {
        let base = PoolEnvironment(of: [])
        #expect(PoolEnvironment(of: [entry]) != base)
        #expect(PoolEnvironment(of: [entry + "2"]) != PoolEnvironment(of: [entry]))
    }

    @Test(arguments: ["LD=1", "GCC_COLORS=x", "OMPI_x=1", "_=x", "A__GL=1", "PWD=/x", "DISPLAY=:0"])
    func `a variable with a similar name makes no difference`(entry: String) {
        #expect(PoolEnvironment(of: [entry]) == PoolEnvironment(of: []))
    }

    @Test(arguments: ["DESKTOP_STARTUP_ID=x", "XDG_ACTIVATION_TOKEN=x"])
    func `a value of one launch makes no difference, unless the manifest names it`(entry: String) {
        #expect(PoolEnvironment(of: [entry]) == PoolEnvironment(of: []))
        let names: Set = [String(entry.prefix { $0 != "=" })]
        #expect(PoolEnvironment(of: [entry], extraNames: names).variables == [entry])
    }

    @Test func `environments differ in the variables that have another value or none`() {
        let one = PoolEnvironment(of: ["LANG=de", "TZ=UTC", "PATH=/bin"])
        let other = PoolEnvironment(of: ["LANG=fr", "PATH=/bin", "LC_ALL=C"])
        #expect(one.differingNames(from: other) == ["LANG", "LC_ALL", "TZ"])
        #expect(one.differingNames(from: one).isEmpty)
    }

    @Test func `a manifest adds names to the pool environment`() {
        let plain = PoolEnvironment(of: ["DISPLAY=:0"])
        let named = PoolEnvironment(of: ["DISPLAY=:0"], extraNames: ["DISPLAY"])
        #expect(plain != named)
    }

    @Test func `the first value of a repeated name counts`() {
        #expect(
            PoolEnvironment(of: ["TZ=a", "TZ=b"]) == PoolEnvironment(of: ["TZ=a"]))
    }

    @Test func `the boundary between entries makes a difference`() {
        #expect(
            PoolEnvironment(of: ["LC_A=x", "LC_B=y"])
                != PoolEnvironment(of: ["LC_A=xLC_B=y"]))
    }

    @Test func `a pool environment replaces only its own variables in another environment`() {
        let pool = PoolEnvironment(of: ["LANG=de", "PATH=/opt"])
        let whole = pool.overlaid(on: ["PATH=/bin", "USER=me", "LC_ALL=C"])
        #expect(whole == ["USER=me", "LANG=de", "PATH=/opt"])
        #expect(PoolEnvironment(of: whole) == pool)
    }

    @Test
    func `everything counts for a program that pauses in its main loop, but its caller's shell`() {
        func whole(_ entries: String...) -> PoolEnvironment {
            PoolEnvironment(of: entries, isWhole: true)
        }
        #expect(whole("DISPLAY=:0") != whole("DISPLAY=:1"))
        #expect(whole("A=1") != whole())
        #expect(whole("A=1", "SHLVL=2", "_=x", "PWD=/", "DESKTOP_STARTUP_ID=y") == whole("A=1"))
    }

    @Test func `two Unicode forms of an accent make two environments`() {
        #expect(PoolEnvironment(of: ["PATH=/\u{e9}"]) != PoolEnvironment(of: ["PATH=/e\u{301}"]))
    }
}

extension PoolEnvironments {
    /// The key of an environment that instances can be paused with.
    fileprivate mutating func certainKey(
        for environment: PoolEnvironment, _ owner: Owner,
        own: (environment: PoolEnvironment, key: EnvironmentKey)
    ) -> EnvironmentKey {
        key(for: environment, owner, own: own)!
    }
}

struct PoolEnvironmentTableTests {
    private let own = PoolEnvironment(of: ["PATH=/bin"])
    private let other = PoolEnvironment(of: ["PATH=/bin", "LD_PRELOAD=/x"])
    private let third = PoolEnvironment(of: ["TZ=UTC"])
    private static let owner = PoolEnvironments.Owner(
        user: 1000, app: AppIdentifier("org.example.app"), hasOwnRights: false)

    private func owner(
        _ change: (inout PoolEnvironments.Owner) -> Void
    ) -> PoolEnvironments.Owner {
        var owner = Self.owner
        change(&owner)
        return owner
    }

    /// All environments have the same digest, so only comparing them distinguishes them.
    @Test func `environments with the same digest have different keys`() {
        var table = PoolEnvironments { _, _ in EnvironmentKey(7) }
        let own = (environment: own, key: EnvironmentKey(7))
        #expect(table.key(for: own.environment, Self.owner, own: own) == own.key)
        let second = table.certainKey(for: other, Self.owner, own: own)
        let third = table.certainKey(for: third, Self.owner, own: own)
        #expect(Set([own.key, second, third]).count == 3)
        #expect(table.key(for: other, Self.owner, own: own) == second)
        #expect(table[second, Self.owner] == other)
        #expect(table[third, Self.owner] == self.third)
    }

    @Test func `an environment is found only for its user and its app`() {
        var table = PoolEnvironments { _, _ in EnvironmentKey(7) }
        let own = (environment: own, key: EnvironmentKey(1))
        let key = table.certainKey(for: other, Self.owner, own: own)
        #expect(table[key, Self.owner] == other)
        #expect(table[key, owner { $0.user = 0 }] == nil)
        #expect(table[key, owner { $0.app = AppIdentifier("org.example.b") }] == nil)
        #expect(table[key, owner { $0.hasOwnRights = true }] == nil)
    }

    @Test func `an environment that no instance can be paused with gets no key`() {
        var table = PoolEnvironments { _, _ in EnvironmentKey(7) }
        let own = (environment: own, key: EnvironmentKey(1))
        let relative = PoolEnvironment(of: ["PATH=/bin", "LD_PRELOAD=./x"])
        #expect(table.key(for: relative, Self.owner, own: own) == nil)
        #expect(table.key(for: other, Self.owner, own: own) != nil)
    }

    @Test func `the least recently used environment of the same user is forgotten`() {
        let digest = KeyedDigest(secret: (1, 2))
        var table = PoolEnvironments(digest: digest)
        let own = (environment: own, key: EnvironmentKey(1))
        let theirs = table.certainKey(for: other, owner { $0.user = 0 }, own: own)
        let kept = table.certainKey(for: other, Self.owner, own: own)
        let first = table.certainKey(for: third, Self.owner, own: own)
        for number in 0..<PoolEnvironments.limitPerUser - 1 {
            _ = table.key(for: PoolEnvironment(of: ["TZ=\(number)"]), Self.owner, own: own)
            #expect(table.key(for: other, Self.owner, own: own) == kept)
        }
        #expect(table[first, Self.owner] == nil)
        #expect(table[kept, Self.owner] == other)
        #expect(table[theirs, owner { $0.user = 0 }] == other)
    }

    @Test func `the environments kept for one user have a limit in bytes`() {
        var table = PoolEnvironments(digest: KeyedDigest(secret: (1, 2)))
        let own = (environment: own, key: EnvironmentKey(1))
        let half = String(repeating: "x", count: PoolEnvironments.byteLimitPerUser / 2)
        let keys = ["a", "b", "c"].map {
            table.certainKey(
                for: PoolEnvironment(of: ["TZ=\($0)" + half]), Self.owner, own: own)
        }
        #expect(keys.map { table[$0, Self.owner] != nil } == [false, false, true])
    }
}

struct KeyedDigestTests {
    /// The example of the paper: key 00 to 0f, message 00 to 0e.
    @Test func `the digest is SipHash-2-4`() {
        var state = KeyedDigest.State((0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908))
        for byte in 0..<15 as Range<UInt8> { state.absorb(byte) }
        #expect(state.finished() == 0xa129_ca61_49be_45e5)
    }

    @Test func `the secret and the ends of the texts change the digest`() {
        let digest = KeyedDigest(secret: (1, 2))
        #expect(digest.digest(of: ["ab"]) == digest.digest(of: ["ab"]))
        #expect(digest.digest(of: ["ab"]) != digest.digest(of: ["a", "b"]))
        #expect(digest.digest(of: ["ab"]) != KeyedDigest(secret: (1, 3)).digest(of: ["ab"]))
    }
}

struct PrintableTextTests {
    @Test func `a printable text neither moves a terminal's cursor nor breaks a line`() {
        #expect(
            "a\u{1b}[2Jb\u{9b}31mc\u{85}d\u{7f}e\n\u{2028}\u{202e}f".printable(atMost: 100)
                == "a[2Jb31mcdef")
        #expect("späte Größe 名".printable(atMost: 100) == "späte Größe 名")
        #expect("abc".printable(atMost: 2) == "ab")
    }
}
