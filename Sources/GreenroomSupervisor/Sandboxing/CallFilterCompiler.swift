internal import CSeccomp
internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest

/// Makes programs for seccomp(2) from the rules of `[Sandbox]`: one for `SystemCallFilter=`, and
/// one for all keys that forbid something in particular. The kernel obeys the stricter one.
///
/// Only the machine's own calls are allowed unless `SystemCallArchitectures=` says otherwise: a
/// rule about arguments does not hold on an architecture that passes arguments in another way.
struct CallFilterCompiler {
    private let sandbox: Sandbox
    private var rules: Sandbox.CallRules { sandbox.calls }

    init(_ sandbox: Sandbox) { self.sandbox = sandbox }

    // SECCOMP_RET_* (seccomp(2))
    private static let kill: UInt32 = 0x8000_0000
    private static let allow: UInt32 = 0x7fff_0000
    private static func fail(_ code: Int32) -> UInt32 { 0x0005_0000 | UInt32(code) }

    func compile() throws(ConfinementPlan.Failure) -> [[UInt8]] {
        let architectures = try architectures()
        let restrictions = CallRestrictions(sandbox).rules
        var programs: [[UInt8]] = []
        // The program that leaves all other calls alone comes first, because the last one may
        // forbid installing another.
        if !restrictions.isEmpty || rules.architectures != nil {
            programs.append(try compile(Self.allow, architectures, restrictions))
        }
        if let filter = rules.filter {
            let otherwise = rules.errorNumber.map(Self.fail) ?? Self.kill
            programs.append(
                try compile(
                    filter.isAllowList ? otherwise : Self.allow, architectures,
                    listed(filter, otherwise)))
        }
        return programs
    }

    private func listed(_ filter: Sandbox.CallFilter, _ otherwise: UInt32) -> [CallRule] {
        let usual = filter.isAllowList ? Self.allow : otherwise
        // Sorted, so that a manifest gives the same program in every run.
        return filter.calls.sorted { $0.key < $1.key }.map { name, action in
            let own = action.kills ? Self.kill : action.errorNumber.map(Self.fail)
            return CallRule(name, own ?? usual, mustExist: action.isExplicit)
        }
    }

    private func architectures() throws(ConfinementPlan.Failure) -> [CInt] {
        let numbers: [String: CInt] = [
            "native": 0, "x86": 1, "x86-64": 2, "x32": 3, "arm": 4, "arm64": 5,
        ]
        let names = rules.architectures ?? []
        let reads = rules.addressFamilies != nil || rules.deniesWriteExecute
        if reads, let name = names.first(where: { $0 == "x86" || $0 == "arm" }) {
            throw .init(
                message:
                    "[Sandbox]: RestrictAddressFamilies= and MemoryDenyWriteExecute= cannot be "
                    + "enforced for programs of \(name); take it out of SystemCallArchitectures=")
        }
        return names.compactMap { numbers[$0] }
    }

    private func compile(
        _ otherwise: UInt32, _ architectures: [CInt], _ rules: [CallRule]
    ) throws(ConfinementPlan.Failure) -> [UInt8] {
        // A rule for what happens anyway is left out.
        let rules = rules.filter { $0.action != otherwise }
        let result = unsafe CallRule.withC(rules) { rules in
            unsafe architectures.withUnsafeBufferPointer { architectures in
                unsafe gr_compile_filter(
                    otherwise, architectures.baseAddress, CInt(architectures.count),
                    rules.baseAddress, CInt(rules.count))
            }
        }
        guard result.error == 0 else {
            throw failure(result.error, result.rule < 0 ? nil : rules[Int(result.rule)].name)
        }
        do throws(SystemError) {
            return try FileDescriptor(owning: result.fd).readBytes(
                atMost: Confinement.filterByteLimit)
        } catch {
            throw .init(message: "[Sandbox]: the system call filter: \(error)")
        }
    }

    private func failure(_ code: CInt, _ name: String?) -> ConfinementPlan.Failure {
        switch (code, name) {
        case (ENOPKG, _):
            .init(
                message: "[Sandbox]: libseccomp.so.2 is missing, which filters of system calls "
                    + "need; install libseccomp2")
        case (ENOENT, let name?):
            .init(message: "SystemCallFilter=: there is no system call '\(name)'")
        default:
            .init(
                message: "[Sandbox]: the system call filter\(name.map { ", at " + $0 } ?? ""): "
                    + SystemError.text(of: code))
        }
    }

    /// The calls that the preload shim makes between exec and main, in addition to those that every
    /// filter allows.
    private static let neededToPause = [
        "openat", "close", "read", "pread64", "readlinkat", "fstat", "newfstatat", "fcntl", "dup3",
        "recvmsg", "sendto", "prctl", "umask", "fchdir", "brk", "mmap", "munmap", "getpid",
        "clock_gettime", "exit_group",
    ]

    /// The calls that the shim makes in addition to these, to take a terminal and for ^Z there.
    private static let neededForTerminal = ["ioctl", "pipe2", "clone"]

    /// The first of the calls needed to pause that the filter forbids.
    var forbiddenToPause: String? { forbidden(of: Self.neededToPause) }

    /// The first of the calls needed on a terminal that the filter forbids. Then a paused instance
    /// cannot take a terminal; a new one is given its terminal by the spawner before the filter is
    /// in force.
    var forbiddenOnTerminal: String? { forbidden(of: Self.neededForTerminal) }

    private func forbidden(of names: [String]) -> String? {
        guard let filter = rules.filter else { return nil }
        return names.first { name in
            guard let action = filter.calls[name] else { return filter.isAllowList }
            return !filter.isAllowList || action.kills || action.errorNumber != nil
        }
    }
}

/// One rule of a program, in the form that C is given.
struct CallRule {
    var name: String
    var action: UInt32
    var mustExist = false
    var arguments: [gr_argument] = []

    init(
        _ name: String, _ action: UInt32, mustExist: Bool = false, _ arguments: gr_argument...
    ) {
        self.name = name
        self.action = action
        self.mustExist = mustExist
        self.arguments = arguments
    }

    static func withC<Result>(
        _ rules: [CallRule], _ body: (UnsafeBufferPointer<gr_rule>) -> Result
    ) -> Result {
        // The names follow each other in one buffer; each rule has the offset of its own.
        var bytes: [CChar] = []
        let offsets = rules.map { rule in
            defer { bytes += rule.name.utf8.map { CChar(bitPattern: $0) } + [0] }
            return bytes.count
        }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            let converted = unsafe zip(rules, offsets).map { rule, offset in
                unsafe gr_rule(
                    name: bytes.baseAddress! + offset, action: rule.action,
                    must_exist: rule.mustExist, argument_count: CInt(rule.arguments.count),
                    arguments: (rule.argument(0), rule.argument(1), gr_argument()))
            }
            return unsafe converted.withUnsafeBufferPointer { unsafe body($0) }
        }
    }

    private func argument(_ index: Int) -> gr_argument {
        index < arguments.count ? arguments[index] : gr_argument()
    }
}
