internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

extension InstalledApp.Depth {
    /// Adds what launches have taught about imports, if the app has an interpreter and its manifest
    /// has no list.
    mutating func learn(
        from lists: ImportLists, _ profiles: Profiles, _ manifest: AppManifest, _ account: Account,
        _ facts: ExecutableFacts?, _ digest: KeyedDigest, version: String = productVersion
    ) {
        guard let start, let facts, manifest.prewarm.learnsImports else { return }
        let excluded = manifest.prewarm.importsExclude
        let name = start.command.programName
        let profile = profiles.vouching(for: start)
        let vouching = profile?.vouching
        let script = Self.script(name, facts)
        // Another version of Greenroom may inspect better, and so may other files of the same one.
        let inspection = start.inspectionFiles.compactMap { Self.file($0, .hook)?.words }
        var words = [version] + inspection + ["-", "\(account.user)", "\(account.group)"]
        words += start.command.boot + ["-"] + start.command.program + ["-"] + excluded + ["-"]
        if let vouching { words += vouching.linesForInspection + vouching.linesForHook + ["-"] }
        words += manifest.environment.map(\.description) + facts.files.map(\.words)
        if let script { words.append(script.words) }
        let basis = digest.digest(of: words)
        let app = AppIdentifier(manifest.identifier)
        lists.recall(app, of: account.user)
        let learned = lists.learned(for: app, basis)
        learning = InstalledApp.Learning(
            basis: basis, learned: learned, excluded: excluded,
            bootKeyNames: Set(manifest.prewarm.environmentKeys), script: script,
            vouching: vouching, profile: profile?.file)
        if let learned {
            self.start?.imports =
                learned.lines + (learned.vouched == nil ? [] : vouching?.linesForHook ?? [])
        }
    }

    /// The script, or the archive of Java, that the manifest names after its interpreter. A script
    /// that is itself the program is among the program's files.
    private static func script(_ name: String, _ facts: ExecutableFacts) -> InspectedFile? {
        guard name.hasPrefix("/"), facts.argumentPrefix == nil else { return nil }
        return file(name, .script)
    }

    private static func file(_ path: String, _ role: InspectedFile.Role) -> InspectedFile? {
        FileIdentity(path: path).map { InspectedFile(role: role, path: path, identity: $0) }
    }
}

extension Profiles {
    /// The profile that vouches for modules of the program, if it is one for the program's
    /// interpreter.
    func vouching(for start: RuntimeStart) -> Profile? {
        let profile = vouching(for: start.command.programName)
        return profile?.vouching?.isForGem == (start.runtime == .ruby) ? profile : nil
    }
}
