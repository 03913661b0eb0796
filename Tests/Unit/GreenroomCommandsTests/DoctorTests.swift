import ArgumentParser
import Glibc
@testable import GreenroomCommands
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import Testing
import Varlink
import VarlinkTestSupport

/// A machine where all is well until a test breaks something.
private struct FakeMachine: ExaminedMachine {
    var socketPath = SocketPath.system
    var program = "/usr/bin/greenroomctl"
    var user: UInt32 = 0
    var variables: [String: String] = [:]
    var daemon: Result<Control.Description, Failure> = {
        var description = Control.Description(version: Greenroomctl.version, processId: 7)
        description.surroundings = Control.Surroundings(
            runtimeDirectory: "/run/greenroom", configurationFile: "/etc/greenroom/greenroom.conf",
            appDirectories: ["/etc/greenroom/apps"],
            shimFile: "/usr/lib/greenroom/libgreenroom-prewarm.so",
            spawnerFile: "/usr/lib/greenroom/greenroom-spawner", spawnerProcessId: 8)
        return .success(description)
    }()
    var daemonProcess: Int32? = 7
    var refusedApps: [Control.AppSummary] = []
    var faults: [Control.ManifestFault] = []
    func reloadFaults(of files: [CheckedManifest]) -> [Control.ManifestFault] { faults }
    var files: [String: String] = [
        "/proc/sys/kernel/osrelease": "6.12.0\n",
        "/proc/pressure/memory": "some avg10=0.00\n",
        "/proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 none rw\n",
        "/proc/7/limits": "Max open files            65536      65536     files\n",
        "/proc/8/cgroup": "0::/system.slice/greenroom-spawner.service\n",
        "/sys/fs/cgroup/system.slice/greenroom-apps.service/cgroup.subtree_control":
            "cpu memory pids\n",
        "/sys/fs/cgroup/init.scope/cgroup.procs": "",
        "/sys/fs/cgroup/init.scope/cgroup.freeze": "0\n",
        "/sys/fs/cgroup/init.scope/cgroup.kill": "",
        "/proc/sys/fs/inotify/max_user_watches": "65536\n",
        "/usr/lib/greenroom/libgreenroom-prewarm.so":
            "\u{7F}ELF..............\u{3E}\0..greenroom-prewarm \(Greenroomctl.version)\0",
        "/usr/bin/greenroomctl": "\u{7F}ELF..............\u{3E}\0..",
        "/etc/greenroom/greenroom.conf": "[Greenroom]\nObserveGroups=adm\n",
        "/etc/greenroom/apps/a.b.app": "[App]\nExec=/bin/true\n",
    ]
    var closedFiles: Set<String> = []
    var socketMode: UInt32? = 0o666
    var links = ["/proc/7/exe": "/usr/lib/greenroom/greenroomd", "/proc/8/exe": "/x/spawner"]
    var missing: Set<KernelFeature> = []
    var units = "LoadState=loaded\nActiveState=active\nNeedDaemonReload=no\n"
    var loaderOutput = ""
    var spawnerVersion = "greenroom-spawner \(Greenroomctl.version)\n"
    var isWithSystemd = true

    func variable(_ name: String) -> String? { variables[name] }
    func bytes(of path: String) -> [UInt8]? { files[path].map { Array($0.utf8) } }
    func names(in directory: String) -> [String]? {
        let names = files.keys.filter { $0.hasPrefix(directory + "/") }
            .map { String($0.dropFirst(directory.count + 1).prefix { $0 != "/" }) }
        return names.isEmpty ? nil : Set(names).sorted()
    }
    func status(of path: String) -> PathStatus? {
        if path == socketPath { return socketMode.map { PathStatus(kind: .socket, mode: $0) } }
        if path == "/run/systemd/system", !isWithSystemd { return nil }
        let mode: UInt32 = closedFiles.contains(path) ? 0o700 : 0o755
        if files[path] != nil { return PathStatus(kind: .file, mode: mode) }
        let isDirectory = [
            "/run/systemd/system", "/run/greenroom", "/usr/lib/greenroom", "/usr/lib", "/usr",
        ]
        .contains(path)
        return isDirectory ? PathStatus(kind: .directory, mode: mode) : nil
    }
    var appDirectories: [String] { ["/etc/greenroom/apps"] }
    func installedManifests(
        in directories: [String]
    ) -> (files: [CheckedManifest], unreadable: [String]) {
        let paths = files.keys.filter { $0.hasSuffix(".app") }.sorted()
        return (
            paths.map { path in
                let (manifest, diagnostics) = AppManifest.parse(files[path]!, file: path)
                return CheckedManifest(manifest: manifest, diagnostics: diagnostics)
            }, []
        )
    }
    func link(at path: String) -> String? { links[path] }
    func hasGroup(_ name: String) -> Bool { name == "adm" }
    func has(_ feature: KernelFeature) -> Bool { !missing.contains(feature) }
    func run(_ words: [String]) -> (status: Int32, output: String)? {
        if words[0] == "systemctl" { return (0, units) }
        if words[0] == "env" { return (0, loaderOutput) }
        return (0, spawnerVersion)
    }
}

