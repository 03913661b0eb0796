@testable import GreenroomManifest
import Testing
import UnitFile

/// `[Sandbox]` and `[Resources]`, read as systemd reads them.
@Suite struct SandboxKeyTests {
    private func read(_ lines: String...) -> (manifest: AppManifest?, errors: [String]) {
        let text = "[App]\nExec=/bin/x\n" + lines.joined(separator: "\n")
        let (manifest, diagnostics) = AppManifest.parse(text, file: "org.x.y.app")
        return (manifest, diagnostics.map(\.description))
    }

    private func sandbox(_ lines: String...) throws -> Sandbox {
        let (manifest, errors) = read("[Sandbox]\n" + lines.joined(separator: "\n"))
        #expect(errors == [])
        return try #require(manifest).sandbox
    }

    @Test func `nothing is confined unless a key says so`() throws {
        let manifest = try #require(read().manifest)
        #expect(manifest.sandbox == Sandbox() && manifest.resources == Resources())
    }

    @Test func `a key's booleans and words mean what they mean to systemd`() throws {
        #expect(try sandbox("ProtectSystem=true").protectsSystem == .yes)
        #expect(try sandbox("ProtectSystem=strict").protectsSystem == .strict)
        #expect(try sandbox("ProtectHome=read-only").protectsHome == .readOnly)
        #expect(try sandbox("ProtectHome=off").protectsHome == .no)
    }

    @Test(
        arguments: [
            (["CAP_CHOWN"], 1),
            (["CAP_CHOWN cap_kill"], 1 | 1 << 5),
            (["CAP_CHOWN", "CAP_KILL"], 1 | 1 << 5),
            (["CAP_CHOWN CAP_KILL", "~CAP_KILL"], 1),
            (["~CAP_CHOWN"], ~1),
            (["CAP_CHOWN", ""], 0),
            ([""], 0),
            (["CAP_CHOWN", "~"], .max),
        ] as [([String], UInt64)])
    func `capabilities are merged line by line`(lines: [String], expected: UInt64) throws {
        let keys = lines.map { "CapabilityBoundingSet=" + $0 }.joined(separator: "\n")
        #expect(try sandbox(keys).capabilityBoundingSet == expected)
    }

    @Test(
        arguments: [
            (["CAP_CHOWN", "CAP_KILL"], 1 | 1 << 5),
            (["~CAP_CHOWN"], ~1),
            (["CAP_CHOWN CAP_KILL", ""], 0),
            (["CAP_KILL", "", "~CAP_CHOWN"], ~1),
            (["", "~CAP_CHOWN"], ~1),
            (["CAP_CHOWN", "~CAP_CHOWN", "~CAP_KILL"], ~(1 << 5)),
            (["CAP_CHOWN", "~", "~CAP_KILL"], ~(1 << 5)),
        ] as [([String], UInt64)])
    func `ambient capabilities that are empty so far are replaced by the next line`(
        lines: [String], expected: UInt64
    ) throws {
        let keys = lines.map { "AmbientCapabilities=" + $0 }.joined(separator: "\n")
        #expect(try sandbox(keys).ambientCapabilities == expected)
    }

