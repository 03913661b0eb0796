extension ExaminedMachine {
    /// Checks the system calls that Greenroom makes, and the files that report memory pressure.
    func kernelFindings() -> [Finding] {
        let release = text(of: "/proc/sys/kernel/osrelease")?.trimmed ?? "unknown"
        let missing = KernelFeature.allCases.filter { !has($0) }
        var findings: [Finding] = []
        if missing.isEmpty {
            findings.append(
                .good("kernel", "the kernel (\(release)) has the calls that are needed"))
        }
        for feature in missing {
            let remedy =
                "run Linux 5.14 or newer; in a container, let its seccomp filter pass \(feature.rawValue)"
            switch feature {
            case .pidfd, .memfd:
                findings.append(
                    .failure("kernel", "the kernel (\(release)) lacks \(feature.rawValue)", remedy))
            case .clone3, .closeRange:
                findings.append(
                    .warning(
                        "kernel",
                        "the kernel (\(release)) lacks \(feature.rawValue); launches take longer",
                        remedy))
            }
        }
        return findings + [pressureFinding]
    }

    private var pressureFinding: Finding {
        guard text(of: "/proc/pressure/memory") != nil else {
            return .warning(
                "pressure", "the kernel does not report memory pressure (PSI)",
                "boot with psi=1, on a kernel with CONFIG_PSI; until then nothing is reclaimed in time"
            )
        }
        return .good("pressure", "the kernel reports memory pressure")
    }

    /// Checks the daemon's limit on descriptors, and the limit on watches of files.
    func limitFindings() -> [Finding] {
        var findings: [Finding] = []
        if let process = daemonProcess, let limits = text(of: "/proc/\(process)/limits"),
            let soft = Self.openFiles(in: limits)
        {
            findings.append(
                soft >= 4096
                    ? .good("descriptors", "greenroomd may open \(soft) files")
                    : .warning(
                        "descriptors",
                        "greenroomd may open only \(soft) files: an instance needs about three, a client one",
                        "set LimitNOFILE=65536 in greenroomd.service (\(systemctl) edit greenroomd), "
                            + "or \"ulimit -n\" before starting it"))
        }
        let watches = "/proc/sys/fs/inotify/max_user_watches"
        if let text = text(of: watches)?.trimmed, let count = Int(text), count < 8192 {
            findings.append(
                .warning(
                    "watches", "the kernel lets a user watch only \(count) files",
                    "set fs.inotify.max_user_watches=65536 in /etc/sysctl.d, then \"sysctl --system\""
                ))
        }
        return findings
    }

    /// Reads a line of proc_pid_limits(5): "Max open files 1024 524288 files".
    private static func openFiles(in limits: String) -> Int? {
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        let fields = line?.dropFirst("Max open files".count).split(separator: " ")
        return fields?.first.flatMap { $0 == "unlimited" ? .max : Int($0) }
    }
}

extension String {
    /// The text without white space at its ends.
    var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
