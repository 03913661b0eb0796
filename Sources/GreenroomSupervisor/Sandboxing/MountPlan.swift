internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest

/// The file system that an app sees: what `[Sandbox]` says about it, in the order in which it has
/// to be mounted.
///
/// Parents come before children, whatever the manifest's order. If several keys are about one path,
/// the most confining one holds, as in systemd: inaccessible, bound, empty, read-only, read-write.
struct MountPlan {
    /// The keys contradict each other; the message says which.
    struct Contradiction: Error, Hashable { let message: String }

    enum Meaning: Int {
        case hidden, bound, temporary, readOnly, readWrite
    }

    struct Entry {
        var path: String
        var meaning: Meaning
        var source: String
        var mode = "755"
        var attributes: Confinement.MountAttributes = []
        var isOptional = false
        /// Whether the entry follows from another key. It may then be left out where it has no
        /// meaning.
        var isImplied = false
        /// Whether the file system in memory becomes read-only once it is furnished.
        var isSealed = false
        /// Whether one of the two paths is in a stranger's folder, where that user can put a link
        /// at any time.
        var isStrangers = false
    }

    /// What each key says, on its own (MountPlan+Keys.swift).
    var entries: [Entry] = []
    /// Whether everything that no entry is about is read-only.
    var isStrict = false
    let sandbox: Sandbox

    /// The mounts in the order in which they are made; empty if the app sees what everybody sees.
    private(set) var mounts: [Confinement.Mount] = []

    init(_ sandbox: Sandbox) throws(Contradiction) {
        self.sandbox = sandbox
        addProtection()
        addKernel()
        addPaths()
        if sandbox.hasPrivateDevices { addDevices() }
        // Links are followed first, so that the names tell which path lies in which.
        for index in entries.indices { try entries[index].resolve() }
        try arrange()
    }

    // MARK: Order

    private mutating func arrange() throws(Contradiction) {
        entries.sort { ($0.path, $0.meaning.rawValue) < ($1.path, $1.meaning.rawValue) }
        var kept: [Entry] = []
        for entry in entries where kept.last?.path != entry.path { kept.append(entry) }
        if entries.contains(where: { $0.path == "/" }) { try refuseRoot() }
        entries = kept
        if isStrict { mounts.append(.init(.attributes, at: "/", attributes: .readOnly)) }
        var seals: [Confinement.Mount] = []
        for entry in kept {
            try place(entry)
            if sandbox.hasPrivateDevices, entry.path == "/dev", entry.meaning == .temporary {
                for (name, file) in [
                    ("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2"),
                ] {
                    mounts.append(
                        .init(.symbolicLink, at: "/dev/" + name, source: "/proc/self/fd" + file))
                }
            }
            if entry.isSealed {
                var seal = Confinement.Mount(
                    .attributes, at: entry.path, attributes: .readOnly)
                seal.isOptional = entry.isOptional
                seal.isLate = true
                seals.append(seal)
            }
        }
        mounts += seals
        guard mounts.count <= Confinement.mountLimit else {
            throw Contradiction(message: "more paths than \(Confinement.mountLimit) mounts hold")
        }
    }

    private func refuseRoot() throws(Contradiction) {
        throw Contradiction(
            message: "a path is /, which cannot be mounted over; ProtectSystem=strict makes "
                + "everything read-only")
    }

    /// The nearest entry above a path.
    private func ground(of path: String) -> Entry? {
        entries.filter { Self.isBelow(path, $0.path) }.max {
            $0.path.utf8.count < $1.path.utf8.count
        }
    }

    static func isBelow(_ path: String, _ parent: String) -> Bool {
        path.hasPrefix(parent + "/")
    }

