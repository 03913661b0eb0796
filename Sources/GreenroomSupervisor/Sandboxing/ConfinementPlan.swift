internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// `[Sandbox]` as settings of the kernel.
struct ConfinementPlan {
    struct Failure: Error, Hashable { let message: String }

    private let sandbox: Sandbox
    private let mounts: MountPlan

    init(_ sandbox: Sandbox) throws(Failure) {
        self.sandbox = sandbox
        do { mounts = try MountPlan(sandbox) } catch {
            throw Failure(message: "[Sandbox]: \(error.message)")
        }
    }

    /// Nil if the app is not confined.
    @LoopActor
    func confinement(_ compiled: CompiledFilters) throws(Failure) -> Confinement? {
        try checkAmbient()
        var confinement = Confinement()
        confinement.mounts = mounts.mounts
        if !mounts.mounts.isEmpty { confinement.namespaces.insert(.mount) }
        if sandbox.hasPrivateNetwork { confinement.namespaces.insert(.network) }
        if sandbox.protectsHostname { confinement.namespaces.insert(.hostName) }
        confinement.capabilityBoundingSet = boundingSet
        confinement.ambientCapabilities = sandbox.ambientCapabilities
        confinement.filters = try compiled.filters(of: sandbox)
        return confinement == Confinement() ? nil : confinement
    }

    private func checkAmbient() throws(Failure) {
        let ambient = sandbox.ambientCapabilities
        guard ambient & ~(boundingSet ?? .max) == 0 else {
            throw Failure(
                message:
                    "[Sandbox]: AmbientCapabilities= names a capability that another key takes "
                    + "away")
        }
        guard ambient == 0 || geteuid() == 0 else {
            throw Failure(
                message: "[Sandbox]: AmbientCapabilities= needs greenroomd to run as root")
        }
    }

    /// A key that forbids something also removes the capabilities for it (systemd.exec(5)).
    private var boundingSet: UInt64? {
        var set = sandbox.capabilityBoundingSet ?? .max
        func drop(_ isMeant: Bool, _ numbers: UInt64...) {
            if isMeant { for number in numbers { set &= ~(1 << number) } }
        }
        drop(sandbox.protectsKernelModules, 16)  // SYS_MODULE
        drop(sandbox.protectsKernelLogs, 34)  // SYSLOG
        drop(sandbox.protectsClock, 25, 35)  // SYS_TIME, WAKE_ALARM
        drop(sandbox.hasPrivateDevices, 17, 27)  // SYS_RAWIO, MKNOD
        return sandbox.capabilityBoundingSet == nil && set == .max ? nil : set
    }

    /// A call that the filter forbids and without which a paused instance cannot take a terminal.
    var forbiddenOnTerminal: String? { CallFilterCompiler(sandbox).forbiddenOnTerminal }

    /// Why no instance can be paused: the program would run its main instead of pausing, or would
    /// fail.
    func ineligibility(
        program files: [InspectedFile], shim: String?
    ) throws(Failure) -> InstalledApp.Ineligibility? {
        for file in files {
            switch mounts.view(of: file.path) {
            case .same: continue
            case .hidden(let path):
                throw Failure(
                    message: "[Sandbox]: \(file.path) is needed to run the app and lies in "
                        + "\(path), which its sandbox hides")
            case .other(let path):
                return .init(
                    code: "bound_program",
                    text: "what BindPaths= puts at \(path) cannot be inspected before it runs")
            }
        }
        // An SDK app pauses without the shim.
        guard let shim else { return nil }
        guard mounts.view(of: shim) == .same else {
            return .init(
                code: "hidden_shim",
                text: "its sandbox hides \(shim), the preload shim")
        }
        if let call = CallFilterCompiler(sandbox).forbiddenToPause {
            return .init(
                code: "filtered",
                text: "its SystemCallFilter= forbids \(call), which waiting before main needs")
        }
        return nil
    }
}