    @Test func `a call filter's first line decides whether it allows or forbids`() throws {
        let allowed = try #require(
            try sandbox("SystemCallFilter=@io-event read:EPERM", "SystemCallFilter=~poll").calls
                .filter)
        #expect(allowed.isAllowList)
        #expect(allowed.calls["epoll_wait"] != nil && allowed.calls["execve"] != nil)
        #expect(allowed.calls["poll"] == nil)
        #expect(allowed.calls["read"]?.errorNumber == 1)
        let forbidden = try #require(
            try sandbox("SystemCallFilter=~@mount chroot:kill", "SystemCallFilter=umount2").calls
                .filter)
        #expect(!forbidden.isAllowList)
        #expect(forbidden.calls["mount"] != nil && forbidden.calls["umount2"] == nil)
        #expect(forbidden.calls["chroot"]?.kills == true)
        #expect(try sandbox("SystemCallFilter=read", "SystemCallFilter=").calls.filter == nil)
    }

    @Test func `namespaces and address families are lists of either kind`() throws {
        #expect(try sandbox("RestrictNamespaces=yes").calls.allowedNamespaces == 0)
        #expect(try sandbox("RestrictNamespaces=no").calls.allowedNamespaces == nil)
        #expect(try sandbox("RestrictNamespaces=user net").calls.allowedNamespaces == 0x5000_0000)
        let without = try sandbox("RestrictNamespaces=~user").calls.allowedNamespaces
        #expect(without.map { $0 & 0x1000_0000 } == 0 && without.map { $0 & 0x4000_0000 } != 0)
        let families = try sandbox("RestrictAddressFamilies=AF_UNIX AF_INET").calls
            .addressFamilies
        #expect(families == .init(isAllowList: true, families: [1, 2]))
        #expect(
            try sandbox("RestrictAddressFamilies=none").calls.addressFamilies
                == .init(isAllowList: true))
        #expect(
            try sandbox("RestrictAddressFamilies=~AF_INET").calls.addressFamilies
                == .init(isAllowList: false, families: [2]))
    }

    @Test func `paths and binds are read`() throws {
        let value = try sandbox(
            "ReadOnlyPaths=/a/./b/ -/c", "BindPaths=/x:/y -/z", "BindReadOnlyPaths=/q")
        #expect(
            value.readOnlyPaths == [
                .init(path: "/a/b", isOptional: false), .init(path: "/c", isOptional: true),
            ])
        #expect(
            value.binds == [
                .init(source: "/x", destination: "/y", isOptional: false, isReadOnly: false),
                .init(source: "/z", destination: "/z", isOptional: true, isReadOnly: false),
                .init(source: "/q", destination: "/q", isOptional: false, isReadOnly: true),
            ])
    }

    @Test func `resources are sizes and counts`() throws {
        let manifest = try #require(
            read("[Resources]", "MemoryMax=1G", "MemoryHigh=infinity", "TasksMax=8", "CPUWeight=50")
                .manifest)
        #expect(manifest.resources.memoryMax == 1 << 30 && manifest.resources.memoryHigh == .max)
        #expect(manifest.resources.tasksMax == 8 && manifest.resources.cpuWeight == 50)
    }

    @Test func `NoNewPrivileges= stays in [App]`() throws {
        #expect(read("NoNewPrivileges=yes").manifest?.sandbox.noNewPrivileges == true)
    }

    /// A warning would let the app run less confined than was meant.
    @Test(arguments: [
        ("[Sandbox]\nPrivateUsers=yes", "4:1: PrivateUsers=: not supported, so"),
        ("MemorySwapMax=1G", "3:1: MemorySwapMax=: not supported, so"),
        ("[Sandbox]\nProtectSytem=yes", "4:1: there is no key ProtectSytem= in [Sandbox]; did you"),
        ("ProtectSystem=yes", "3:1: ProtectSystem= belongs in [Sandbox], not in [App]"),
        ("[Sandbx]\nProtectSystem=yes", "3:2: unknown section [Sandbx]; ProtectSystem= belongs"),
        ("[Sandbox]\nProtectSystem=very", "4:15: ProtectSystem=: 'very' is not one of no, yes"),
        ("[Sandbox]\nCapabilityBoundingSet=CAP_KIL", "4:23: CapabilityBoundingSet=: 'CAP_KIL' is"),
        ("[Sandbox]\nSystemCallFilter=@mnt", "4:18: SystemCallFilter=: there is no group @mnt"),
        ("[Sandbox]\nSystemCallFilter=read:EFOO", "4:18: SystemCallFilter=: 'EFOO' is not an"),
        ("[Sandbox]\nReadOnlyPaths=a", "4:15: ReadOnlyPaths=: 'a' is not an absolute path"),
        ("[Sandbox]\nReadOnlyPaths=/a/../b", "4:15: ReadOnlyPaths=: '/a/../b' contains '..'"),
        ("[Sandbox]\nBindPaths=/a:/b:norbind", "4:11: BindPaths=: '/a:/b:norbind': write SOURCE"),
        ("[Resources]\nMemoryMax=10%", "4:11: MemoryMax=: a share of the memory is not supported"),
        ("[Resources]\nCPUWeight=0", "4:11: CPUWeight=: '0' is not a whole number"),
    ])
    func `a sandbox key that is not understood is an error`(lines: String, message: String) {
        let (manifest, errors) = read(lines)
        #expect(manifest == nil)
        #expect(errors.first?.hasPrefix("org.x.y.app:" + message) == true, "\(errors)")
    }
}
