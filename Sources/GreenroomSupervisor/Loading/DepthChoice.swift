internal import GreenroomLinux
internal import GreenroomManifest

/// Chooses how far an app is prewarmed. A known interpreter, or a script of one, is paused after
/// the interpreter's boot, or before main if there is an objection to that. Any other program is
/// paused before main, with the libraries open that it opens after main. An app is held at its
/// first window only if its manifest asks for that, or if its manifest leaves the choice to the
/// daemon and a profile allows it.
extension InstalledApp.Depth {
    /// - Parameters:
    ///   - command: the words of the app's program.
    ///   - environment: the environment of instances whose caller brings none.
    ///   - profile: the profile that allows the app to be held at its first window.
    ///   - hasFilters: whether the app's system calls are filtered. What an interpreter calls when
    ///     it goes on, or starts anew, is not known.
    ///   - isOwnUser: whether instances run as the daemon's own user, who is not root.
    ///   - isRoot: whether instances run as root.
    init(
        of manifest: AppManifest, command: [String], _ facts: ExecutableFacts,
        environment: [String], _ hooks: RuntimeHooks, _ withholding: WithholdingLibrary,
        profile: Profile?, hasFilters: Bool, hasOwnMounts: Bool, isOwnUser: Bool, isRoot: Bool
    ) {
        self = .main
        guard manifest.kind != .applicationKit else { return }
        func holdAtWindow() {
            if isRoot {
                self = Self.without(.windowOfRoot, Self.libraries(facts))
                return
            }
            let isConfined = hasFilters || hasOwnMounts
            self = Self.window(manifest, facts, withholding, isConfined: isConfined, isOwnUser)
        }
        switch manifest.prewarm.depth {
        case .none, .main, .declared, .applicationMain: return
        case .libraries:
            self = Self.libraries(facts)
            return
        case .window:
            holdAtWindow()
            return
        case .auto where profile != nil:
            holdAtWindow()
            self.profile = profile?.file
            isHeldOnlyOnX11 = profile?.display == .x11
            return
        case .runtime, .auto: break
        }
        let isAsked = manifest.prewarm.depth == .runtime
        let script = manifest.prewarm.runtime == .none ? nil : RScript(facts)
        guard let runtime = Runtime(manifest.prewarm.runtime, facts) ?? script.map({ _ in .r })
        else {
            if let path = Self.frontEndOfR(facts) {
                self = .refused(.frontEndOfR(path))
            } else if isAsked {
                self = .refused(.noRuntime(facts.executable))
            } else {
                self = Self.libraries(facts)
            }
            return
        }
        if hasFilters {
            self = .refused(.filters(runtime))
            return
        }
        if let name = runtime.hindrance(in: environment) {
            self = .refused(.variable(name, runtime))
            return
        }
        let prefix = facts.argumentPrefix
        let words = prefix.map { $0 + command.dropFirst() } ?? command
        let parts: RuntimeCommand
        do throws(RuntimeCommand.Objection) {
            parts = try RuntimeCommand(words, of: runtime)
        } catch {
            self = .refused(.command(error, runtime))
            return
        }
        let files: [InspectedFile]
        do throws(RuntimeHooks.Objection) {
            files = try hooks.files(of: runtime, isOwnUser: isOwnUser)
        } catch {
            self = .refused(.hooks(error, runtime))
            return
        }
        self.init(
            start: RuntimeStart(
                runtime: runtime, command: parts, hooks: hooks.folder,
                imports: manifest.prewarm.imports,
                processName: script == nil ? Self.processName(facts) : nil,
                executable: script?.executable),
            files: files + (script?.files ?? []), scriptWords: prefix ?? [], objection: nil)
    }

    /// The path of Rscript(1) or R(1), if the program is one of them. Both execute other programs
    /// before R, and it is not known which R.
    private static func frontEndOfR(_ facts: ExecutableFacts) -> String? {
        [facts.executable, facts.path].first {
            let parts = $0.split(separator: "/")
            return parts.last == "Rscript" || parts.suffix(2).elementsEqual(["bin", "R"])
        }
    }

    /// musl initializes no library before main, so no library can be opened before that.
    private static func libraries(_ facts: ExecutableFacts) -> Self {
        let hasMusl = facts.files.contains { $0.role == .loader && $0.path.contains("/ld-musl-") }
        return hasMusl ? .main : .libraries
    }

    private static func window(
        _ manifest: AppManifest, _ facts: ExecutableFacts, _ withholding: WithholdingLibrary,
        isConfined: Bool, _ isOwnUser: Bool
    ) -> Self {
        var depth = libraries(facts)
        func without(_ objection: InstalledApp.Ineligibility) -> Self {
            Self.without(objection, depth)
        }
        if facts.argumentPrefix != nil || facts.files.contains(where: { $0.role == .wrapper }) {
            return without(.windowOfScript)
        }
        guard depth.opensLibraries else { return without(.windowWithMusl) }
        if isConfined { return without(.windowInSandbox) }
        if manifest.socket != nil || !manifest.credentials.isEmpty
            || manifest.readyCondition == .notify
        {
            return without(.windowOfService)
        }
        guard let file = withholding.file(isOwnUser: isOwnUser) else {
            return without(.noWithholding(withholding.path))
        }
        depth = Self(
            start: nil, opensLibraries: true, files: [file], scriptWords: [], objection: nil)
        depth.withholding = withholding.path
        return depth
    }

