internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

extension InstalledApp.Depth {
    /// Adds what launches have taught about imports, if the app's interpreter can learn and its
    /// manifest has no list.
    mutating func learn(
        from lists: ImportLists, _ manifest: AppManifest, _ account: Account,
        _ facts: ExecutableFacts?, _ digest: KeyedDigest
    ) {
        guard let start, let facts, manifest.prewarm.learnsImports, start.runtime.learnsImports
        else { return }
        let excluded = manifest.prewarm.importsExclude
        // Another version of Greenroom may inspect better.
        let basis = digest.digest(
            of: [productVersion, "\(account.user)", "\(account.group)"] + start.command.boot + ["-"]
                + start.command.program + ["-"] + excluded + ["-"]
                + manifest.environment.map(\.description) + facts.files.map(\.words))
        let app = AppIdentifier(manifest.identifier)
        lists.recall(app, of: account.user)
        let learned = lists.learned(for: app, basis)
        learning = InstalledApp.Learning(basis: basis, learned: learned, excluded: excluded)
        if let learned { self.start?.imports = learned.lines }
    }
}
