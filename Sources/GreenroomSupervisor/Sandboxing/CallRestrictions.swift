internal import CSeccomp
internal import Glibc
internal import GreenroomManifest

/// The keys of `[Sandbox]` that forbid something in particular, as rules on calls and their
/// arguments. Where systemd knows a way round a key, that is forbidden, too: io_uring(7), for
/// example, makes sockets and files without the calls.
struct CallRestrictions {
    private(set) var rules: [CallRule] = []

    private static func fail(_ code: Int32) -> UInt32 { 0x0005_0000 | UInt32(code) }
    private static let denied = fail(EPERM)
    /// The error of a kernel without the call, so that programs use an older call.
    private static let missing = fail(ENOSYS)

    init(_ sandbox: Sandbox) {
        let calls = sandbox.calls
        if let families = calls.addressFamilies { restrict(to: families) }
        if let allowed = calls.allowedNamespaces { restrictNamespaces(to: allowed) }
        if calls.restrictsRealtime { restrictRealtime() }
        if calls.restrictsSetuid { restrictSetuid() }
        if calls.locksPersonality { lockPersonality() }
        if calls.deniesWriteExecute { denyWriteExecute() }
        if calls.addressFamilies != nil || calls.restrictsSetuid { deny("io_uring_setup") }
        if sandbox.protectsHostname { deny("sethostname", "setdomainname") }
        if sandbox.protectsKernelModules { deny("init_module", "finit_module", "delete_module") }
        if sandbox.protectsKernelLogs { deny("syslog") }
        if sandbox.protectsClock {
            deny("adjtimex", "clock_adjtime", "clock_adjtime64", "clock_settime")
            deny("clock_settime64", "settimeofday")
        }
        if sandbox.hasPrivateDevices {
            deny("ioperm", "iopl", "pciconfig_iobase", "pciconfig_read", "pciconfig_write")
        }
    }

    private mutating func deny(_ names: String...) {
        for name in names { rules.append(CallRule(name, Self.denied)) }
    }

    // MARK: Comparisons. The upper halves of 32-bit arguments mean nothing, so they are masked.

    private static func equal(_ index: UInt32, _ value: UInt64) -> gr_argument {
        gr_argument(
            index: index, comparison: CInt(GR_MASKED.rawValue), value: 0xffff_ffff, masked: value)
    }

    private static func contains(_ index: UInt32, _ bits: UInt64) -> gr_argument {
        gr_argument(index: index, comparison: CInt(GR_MASKED.rawValue), value: bits, masked: bits)
    }

    private static func exceeds(_ index: UInt32, _ value: UInt64) -> gr_argument {
        gr_argument(index: index, comparison: CInt(GR_GREATER.rawValue), value: value, masked: 0)
    }

    // MARK: Keys

    /// Restricts only socket(2), because socketpair(2) makes AF_UNIX sockets alone
    /// (systemd.exec(5)).
    private mutating func restrict(to families: Sandbox.AddressFamilies) {
        let refusal = Self.fail(EAFNOSUPPORT)
        guard families.isAllowList else {
            for family in families.families.sorted() {
                rules.append(CallRule("socket", refusal, Self.equal(0, UInt64(family))))
            }
            return
        }
        guard let highest = families.families.max() else {
            rules.append(CallRule("socket", refusal))
            return
        }
        for family in 0..<highest where !families.families.contains(family) {
            rules.append(CallRule("socket", refusal, Self.equal(0, UInt64(family))))
        }
        rules.append(CallRule("socket", refusal, Self.exceeds(0, UInt64(highest))))
    }

    private mutating func restrictNamespaces(to allowed: UInt64) {
        let every: [UInt64] = [
            0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000,
            0x4000_0000,
        ]
        for bit in every where allowed & bit == 0 {
            rules.append(CallRule("unshare", Self.denied, Self.contains(0, bit)))
            rules.append(CallRule("setns", Self.denied, Self.contains(1, bit)))
            // In clone(2), CLONE_NEWTIME's bit is part of the signal's number.
            if bit != 0x80 {
                rules.append(CallRule("clone", Self.denied, Self.contains(0, bit)))
            }
        }
        // 0 means any namespace. The arguments of clone3(2) lie in memory, which no filter sees.
        rules.append(CallRule("setns", Self.denied, Self.equal(1, 0)))
        rules.append(CallRule("clone3", Self.missing))
    }

    /// Allows SCHED_OTHER 0, SCHED_BATCH 3 and SCHED_IDLE 5.
    private mutating func restrictRealtime() {
        for policy: UInt64 in [1, 2, 4] {
            rules.append(CallRule("sched_setscheduler", Self.denied, Self.equal(1, policy)))
        }
        rules.append(CallRule("sched_setscheduler", Self.denied, Self.exceeds(1, 5)))
        rules.append(CallRule("sched_setattr", Self.denied))
    }

    private mutating func restrictSetuid() {
        let modes: [(name: String, index: UInt32)] = [
            ("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("mkdir", 1),
            ("mkdirat", 2), ("mknod", 1), ("mknodat", 2), ("creat", 1),
        ]
        let opens: [(name: String, flags: UInt32)] = [("open", 1), ("openat", 2)]
        for bit: UInt64 in [0o4000, 0o2000] {
            for (name, index) in modes {
                rules.append(CallRule(name, Self.denied, Self.contains(index, bit)))
            }
            for (name, flags) in opens {
                for creates in [UInt64(O_CREAT), 0o20000000] {  // and __O_TMPFILE
                    rules.append(
                        CallRule(
                            name, Self.denied, Self.contains(flags, creates),
                            Self.contains(flags + 1, bit)))
                }
            }
        }
        rules.append(CallRule("openat2", Self.missing))
    }

    private mutating func lockPersonality() {
        rules.append(
            CallRule(
                "personality", Self.denied,
                gr_argument(
                    index: 0, comparison: CInt(GR_NOT_EQUAL.rawValue), value: gr_personality(),
                    masked: 0)))
    }

    private mutating func denyWriteExecute() {
        let write = UInt64(PROT_WRITE)
        let execute = UInt64(PROT_EXEC)
        rules.append(CallRule("mmap", Self.denied, Self.contains(2, write | execute)))
        rules.append(CallRule("mprotect", Self.denied, Self.contains(2, execute)))
        rules.append(CallRule("pkey_mprotect", Self.denied, Self.contains(2, execute)))
        rules.append(CallRule("shmat", Self.denied, Self.contains(2, 0o100000)))  // SHM_EXEC
        // With READ_IMPLIES_EXEC, every later mapping can be executed. A call with all bits set
        // only asks for the personality and is allowed. So there is a rule for each other bit that
        // is not set.
        let implies: UInt64 = 0x40_0000
        for bit in (0..<32).map({ UInt64(1) << $0 }) where bit != implies {
            rules.append(
                CallRule(
                    "personality", Self.denied,
                    gr_argument(
                        index: 0, comparison: CInt(GR_MASKED.rawValue), value: implies | bit,
                        masked: implies)))
        }
    }
}
