public import UnitFile

extension AppManifest {
    /// What the name of a manifest's file ends in.
    public static let fileSuffix = ".app"

    /// Reads a manifest. There is none if anything is an error; warnings do not prevent one.
    ///
    /// - Parameters:
    ///   - file: the path for diagnostics; its last component gives the default identifier.
    ///   - findExecutable: the absolute path of a program that `Exec=` names without a slash, nil if
    ///     there is none. Without this function, bare names stay as they are.
    public static func parse(
        _ bytes: [UInt8], file: String, findExecutable: ((String) -> String?)? = nil
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        var context = ManifestContext()
        context.findExecutable = findExecutable
        return parse([ManifestSource(bytes, file: file)], name: ManifestName(file: file), context)
    }

    /// Reads a manifest with its drop-ins, as one text in the order given.
    ///
    /// - Parameter name: of the app; that of an instance where the first file is its template.
    public static func parse(
        _ sources: [ManifestSource], name: ManifestName, _ context: ManifestContext
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        var reader = SectionReader(sources)
        reader.specifiers = Specifiers(name: name, world: context.specifiers)
        let manifest = read(&reader, name, context)
        reader.reportUnknown()
        return (reader.hasErrors ? nil : manifest, reader.sortedDiagnostics())
    }

    public static func parse(
        _ text: String, file: String, findExecutable: ((String) -> String?)? = nil
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        parse(Array(text.utf8), file: file, findExecutable: findExecutable)
    }

    static func read(
        _ reader: inout SectionReader, _ manifestName: ManifestName, _ context: ManifestContext
    ) -> AppManifest? {
        let app = "App"
        // The other keys may depend on the user.
        let user = reader.last(app, "User", account)
        reader.specifiers?.user = user
        reader.specifiers?.isUserKnown = true
        let (identifier, identifierPosition) = readIdentifier(&reader, manifestName, context)
        let name = reader.last(app, "Name") { $0.text }
        let kind =
            reader.last(app, "Type") { value throws(ValueError) in
                try value.choice(Kind.self)
            } ?? .program
        let command = readCommand(&reader, identifier, context)
        let environment = reader.list(
            app, "Environment", atMost: Limit.environmentVariables
        ) { word throws(ValueError) in try Names.environmentVariable(word.text) }
        let workingDirectory = reader.last(app, "WorkingDirectory") { value throws(ValueError) in
            value.text == "~" ? "~" : try Names.path(value.text)
        }
        let umask = reader.last(app, "UMask") { value throws(ValueError) in
            let mode = try value.octalMode()
            guard mode <= 0o777 else {
                throw ValueError(message: "a umask has no bits beyond 0777")
            }
            return mode
        }
        let group = reader.last(app, "Group", account)
        let supplementaryGroups = reader.list(
            app, "SupplementaryGroups", atMost: Limit.supplementaryGroups
        ) { word throws(ValueError) in try Names.account(word.text) }
        let limits = ResourceLimit.Resource.allCases.sorted { $0.number < $1.number }
            .compactMap { resource in
                reader.last(app, "Limit" + resource.rawValue) { value throws(ValueError) in
                    try value.resourceLimit(resource)
                }
            }
        let instances = reader.last(app, "Instances") { value throws(ValueError) in
            try value.choice(Instances.self)
        }
        let foregroundGroup = reader.last(app, "ForegroundGroup", readForegroundGroup)
        let suspends = reader.last(app, "SuspendInBackground", boolean)
        let readyCondition = reader.last(app, "ReadyOn") { value throws(ValueError) in
            try value.choice(ReadyCondition.self)
        }
        let launchDeadline = reader.last(app, "LaunchDeadlineSec", positiveDuration)
        let backgroundGrace = reader.last(app, "BackgroundGraceSec", duration)
        let terminateGrace = reader.last(app, "TerminateGraceSec", duration)
        let prewarm = readPrewarm(&reader, kind)
        let application = readApplication(&reader, kind)
        let timer = readTimer(&reader, kind, context)
        let path = readPath(&reader, kind)
        let credentials = readCredentials(&reader)
        let setup = readSetup(&reader, kind)
        let launchScreens = readLaunchScreens(&reader, kind, context)
        let wantedBy = readWantedBy(&reader)
        let sandbox = Sandbox.read(&reader)
        let resources = Resources.read(&reader)
        let supervision = readSupervision(&reader)
        let dependencies = readDependencies(&reader)
        let socket = readSocket(&reader)

        guard reader.unit.sections.contains(where: { $0.name == app }) else {
            reader.error(reader.position(of: app), "there is no [App] section")
            return nil
        }
        guard let identifier, let command else { return nil }
        return AppManifest(
            file: reader.unit.file, identifierPosition: identifierPosition,
            identifier: identifier, name: name ?? identifier, kind: kind, command: command,
            environment: lastOfEachName(environment), workingDirectory: workingDirectory,
            umask: umask, user: user, group: group, supplementaryGroups: supplementaryGroups,
            limits: limits,
            isSingleInstance: instances.map { $0 == .single } ?? (kind == .applicationKit),
            foregroundGroup: foregroundGroup ?? .session,
            suspendsInBackground: suspends ?? (kind == .applicationKit),
            readyCondition: readyCondition ?? .exec, launchDeadline: launchDeadline,
            backgroundGrace: backgroundGrace, terminateGrace: terminateGrace, prewarm: prewarm,
            supervision: supervision, dependencies: dependencies, socket: socket,
            wantedBy: wantedBy, sandbox: sandbox, resources: resources,
            application: application, timer: timer, path: path, credentials: credentials,
            setup: setup, launchScreens: launchScreens)
    }

    private enum Instances: String, CaseIterable {
        case single, multiple
    }

    private static func lastOfEachName(
        _ variables: [EnvironmentVariable]
    ) -> [EnvironmentVariable] {
        var result: [EnvironmentVariable] = []
        for variable in variables {
            if let index = result.firstIndex(where: { $0.name == variable.name }) {
                result[index] = variable
            } else {
                result.append(variable)
            }
        }
        return result
    }
}