    /// The depth of an app whose window is not held: the app goes as far as it would otherwise.
    private static func without(_ objection: InstalledApp.Ineligibility, _ other: Self) -> Self {
        Self(
            start: nil, opensLibraries: other.opensLibraries, files: [], scriptWords: [],
            objection: objection)
    }

    private static func refused(_ objection: InstalledApp.Ineligibility) -> Self {
        Self(start: nil, files: [], scriptWords: [], objection: objection)
    }

    /// The name of a script's process, which the kernel takes from the file that was executed; nil
    /// if the interpreter itself is executed, directly or by `env`.
    private static func processName(_ facts: ExecutableFacts) -> String? {
        guard facts.argumentPrefix != nil, !facts.files.contains(where: { $0.role == .wrapper })
        else { return nil }
        return facts.path.split(separator: "/").last.map(String.init)
    }
}

/// Rscript(1) of the system. It executes a shell script, which executes R.
private struct RScript {
    /// The real path of R.
    let executable: String
    /// What is executed after Rscript itself, and what the shell script reads.
    let files: [InspectedFile]

    /// Nil if the program is another, or is not installed as a distribution does it.
    init?(_ facts: ExecutableFacts) {
        let folders = ["/usr/lib/R", "/usr/lib64/R"]
        guard facts.executable == "/usr/bin/Rscript",
            let folder = folders.first(where: { FileIdentity(path: $0 + "/bin/exec/R") != nil })
        else { return nil }
        executable = folder + "/bin/exec/R"
        files = ["bin/R", "bin/exec/R", "etc/ldpaths", "etc/Renviron", "etc/Rprofile.site"]
            .compactMap { name in
                let path = "\(folder)/\(name)"
                return FileIdentity(path: path).map { .init(role: .hook, path: path, identity: $0) }
            }
    }
}

extension Runtime {
    /// The interpreter that the manifest names, or that the executable is.
    fileprivate init?(_ wanted: AppManifest.Runtime, _ facts: ExecutableFacts) {
        switch wanted {
        case .none: return nil
        case .auto: self.init(executable: facts.executable)
        case .python: self = .python
        case .node: self = .node
        case .ruby: self = .ruby
        case .perl: self = .perl
        case .java: self = .java
        case .r: self = .r
        case .emacs: self = .emacs
        }
    }
}

extension InstalledApp.Ineligibility {
    fileprivate static let windowOfScript = Self(
        code: "window_script",
        text: "its first window is not prepared: a script's interpreter would run it")
    fileprivate static let windowWithMusl = Self(
        code: "window_musl",
        text: "its first window is not prepared: its C library is musl, and glibc is needed")
    fileprivate static let windowInSandbox = Self(
        code: "window_sandbox",
        text: "its first window is not prepared: its manifest filters system calls, or gives it "
            + "another view of the file system")
    fileprivate static let windowOfService = Self(
        code: "window_service",
        text: "its first window is not prepared: its manifest has sockets, credentials or "
            + "ReadyOn=notify, which a program gets when it begins")
    fileprivate static let windowOfRoot = Self(
        code: "window_root",
        text: "its first window is not prepared: it would run as root before anybody launches it, "
            + "and any client of its display can send it input; name another user with User=")
    fileprivate static func noWithholding(_ path: String) -> Self {
        Self(
            code: "no_withholding",
            text: "its first window is not prepared: \(path) is missing, damaged or closed to "
                + "other users")
    }

    fileprivate static func noRuntime(_ executable: String) -> Self {
        Self(
            code: "no_runtime",
            text:
                "it pauses before main: \(executable) is no interpreter that Greenroom knows; name "
                + "one with Runtime=")
    }

    fileprivate static func frontEndOfR(_ executable: String) -> Self {
        Self(
            code: "runtime_front_end",
            text:
                "it pauses before main: \(executable) and R itself start other programs when they "
                + "boot")
    }

    fileprivate static func filters(_ runtime: Runtime) -> Self {
        Self(
            code: "runtime_filters",
            text:
                "it pauses before main: its manifest filters system calls, and nobody knows which "
                + "\(runtime.title) needs to go on after its boot")
    }

    fileprivate static func variable(_ name: String, _ runtime: Runtime) -> Self {
        Self(
            code: "runtime_variable",
            text: "it pauses before main: with \(name) in its environment, \(runtime.title) would "
                + "boot differently than at a launch")
    }

    fileprivate static func command(
        _ objection: RuntimeCommand.Objection, _ runtime: Runtime
    ) -> Self {
        let reason =
            switch objection {
            case .option(let option):
                "\(runtime.title) cannot pause after its boot with the option \(option)"
            case .missing(let option):
                "\(runtime.title) can pause after its boot only with the option \(option)"
            case .noProgram:
                "\(runtime.title) can pause after its boot only with a command that names its program"
            case .relative(let path):
                "\(runtime.title) would look for \(path.isEmpty ? "an empty path" : path) in the "
                    + "directory of the prewarm"
            }
        return Self(code: "runtime_command", text: "it pauses before main: " + reason)
    }

    fileprivate static func hooks(_ objection: RuntimeHooks.Objection, _ runtime: Runtime) -> Self {
        let reason =
            switch objection {
            case .missing(let path):
                "\(path), with which \(runtime.title) pauses after its boot, is missing or damaged"
            case .closed(let path):
                "other users cannot read \(path), with which \(runtime.title) pauses after its "
                    + "boot; chmod a+rX \(path)"
            }
        return Self(code: "no_runtime_files", text: "it pauses before main: " + reason)
    }
}