@Suite struct `The doctor` {
    /// What is wrong, the finding that reports it, and a word of the advice.
    private static let illnesses:
        [(String, Finding.Verdict, String, @Sendable (inout FakeMachine) -> Void)] =
            [
                ("kernel", .failure, "5.14", { $0.missing = [.pidfd] }),
                (
                    "manifests", .failure, "reload",
                    {
                        var app = Control.AppSummary(identifier: "a.b")
                        app.manifestFile = "/etc/greenroom/apps/a.b.app"
                        app.refusal = .init(code: "manifest_refused", text: "refused because x")
                        $0.refusedApps = [app]
                    }
                ),
                (
                    "daemon", .failure, "does not start",
                    {
                        $0.daemonProcess = 1
                        $0.daemon = .failure(.system(SystemError(code: ETIMEDOUT, call: "poll")))
                    }
                ),
                ("kernel", .warning, "5.14", { $0.missing = [.clone3] }),
                ("pressure", .warning, "psi=1", { $0.files["/proc/pressure/memory"] = nil }),
                ("cgroup", .warning, "cgroup2", { $0.files["/proc/self/mountinfo"] = "" }),
                (
                    "cgroup", .warning, "5.14",
                    {
                        $0.files["/sys/fs/cgroup/init.scope/cgroup.kill"] = nil
                    }
                ),
                (
                    "delegation", .warning, "Delegate=yes",
                    {
                        var description = Control.Description(
                            version: Greenroomctl.version, processId: 7)
                        description.degraded = [.init(code: "no_cgroups", text: "none is ours")]
                        $0.daemon = .success(description)
                    }
                ),
                (
                    "controllers", .warning, "Delegate=yes",
                    {
                        $0.files[
                            "/sys/fs/cgroup/system.slice/greenroom-apps.service/cgroup.subtree_control"
                        ] =
                            "pids\n"
                    }
                ),
                (
                    "descriptors", .warning, "LimitNOFILE",
                    {
                        $0.files["/proc/7/limits"] = "Max open files 1024 4096 files\n"
                    }
                ),
                (
                    "watches", .warning, "sysctl",
                    {
                        $0.files["/proc/sys/fs/inotify/max_user_watches"] = "100\n"
                    }
                ),
                (
                    "greenroomd.socket", .failure, "enable --now",
                    {
                        $0.units = "LoadState=loaded\nActiveState=inactive\n"
                    }
                ),
                (
                    "greenroomd.service", .failure, "journalctl",
                    {
                        $0.units = "LoadState=loaded\nActiveState=failed\nResult=signal\n"
                    }
                ),
                (
                    "greenroom-apps.service", .failure, "make install",
                    {
                        $0.units = "LoadState=not-found\nActiveState=inactive\n"
                    }
                ),
                ("greenroomd.service", .failure, "unmask", { $0.units = "LoadState=masked\n" }),
                (
                    "greenroomd.service", .warning, "daemon-reload",
                    {
                        $0.units = "LoadState=loaded\nActiveState=active\nNeedDaemonReload=yes\n"
                    }
                ),
                (
                    "daemon", .failure, "start greenroomd",
                    {
                        $0.daemon = .failure(
                            .unreachable(
                                path: $0.socketPath,
                                SystemError(code: ECONNREFUSED, call: "connect")))
                    }
                ),
                (
                    "spawner", .failure, "greenroom-spawner",
                    {
                        var description = Control.Description(
                            version: Greenroomctl.version, processId: 7)
                        description.surroundings = .init()
                        $0.daemon = .success(description)
                    }
                ),
                ("socket", .warning, "SocketMode", { $0.socketMode = 0o600 }),
                (
                    "version", .failure, "one build",
                    {
                        var description = Control.Description(version: "0.0.1", processId: 7)
                        description.surroundings = .init(spawnerProcessId: 8)
                        $0.daemon = .success(description)
                    }
                ),
                (
                    "version", .failure, "reload greenroom-spawner",
                    { $0.spawnerVersion = "greenroom-spawner 0.0.1\n" }
                ),
                (
                    "version", .warning, "restart",
                    { $0.links["/proc/7/exe"] = "/x/greenroomd (deleted)" }
                ),
                (
                    "version", .failure, "one build",
                    {
                        $0.files["/usr/lib/greenroom/libgreenroom-prewarm.so"] =
                            "\u{7F}ELF..............\u{3E}\0..greenroom-prewarm 0.0.1\0"
                    }
                ),
                (
                    "shim", .failure, "make install",
                    {
                        $0.files["/usr/lib/greenroom/libgreenroom-prewarm.so"] = nil
                    }
                ),
                (
                    "shim", .failure, "architecture",
                    {
                        $0.files["/usr/bin/greenroomctl"] = "\u{7F}ELF..............\u{28}\0.."
                    }
                ),
                ("shim", .failure, "on this machine", { $0.loaderOutput = "cannot be preloaded" }),
                ("shim", .failure, "chmod", { $0.closedFiles = ["/usr/lib/greenroom"] }),
                (
                    "configuration", .failure, "reload",
                    {
                        $0.files["/etc/greenroom/greenroom.conf"] = "[Greenroom]\nInstanceLimit=x\n"
                    }
                ),
                (
                    "configuration", .failure, "reload",
                    {
                        guard case .success(var description) = $0.daemon else { return }
                        description.degraded = [.init(code: "bad_configuration", text: "a pipe")]
                        $0.daemon = .success(description)
                    }
                ),
                (
                    "daemon", .warning, "restart",
                    {
                        guard case .success(var description) = $0.daemon else { return }
                        description.degraded = [.init(code: "no_state", text: "no room")]
                        $0.daemon = .success(description)
                    }
                ),
                (
                    "manifests", .failure, "reload",
                    {
                        $0.faults = [.init(file: "/x.app", line: 0, column: 0, message: "deaf")]
                    }
                ),
                (
                    "configuration", .warning, "groupadd",
                    {
                        $0.files["/etc/greenroom/greenroom.conf"] =
                            "[Greenroom]\nControlGroups=nobodys\n"
                    }
                ),
                (
                    "manifests", .failure, "reload",
                    {
                        $0.files["/etc/greenroom/apps/c.d.app"] = "[App]\nExec=relative/path\n"
                    }
                ),
                (
                    "manifests", .warning, "greenroom.app(5)",
                    {
                        $0.files["/etc/greenroom/apps/a.b.app"] = nil
                    }
                ),
            ]

