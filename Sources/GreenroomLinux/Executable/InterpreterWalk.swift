internal import Glibc

/// Follows a command to the executable that will run, one interpreter per step, as the kernel and
/// `env` do, and records each file on the way.
struct InterpreterWalk {
    private(set) var facts: ExecutableFacts
    private let searchPath: String
    private var current: String
    private var steps = 0

    init(_ path: String, searchPath: String) {
        self.searchPath = searchPath
        current = path
        facts = ExecutableFacts(
            path: path, files: [], executable: path, argumentPrefix: nil, eligibility: .eligible)
    }

    /// Inspects the current file. Returns true if another one follows.
    mutating func step() throws(ExecutableError) -> Bool {
        let file: ExecutableFile
        do {
            file = try ExecutableFile(path: current)
        } catch {
            switch error {
            case .missing: throw .notFound(name: current, searchPath: nil)
            case .unreadable:
                if let identity = FileIdentity(path: current) {
                    facts.files.append(
                        InspectedFile(role: .executable, path: current, identity: identity))
                }
                return end(.unreadable)
            }
        }
        let line: ScriptLine
        do {
            line = try ScriptLine(file.bytes(at: 0, upTo: ScriptLine.byteLimit))
        } catch {
            switch error {
            case .notAScript: return end(at: file)
            case .bad: throw .badFirstLine(script: current)
            }
        }
        facts.files.append(InspectedFile(role: .script, path: current, identity: file.identity))
        return try enter(line)
    }

    /// Moves on from a script to its interpreter, or from `env` to the command that it runs.
    private mutating func enter(_ line: ScriptLine) throws(ExecutableError) -> Bool {
        steps += 1
        guard steps <= ExecutableInspection.interpreterLimit else {
            throw .tooManyInterpreters(path: facts.path)
        }
        let script = current
        let tail = [script] + (facts.argumentPrefix?.dropFirst() ?? [])
        // The kernel would interpret the path relative to the caller's directory; it uses no search
        // path.
        guard line.interpreter.hasPrefix("/") else { return end(.relativePath) }
        current = try findInterpreter(line.interpreter, of: script)
        guard ExecutableInspection.isEnv(current) else {
            facts.argumentPrefix = [line.interpreter] + (line.argument.map { [$0] } ?? []) + tail
            return true
        }
        if let identity = FileIdentity(path: current) {
            facts.files.append(InspectedFile(role: .wrapper, path: current, identity: identity))
        }
        guard let env = EnvLine(line.argument) else { return end(.wrapperNotUnderstood) }
        guard env.isFound(alikeFromEverywhere: searchPath) else { return end(.relativePath) }
        current = try findInterpreter(env.command[0], of: script)
        facts.argumentPrefix = env.command + tail
        return true
    }

    private func findInterpreter(
        _ name: String, of script: String
    ) throws(ExecutableError) -> String {
        do {
            return try ExecutableInspection.find(name, in: searchPath)
        } catch {
            switch error {
            case .notFound: throw .interpreterNotFound(script: script, interpreter: name)
            case .notExecutable, .notAFile, .served, .interpreterNotFound, .tooManyInterpreters,
                .badFirstLine:
                throw error
            }
        }
    }

    private mutating func end(_ reason: IneligibilityReason) -> Bool {
        facts.executable = ExecutableInspection.realPath(current)
        facts.eligibility = .ineligible(reason)
        return false
    }

    private mutating func end(at file: borrowing ExecutableFile) -> Bool {
        facts.files.append(
            InspectedFile(role: .executable, path: current, identity: file.identity))
        facts.executable = ExecutableInspection.realPath(current)
        if let reason = ineligibility(of: file) { facts.eligibility = .ineligible(reason) }
        return false
    }

    /// The reasons for which ld.so ignores LD_PRELOAD come first: for those, a prewarm would run
    /// the program.
    private mutating func ineligibility(
        of file: borrowing ExecutableFile
    ) -> IneligibilityReason? {
        if file.mode & S_ISUID != 0 { return .setUserID }
        // Without group execute the bit means mandatory locking, which is obsolete.
        if file.mode & S_ISGID != 0, file.mode & S_IXGRP != 0 { return .setGroupID }
        if ExecutableInspection.hasFileCapabilities(current) { return .fileCapabilities }
        let program: ElfProgram
        do {
            program = try ElfProgram(file)
        } catch {
            switch error {
            case .notElf: return .unknownFormat
            case .otherArchitecture: return .otherArchitecture
            case .damaged: return .damagedFile
            }
        }
        switch program.linkage {
        case .staticExecutable: return .staticallyLinked
        case .staticPositionIndependent: return .staticPositionIndependent
        case .dynamic(let loader, let libraries, let start):
            if let reason = ineligibility(ofLoader: loader) { return reason }
            if !libraries.hasCLibrary { return .noCLibrary }
            if let objection = libraries.objection { return objection }
            switch start {
            case .cLibrary: return nil
            case .otherFunction: return .noLibraryStart
            case .unknown: return .unknownEntry
            case .preinitFunctions: return .preinitFunctions
            }
        }
    }

    /// The loader is checked separately, because it runs first.
    private mutating func ineligibility(ofLoader path: String) -> IneligibilityReason? {
        guard path.hasPrefix("/") else { return .relativePath }
        do {
            let file = try ExecutableFile(path: path)
            facts.files.append(InspectedFile(role: .loader, path: path, identity: file.identity))
            return ElfProgram.isDynamicLinker(file) ? nil : .unknownLoader
        } catch {
            switch error {
            case .missing: return .loaderMissing
            case .unreadable: return .unknownLoader
            }
        }
    }
}
