import GreenroomControl
import GreenroomLinux

extension ExaminedMachine {
    /// Checks whether each instance can have its own cgroup, by which it is frozen, killed and
    /// accounted.
    func cgroupFindings() -> [Finding] {
        guard let mount = cgroupMount else {
            return [
                .warning(
                    "cgroup", "there is no cgroup v2 hierarchy; apps are suspended with SIGSTOP",
                    "boot with systemd.unified_cgroup_hierarchy=1, or mount -t cgroup2 none "
                        + "/sys/fs/cgroup")
            ]
        }
        var findings = featureFindings(mount)
        if case .success(let description) = daemon {
            let notes = description.degraded.filter { $0.code == "no_cgroups" }
            findings +=
                notes.map {
                    .warning(
                        "delegation", $0.text,
                        "run it as greenroom-spawner.service: Delegate=yes of "
                            + "greenroom-apps.service gives it a subtree")
                }
            if notes.isEmpty {
                findings.append(.good("delegation", "the spawner has cgroups of its own"))
                findings += controllerFindings(mount)
            }
        }
        return findings
    }

    private var cgroupMount: String? {
        guard let mounts = text(of: "/proc/self/mountinfo") else { return nil }
        do throws(SystemError) {
            return try CgroupLocation.mountPoint(mountinfo: mounts)
        } catch {
            return nil
        }
    }

    /// Checks the kernel's files, which exist only in cgroups below the root.
    private func featureFindings(_ mount: String) -> [Finding] {
        let child = names(in: mount)?.first { name in
            !name.hasPrefix(".") && status(of: "\(mount)/\(name)/cgroup.procs") != nil
        }
        guard let child else {
            return [.good("cgroup", "cgroup v2 is mounted at \(mount)")]
        }
        let missing = ["cgroup.freeze", "cgroup.kill"].filter {
            status(of: "\(mount)/\(child)/\($0)") == nil
        }
        if missing.isEmpty {
            return [.good("cgroup", "cgroup v2 at \(mount) can freeze and kill")]
        }
        return [
            .warning(
                "cgroup", "cgroups lack \(missing.joined(separator: " and "))",
                "run Linux 5.14 or newer (cgroup.freeze came with 5.2, cgroup.kill with 5.14)")
        ]
    }

    /// Checks the controllers, which the spawner enables for its instances in the cgroup of the
    /// unit beside its own.
    private func controllerFindings(_ mount: String) -> [Finding] {
        guard let process = surroundings?.spawnerProcessId,
            let membership = text(of: "/proc/\(process)/cgroup"),
            let path = CgroupLocation.path(in: membership),
            path.hasSuffix("/greenroom-spawner.service")
        else { return [] }
        let subtree = mount + path.directory + "/greenroom-apps.service"
        guard let enabled = text(of: subtree + "/cgroup.subtree_control") else { return [] }
        let names = enabled.trimmed.split(separator: " ")
        let missing = ["cpu", "memory", "pids"].filter { !names.contains(Substring($0)) }
        if missing.isEmpty {
            return [.good("controllers", "apps have cpu, memory and pids controllers")]
        }
        return [
            .warning(
                "controllers",
                "apps have no \(missing.joined(separator: ", ")) controller, so that its limits have no "
                    + "effect and its use is not counted",
                "see cgroup.controllers of \(subtree); systemd delegates them with "
                    + "Delegate=yes, and for a user's services with a drop-in for user@.service")
        ]
    }
}
