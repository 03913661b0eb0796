internal import CGreenroomLinux
internal import Glibc

extension Confinement {
    /// Calls `body` with the structure for C, which is valid only during the call.
    ///
    /// An ordinary user gets the namespaces inside a user namespace, as in systemd's user manager
    /// (PrivateUsers=). In it the process keeps its user's number, and the program has no
    /// privilege.
    func withRequest<Result>(
        _ body: (UnsafePointer<gr_confinement>) -> Result
    ) -> Result {
        let strings = MountStrings(mounts)
        return unsafe strings.withPointers { pointers in
            let steps = unsafe mounts.enumerated().map { index, mount in
                unsafe gr_mount(
                    kind: CInt(mount.kind.rawValue), optional: mount.isOptional,
                    late: mount.isLate, makes_target: mount.makesTarget,
                    no_links: mount.followsNoLinks, attributes: mount.attributes.rawValue,
                    target: pointers[2 * index],
                    source: pointers[2 * index + 1])
            }
            return unsafe steps.withUnsafeBufferPointer { steps in
                unsafe withFilters { filters in
                    var confinement = unsafe gr_confinement(
                        namespaces: namespaces.rawValue,
                        in_user_namespace: geteuid() != 0 && needsPrivilege,
                        has_bounding_set: capabilityBoundingSet != nil,
                        own_uid: geteuid(), own_gid: getegid(),
                        bounding_set: capabilityBoundingSet ?? 0, ambient: ambientCapabilities,
                        mounts: steps.baseAddress, mount_count: CInt(steps.count),
                        filter_count: CInt(filters.count), filters: filters.baseAddress)
                    return unsafe body(&confinement)
                }
            }
        }
    }

    private func withFilters<Result>(
        _ body: (UnsafeBufferPointer<gr_filter>) -> Result
    ) -> Result {
        // All filters are placed one after the other in one buffer, because a nested closure for
        // each would be no clearer.
        let bytes = filters.flatMap(\.self)
        return unsafe bytes.withUnsafeBytes { bytes in
            var start = 0
            let programs = unsafe filters.map { filter in
                defer { start += filter.count }
                return unsafe gr_filter(
                    program: bytes.baseAddress! + start, count: UInt16(filter.count / 8))
            }
            return unsafe programs.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}

/// The two paths of each mount, as C strings.
private struct MountStrings {
    private var bytes: [CChar] = []
    private var offsets: [Int] = []

    init(_ mounts: [Confinement.Mount]) {
        for mount in mounts {
            add(mount.target)
            add(mount.source)
        }
    }

    private mutating func add(_ text: String) {
        offsets.append(bytes.count)
        bytes.append(contentsOf: text.utf8.map { CChar(bitPattern: $0) })
        bytes.append(0)
    }

    func withPointers<Result>(_ body: ([UnsafePointer<CChar>]) -> Result) -> Result {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe body(offsets.map { unsafe buffer.baseAddress! + $0 })
        }
    }
}
