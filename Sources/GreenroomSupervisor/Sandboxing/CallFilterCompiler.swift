internal import CSeccomp
internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest

/// Makes programs for seccomp(2) of the rules of `[Sandbox]`: one for `SystemCallFilter=`, one for
/// all the keys that forbid something in particular. The kernel does what the stricter one says.
///
/// Only the machine's own calls are allowed unless `SystemCallArchitectures=` says otherwise: a rule
/// about arguments does not hold for an architecture that passes them another way.
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
        // First what leaves all other calls alone: the last may forbid installing another.
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
        // Sorted: one manifest gives one program, whatever the run.
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
                    + "kept for programs of \(name); take it out of SystemCallArchitectures=")
        }
        return names.compactMap { numbers[$0] }
    }

    private func compile(
        _ otherwise: UInt32, _ architectures: [CInt], _ rules: [CallRule]
    ) throws(ConfinementPlan.Failure) -> [UInt8] {
        // What is to happen anyway is no rule.
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

    /// What the preload shim calls between exec and main, beside what every filter allows.
    private static let neededToPause = [
        "openat", "close", "read", "pread64", "readlinkat", "fstat", "newfstatat", "fcntl", "dup3",
        "recvmsg", "sendto", "prctl", "umask", "fchdir", "brk", "mmap", "munmap", "getpid",
        "clock_gettime", "exit_group",
    ]

    /// What it calls beside them to take a terminal, and for ^Z there.
    private static let neededForTerminal = ["ioctl", "pipe2", "clone"]

    /// The first of those that the filter forbids.
    var forbiddenToPause: String? { forbidden(of: Self.neededToPause) }

    /// A paused instance cannot take a terminal; the spawner gives a new one its own before the
    /// filter is in force.
    var forbiddenOnTerminal: String? { forbidden(of: Self.neededForTerminal) }

    private func forbidden(of names: [String]) -> String? {
        guard let filter = rules.filter else { return nil }
        return names.first { name in
            guard let action = filter.calls[name] else { return filter.isAllowList }
            return !filter.isAllowList || action.kills || action.errorNumber != nil
        }
    }
}

/// One rule of a program, as C is told of it.
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
        // The names one after the other; each rule says where its own begins.
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