    private mutating func place(_ entry: Entry) throws(Contradiction) {
        // A read-only or read-write entry does not change what lies there: the entry above counts.
        var ground = ground(of: entry.path)
        while let entry = ground, entry.meaning == .readOnly || entry.meaning == .readWrite {
            ground = self.ground(of: entry.path)
        }
        switch (entry.meaning, ground?.meaning) {
        case (.hidden, .hidden), (.hidden, .temporary), (.temporary, .hidden):
            return  // It is hidden already.
        case (.readOnly, .hidden), (.readOnly, .temporary), (.readWrite, .hidden),
            (.readWrite, .temporary), (.bound, .hidden):
            if entry.isImplied || entry.isOptional { return }
            throw Contradiction(
                message: "\(entry.path) lies in \(ground?.path ?? "/"), which is hidden; "
                    + "use TemporaryFileSystem= there, and BindPaths= for what the app may see")
        case (.readWrite, .bound):
            if entry.isImplied { return }
            throw Contradiction(
                message: "ReadWritePaths=\(entry.path) lies in a destination of BindPaths=; use "
                    + "another bind for it")
        case (.bound, .temporary): furnish(entry, in: ground?.path ?? "/")
        case (_, .bound): mounts.append(mount(entry, isLate: entry.meaning != .bound))
        default: mounts.append(mount(entry, isLate: false))
        }
    }

    /// Places an entry in an empty file system; the folders on the way are made first.
    private mutating func furnish(_ entry: Entry, in ground: String) {
        let isStrangers = entry.isStrangers || self.ground(of: entry.path)?.isStrangers == true
        let parts = entry.path.dropFirst(ground.utf8.count + 1).split(separator: "/")
        var path = ground
        for part in parts.dropLast() {
            path += "/" + part
            guard !mounts.contains(where: { $0.target == path }) else { continue }
            var folder = Confinement.Mount(.directory, at: path)
            folder.followsNoLinks = isStrangers
            mounts.append(folder)
        }
        var mount = mount(entry, isLate: false)
        mount.makesTarget = true
        mount.followsNoLinks = isStrangers
        mounts.append(mount)
    }

    private func mount(_ entry: Entry, isLate: Bool) -> Confinement.Mount {
        var mount: Confinement.Mount
        switch entry.meaning {
        case .hidden: mount = .init(.hidden, at: entry.path)
        case .temporary:
            mount = .init(
                .temporary, at: entry.path, source: entry.mode,
                attributes: [.noSetuid, .noDevices])
        case .bound, .readOnly, .readWrite:
            mount = .init(.bind, at: entry.path, source: entry.source)
        }
        mount.attributes.formUnion(entry.attributes)
        mount.isOptional = entry.isOptional
        mount.isLate = isLate
        mount.followsNoLinks = entry.isStrangers
        return mount
    }
}

extension MountPlan {
    /// What an app with this plan finds at a path that exists outside.
    enum View: Hashable {
        case same
        /// Nothing, because of what lies there.
        case hidden(by: String)
        /// Another file than outside.
        case other(by: String)
    }

    func view(of path: String) -> View {
        let path = Self.real(path)
        let above = entries.filter { $0.path == path || Self.isBelow(path, $0.path) }
            .filter { $0.meaning != .readOnly && $0.meaning != .readWrite }
        guard let nearest = above.max(by: { $0.path.utf8.count < $1.path.utf8.count }) else {
            return .same
        }
        switch nearest.meaning {
        case .hidden, .temporary: return .hidden(by: nearest.path)
        case .bound:
            return Self.real(nearest.source) == nearest.path ? .same : .other(by: nearest.path)
        case .readOnly, .readWrite: return .same
        }
    }

    /// The path without links; the path as it is if that cannot be found out.
    private static func real(_ path: String) -> String { PathOwners.realPath(of: path) ?? path }
}

extension MountPlan.Entry {
    /// Follows the links of both paths. The spawner mounts with all rights, so a user who can change
    /// where a path leads could have anything mounted, or have something mounted anywhere: over
    /// /etc, for a set-user-ID program to read.
    fileprivate mutating func resolve() throws(MountPlan.Contradiction) {
        do throws(PathOwners.Objection) {
            let target = try PathOwners.mountDestination(of: path)
            let source = source == path ? target : try PathOwners.mountDestination(of: source)
            path = target.path
            isStrangers = target.isStrangers || source.isStrangers
            // A link of root's may lead elsewhere when the app is launched.
            if isStrangers { self.source = source.path }
        } catch {
            if isImplied { return }
            throw .init(message: error.description)
        }
    }
}
