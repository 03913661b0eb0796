internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

extension InstalledApp {
    /// A digest of everything that decides whether an instance that was paused for one version of
    /// the app can be launched as another version.
    func generation(_ digest: KeyedDigest) -> UInt64 {
        generation(
            digest, environment.extraKeyNames, imports: program.depth.start?.imports ?? [])
    }

    /// The generation that the app has with other imports, which read other variables.
    func generation(
        _ digest: KeyedDigest, _ extraKeyNames: Set<String>, imports: [String]
    ) -> UInt64 {
        // The properties that every app has are formatted by hand: printing a structure takes fifty
        // times as long, and the daemon's start does this for every app.
        let lists = [
            command.arguments, environment.strings, extraKeyNames.sorted(),
            program.fingerprint.map(\.words), identity.groups.map(String.init), account.words,
            program.depth.start?.words ?? [], imports,
            program.depth.files.map(\.words),
        ]
        let scalars = [
            "\(kind)", program.path, command.workingDirectory ?? "-", command.startDirectory,
            command.umask.map(String.init) ?? "-", "\(restrictions.noNewPrivileges)",
            "\(program.depth.opensLibraries)", "\(program.depth.withholding != nil)",
            "\(program.depth.isHeldOnlyOnX11)",
            "\(restrictions.limits)", restrictions.confinement.map { "\($0)" } ?? "-",
            "\(restrictions.cgroupSettings)", "\(sockets)",
        ]
        return digest.digest(of: scalars + lists.flatMap { ["\($0.count)"] + $0 })
    }
}

extension InstalledApp.Learning {
    /// The part of an environment that an instance reads if it is paused before anything is
    /// learned.
    func bootPool(of environment: [String], _ app: InstalledApp) -> PoolEnvironment {
        PoolEnvironment(
            of: environment, extraNames: bootKeyNames, runtime: app.environment.runtime)
    }
}

extension InspectedFile {
    /// What distinguishes the file from every other file.
    var words: String {
        "\(role.rawValue) \(path) \(identity.device) \(identity.inode) \(identity.byteCount) "
            + "\(identity.modified) \(identity.changed)"
    }
}

extension Account {
    fileprivate var words: [String] { [name, String(user), String(group), home, shell] }
}
