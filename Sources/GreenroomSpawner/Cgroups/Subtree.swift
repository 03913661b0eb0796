internal import Glibc
internal import GreenroomLinux

/// The part of the cgroup tree in which instances live, or why there is none.
enum Subtree {
    case cgroup(Cgroup, path: String, isOurs: Bool)
    case degraded(reason: String)

    /// Under systemd, the subtree is a delegated cgroup: that of the given unit, or our own.
    /// Otherwise it is a new cgroup below ours, so that spawners do not share one.
    ///
    /// - Parameters:
    ///   - isManaged: whether systemd executed us.
    ///   - unit: a unit whose cgroup is beside our own.
    static func prepare(isManaged: Bool, unit: String? = nil) -> Subtree {
        do {
            guard let own = try CgroupLocation.own() else {
                return .degraded(reason: "there is no cgroup v2 hierarchy; mount cgroup2")
            }
            if let unit, let slice = own.lastIndex(of: "/") {
                return try lent(own[...slice] + unit)
            }
            guard unsafe access(own + "/cgroup.procs", W_OK) == 0 else {
                return .degraded(
                    reason: "\(own) is not writable; run under systemd with Delegate=yes")
            }
            return isManaged ? try delegated(own) : try below(own)
        } catch {
            return .degraded(reason: "\(error)")
        }
    }

    /// The cgroup of another unit, which has no process of its own. No process must move out of the
    /// way for the instances, and our own cgroup stays as it is, so that our unit can be restarted.
    private static func lent(_ path: String) throws(SystemError) -> Subtree {
        guard unsafe access(path + "/cgroup.procs", W_OK) == 0 else {
            return .degraded(
                reason: "\(path) is not writable; start the unit that it belongs to")
        }
        let base = try Cgroup(path: path)
        try? base.enable(wanted(of: base))
        return .cgroup(base, path: path, isOurs: false)
    }

    /// Enables the controllers that the supervisor uses. That makes the unit's cgroup an inner one,
    /// which may hold no process, so we move to a leaf. (If instances survive such a unit, it
    /// cannot be restarted, because its main process has no cgroup to start in. So another unit's
    /// cgroup is better, see `lent`.)
    private static func delegated(_ own: String) throws(SystemError) -> Subtree {
        let base = try Cgroup(path: own)
        let wanted = try wanted(of: base)
        if !wanted.isEmpty {
            let leaf = try existingOrNew("spawner", in: base)
            try leaf.add(0)
            try base.enable(wanted)
        }
        return .cgroup(base, path: own, isOurs: false)
    }

    private static func wanted(of base: Cgroup) throws(SystemError) -> [String] {
        try base.controllers().filter { ["memory", "pids", "cpu"].contains($0) }
    }

    private static func below(_ own: String) throws(SystemError) -> Subtree {
        let name = "greenroom-\(getpid())"
        let base = try existingOrNew(name, in: try Cgroup(path: own))
        // Enables the controllers that our parent gives us. Only the children contain processes, so
        // none is in the way.
        try? base.enable(wanted(of: base))
        return .cgroup(base, path: own + "/" + name, isOurs: true)
    }

    private static func existingOrNew(
        _ name: String, in parent: Cgroup
    ) throws(SystemError) -> Cgroup {
        do {
            return try parent.createChild(name)
        } catch {
            guard error.code == EEXIST else { throw error }
            return try parent.child(name)
        }
    }

    var cgroup: Cgroup? {
        switch self {
        case .cgroup(let cgroup, _, _): cgroup
        case .degraded: nil
        }
    }

    var degradation: String? {
        switch self {
        case .cgroup: nil
        case .degraded(let reason): reason
        }
    }

    /// The names of the cgroups in the subtree.
    var names: [String] {
        guard case .cgroup(_, let path, _) = self else { return [] }
        return (try? FolderContents.names(in: path)) ?? []
    }

    /// Removes the cgroup that `prepare` made, if it is empty.
    func remove() {
        switch self {
        case .cgroup(_, let path, isOurs: true): _ = unsafe rmdir(path)
        case .cgroup(_, _, isOurs: false), .degraded: break
        }
    }

    /// A cgroup's name. It contains the app's name, for people who look at the tree, and the
    /// instance's number, which makes it unique.
    static func name(app: String, instance: UInt64) -> String {
        "\(name(app: app))-\(instance)"
    }

    static func name(app: String) -> String {
        let safe = app.utf8.prefix(180).map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        return "app-\(String(decoding: safe, as: UTF8.self))"
    }
}