    @Test func `the doctor finds nothing when all is well`() {
        let diagnosis = Diagnosis(FakeMachine())
        #expect(diagnosis.findings.filter { $0.verdict != .good } == [])
        #expect(diagnosis.isHealthy)
    }

    @Test(arguments: illnesses.indices) func `the doctor finds what is wrong`(index: Int) throws {
        let (code, verdict, remedy, damage) = Self.illnesses[index]
        var machine = FakeMachine()
        damage(&machine)
        let diagnosis = Diagnosis(machine)
        let finding = try #require(
            diagnosis.findings.first { $0.code == code && $0.verdict != .good })
        #expect(finding.verdict == verdict)
        #expect(finding.remedy?.contains(remedy) == true, "\(finding)")
        #expect(diagnosis.isHealthy == !diagnosis.findings.contains { $0.verdict == .failure })
    }

    @Test func `the doctor works without systemd and without a daemon`() {
        var machine = FakeMachine()
        machine.isWithSystemd = false
        machine.daemon = .failure(.disconnected)
        machine.daemonProcess = nil
        let findings = Diagnosis(machine).findings
        #expect(findings.contains { $0.code == "systemd" && $0.verdict == .warning })
        // The doctor looks where the files would be installed.
        #expect(findings.contains { $0.code == "shim" && $0.verdict == .good })
        #expect(findings.contains { $0.code == "manifests" && $0.verdict == .good })
    }

    @Test func `the doctor does not wait for a daemon that hangs`() throws {
        let daemon = try FakeDaemon { _, _ in .hold }
        let machine = Machine(socketPath: daemon.server.path, patience: 50)
        let finding = try #require(Diagnosis(machine).findings.first { $0.code == "daemon" })
        #expect(finding.verdict == .failure)
        #expect(finding.text.contains("does not answer"))
    }

    @Test func `the doctor reports in a form for humans and in a form for programs`() throws {
        let diagnosis = Diagnosis(findings: [
            .good("a", "good\u{1B}[2J"), .warning("b", "so so", "mend it"),
            .failure("c", "bad", "now"),
        ])
        #expect(
            diagnosis.report(.plain) == """
                good     good\\x1b[2J
                warning  so so
                         -> mend it
                FAILED   bad
                         -> now
                1 failed, 1 warning

                """)
        let json = try JSONValue(parsing: Report.json(diagnosis))
        #expect(json["healthy"] == .bool(false))
        #expect(Report.json(diagnosis).contains(#"{"code":"c","verdict":"failure","text":"bad""#))
    }

    @Test func `the doctor ends with 1 if something has failed, and with 0 for warnings`() throws {
        let doctor = try #require(try Greenroomctl.parseAsRoot(["doctor"]) as? Doctor)
        var machine = FakeMachine()
        #expect(doctor.execute(RecordedConsole(), machine) == .done)
        machine.missing = [.clone3]
        #expect(doctor.execute(RecordedConsole(), machine) == .done)
        machine.missing = [.pidfd]
        #expect(doctor.execute(RecordedConsole(), machine) == .failed)
    }
}
