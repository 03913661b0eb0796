internal import GreenroomLinux
internal import GreenroomManifest

/// What each key of `[Sandbox]` means for the file system, in no order.
extension MountPlan {
    mutating func addProtection() {
        switch sandbox.protectsSystem {
        case .no: break
        case .yes: protect(["/usr", "/boot", "/efi"])
        case .full: protect(["/usr", "/boot", "/efi", "/etc"])
        case .strict:
            isStrict = true
            for path in ["/dev", "/proc", "/sys"] { imply(.readWrite, path) }
        }
        for home in ["/home", "/root", "/run/user"] {
            switch sandbox.protectsHome {
            case .no: break
            case .yes: imply(.hidden, home)
            case .readOnly: imply(.readOnly, home)
            case .tmpfs: imply(.temporary, home) { $0.isSealed = true }
            }
        }
        if sandbox.hasPrivateTmp {
            for path in ["/tmp", "/var/tmp"] { imply(.temporary, path) { $0.mode = "1777" } }
        }
    }

    mutating func addKernel() {
        if sandbox.protectsKernelTunables {
            let names = [
                "acpi", "apm", "asound", "bus", "fs", "irq", "latency_stats", "mtrr", "scsi", "sys",
                "sysrq-trigger", "timer_stats",
            ]
            protect(names.map { "/proc/" + $0 } + ["/sys"])
            for path in ["/proc/kallsyms", "/proc/kcore"] { imply(.hidden, path) }
            if !sandbox.protectsControlGroups { imply(.readWrite, "/sys/fs/cgroup") }
        }
        if sandbox.protectsControlGroups { protect(["/sys/fs/cgroup"]) }
        if sandbox.protectsKernelModules {
            for path in ["/usr/lib/modules", "/lib/modules"] { imply(.hidden, path) }
        }
        if sandbox.protectsKernelLogs {
            for path in ["/proc/kmsg", "/dev/kmsg"] { imply(.hidden, path) }
        }
    }

    mutating func addPaths() {
        func add(_ paths: [Sandbox.Path], _ meaning: Meaning) {
            for path in paths {
                entries.append(
                    Entry(
                        path: path.path, meaning: meaning, source: path.path,
                        attributes: meaning == .readOnly ? .readOnly : [],
                        isOptional: path.isOptional))
            }
        }
        add(sandbox.readOnlyPaths, .readOnly)
        add(sandbox.readWritePaths, .readWrite)
        add(sandbox.inaccessiblePaths, .hidden)
        add(sandbox.temporaryFileSystems, .temporary)
        for bind in sandbox.binds {
            entries.append(
                Entry(
                    path: bind.destination, meaning: .bound, source: bind.source,
                    attributes: bind.isReadOnly ? .readOnly : [], isOptional: bind.isOptional))
        }
    }

    /// Adds a /dev that has what programs need, and no hardware.
    mutating func addDevices() {
        imply(.temporary, "/dev") {
            $0.isSealed = true
            $0.attributes = .noExecution
            $0.isOptional = false
        }
        let names = [
            "null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue",
            "hugepages", "log",
        ]
        for name in names { imply(.bound, "/dev/" + name) }
    }

    private mutating func protect(_ paths: [String]) {
        for path in paths { imply(.readOnly, path) { $0.attributes = .readOnly } }
    }

    private mutating func imply(
        _ meaning: Meaning, _ path: String, _ change: (inout Entry) -> Void = { _ in }
    ) {
        var entry = Entry(
            path: path, meaning: meaning, source: path, isOptional: true, isImplied: true)
        if meaning == .readOnly { entry.attributes = .readOnly }
        change(&entry)
        entries.append(entry)
    }
}
