public import UnitFile

extension AppManifest {
    /// The suffix of a manifest's file name.
    public static let fileSuffix = ".app"

    /// Reads a manifest. Returns no manifest if there is any error; warnings do not count.
    ///
    /// - Parameters:
    ///   - file: the path for diagnostics. The default identifier is its last component without
    ///     suffix.
    ///   - findExecutable: returns the absolute path of a program that `Exec=` names without a
    ///     slash, or nil if there is none. Without this function, bare names stay as they are.
    public static func parse(
        _ bytes: [UInt8], file: String, findExecutable: ((String) -> String?)? = nil
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        var context = ManifestContext()
        context.findExecutable = findExecutable
        return parse([ManifestSource(bytes, file: file)], name: ManifestName(file: file), context)
    }

    /// Reads a manifest with its drop-ins, in the order given, as if they were one text.
    ///
    /// - Parameter name: the app's name; if the first file is a template, the instance's name.
    public static func parse(
        _ sources: [ManifestSource], name: ManifestName, _ context: ManifestContext
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        var reader = SectionReader(sources)
        reader.specifiers = Specifiers(name: name, lookup: context.specifiers)
        let manifest = read(&reader, name, context)
        reader.reportUnknown()
        return (reader.hasErrors ? nil : manifest, reader.sortedDiagnostics())
    }

    public static func parse(
        _ text: String, file: String, findExecutable: ((String) -> String?)? = nil
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        parse(Array(text.utf8), file: file, findExecutable: findExecutable)
    }

    /// Warns if the app's user could take over the app's groups. The kernel lets a user trace
    /// (ptrace(2)) every process that has the user's own user and group and no capability that the
    /// user lacks. Supplementary groups do not prevent it.
    private static func warnOfGroups(
        _ reader: inout SectionReader, _ user: String?, _ app: AppSection, _ sandbox: Sandbox
    ) {
        guard let assignment = reader.unit.assignments("App", "SupplementaryGroups").last,
            !app.supplementaryGroups.isEmpty, app.group == nil, sandbox.ambientCapabilities == 0,
            let user, user != "root", user != "0"
        else { return }
        reader.warning(
            assignment.position,
            "SupplementaryGroups= gives user \(user) these groups, too: other processes of that user can "
                + "trace the app; set Group= to one of them, or User= to an account that nobody else uses"
        )
    }

    /// Warns if the manifest wants a program held at its first window although a profile says never
    /// to hold it.
    private static func warnOfWindow(
        _ reader: inout SectionReader, _ command: [String], _ identifier: String,
        _ profiles: Profiles
    ) {
        guard let assignment = reader.unit.assignments("Prewarm", "Depth").last,
            let profile = profiles.forbidding(
                command, paths: command.first.map { [$0] } ?? [], app: identifier)
        else { return }
        reader.warning(
            assignment.position,
            "Depth=window is not for this program: \(profile.reason ?? "") (\(profile.file)); leave "
                + "Depth= out")
    }

    static func read(
        _ reader: inout SectionReader, _ manifestName: ManifestName, _ context: ManifestContext
    ) -> AppManifest? {
        // The other keys may depend on the user.
        let user = reader.last(AppSection.name, "User", account)
        reader.specifiers?.user = user
        reader.specifiers?.isUserKnown = true
        let (identifier, identifierPosition) = readIdentifier(&reader, manifestName, context)
        let name = reader.last(AppSection.name, "Name") { $0.text }
        let app = AppSection(&reader)
        let command = readCommand(&reader, identifier, context)
        let prewarm = readPrewarm(&reader, app.kind, context)
        let application = readApplication(&reader, app.kind)
        let timer = readTimer(&reader, context)
        let path = readPath(&reader)
        let credentials = readCredentials(&reader)
        let setup = readSetup(&reader, app.kind)
        let launchScreens = readLaunchScreens(&reader, app.kind, context)
        let wantedBy = readWantedBy(&reader)
        let sandbox = Sandbox.read(&reader)
        let resources = Resources.read(&reader)
        let supervision = readSupervision(&reader)
        let dependencies = readDependencies(&reader)
        let socket = readSocket(&reader)

        guard reader.unit.sections.contains(where: { $0.name == AppSection.name }) else {
            reader.error(reader.position(of: AppSection.name), "there is no [App] section")
            return nil
        }
        guard let identifier, let command else { return nil }
        warnOfGroups(&reader, user, app, sandbox)
        if prewarm.depth == .window { warnOfWindow(&reader, command, identifier, context.profiles) }
        return AppManifest(
            file: reader.unit.file, identifierPosition: identifierPosition,
            identifier: identifier, name: name ?? identifier, command: command, user: user,
            app: app, prewarm: prewarm, supervision: supervision, dependencies: dependencies,
            socket: socket, wantedBy: wantedBy, sandbox: sandbox, resources: resources,
            application: application, timer: timer, path: path, credentials: credentials,
            setup: setup, launchScreens: launchScreens)
    }
}
