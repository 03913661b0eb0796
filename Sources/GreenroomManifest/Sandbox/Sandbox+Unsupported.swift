internal import UnitFile

/// Keys of systemd.exec(5), systemd.resource-control(5) and systemd.kill(5) that confine or limit a
/// service under systemd and are not supported here.
enum UnsupportedKeys {
    static func contains(_ key: String) -> Bool { names.contains(key[...]) }

    private static let names = Set(
        """
        AllowedCPUs AllowedMemoryNodes AppArmorProfile BPFProgram BlockIOAccounting \
        BlockIODeviceWeight BlockIOReadBandwidth BlockIOWeight BlockIOWriteBandwidth CPUAccounting \
        CPUAffinity CPUQuota CPUQuotaPeriodSec CPUSchedulingPolicy CPUSchedulingPriority \
        CPUSchedulingResetOnFork CPUShares CoredumpFilter DefaultMemoryLow DefaultMemoryMin \
        DelegateSubgroup Delegate DeviceAllow DevicePolicy DynamicUser ExecPaths \
        ExecSearchPath ExtensionDirectories ExtensionImages IOAccounting IODeviceLatencyTargetSec \
        IODeviceWeight IOReadBandwidthMax IOReadIOPSMax IOSchedulingClass IOSchedulingPriority \
        IOWeight IOWriteBandwidthMax IOWriteIOPSMax IPAccounting IPAddressAllow IPAddressDeny \
        IPCNamespacePath IPEgressFilterPath IPIngressFilterPath JoinsNamespaceOf \
        ManagedOOMMemoryPressure ManagedOOMMemoryPressureLimit ManagedOOMPreference \
        ManagedOOMSwap MemoryAccounting MemoryKSM MemoryLimit MemoryLow MemoryMin \
        MemorySwapMax MemoryZSwapMax MountAPIVFS MountFlags MountImages NUMAMask NUMAPolicy \
        NetworkNamespacePath NFTSet Nice NoExecPaths OOMScoreAdjust PAMName PrivateIPC \
        PrivateMounts PrivatePIDs PrivateUsers ProcSubset ProtectProc RemoveIPC \
        RestrictFileSystems RestrictNetworkInterfaces RootDirectory RootDirectoryStartOnly \
        RootEphemeral RootHash RootHashSignature RootImage RootImageOptions RootImagePolicy \
        RootVerity SELinuxContext SecureBits SetLoginEnvironment SmackProcessLabel \
        SocketBindAllow SocketBindDeny StartupAllowedCPUs StartupCPUWeight StartupIOWeight \
        StartupMemoryMax StartupMemoryHigh SystemCallLog TasksAccounting TimerSlackNSec
        """.split { $0 == " " || $0 == "\n" })
}

extension SectionReader {
    /// Refuses these keys in the sections in which somebody who knows systemd would write them.
    mutating func refuseUnsupported() {
        for section in unit.sections
        where [Sandbox.section, Resources.section, "App"].contains(section.name) {
            for assignment in section.assignments where UnsupportedKeys.contains(assignment.key) {
                refuse(
                    assignment, in: section.name,
                    "\(assignment.key)=: not supported, so the app is not run without it; "
                        + "remove the key, or run the app as a systemd service")
            }
        }
    }
}
