public import Varlink

extension Control {
    /// What `Describe` returns.
    public struct Description: Hashable, Sendable {
        public var version: String
        public var processId: Int32
        public var features: [String]
        /// Facilities that the daemon lacks on this machine.
        public var degraded: [Note]
        /// Nil from older daemons.
        public var surroundings: Surroundings?
        /// The directories of manifests, in order of precedence.
        public var appDirectories: [String] = []
        /// The directories of desktop entries, in order of precedence.
        public var desktopDirectories: [String] = []
        /// Folders of profiles of desktop programs, in order of precedence.
        public var profileDirectories: [String] = []
        /// The variables of the daemon's environment that matter to manifests, as `NAME=VALUE`.
        public var environment: [String] = []
        public init(
            version: String, processId: Int32, features: [String] = [], degraded: [Note] = []
        ) {
            self.version = version
            self.processId = processId
            self.features = features
            self.degraded = degraded
        }
    }

    /// The files and processes that a daemon works with.
    public struct Surroundings: Hashable, Sendable {
        public var runtimeDirectory: String
        public var configurationFile: String
        /// In order of precedence.
        public var appDirectories: [String]
        public var shimFile: String
        public var spawnerFile: String
        /// Nil while no spawner is running.
        public var spawnerProcessId: Int32?
        public init(
            runtimeDirectory: String = "", configurationFile: String = "",
            appDirectories: [String] = [], shimFile: String = "", spawnerFile: String = "",
            spawnerProcessId: Int32? = nil
        ) {
            self.runtimeDirectory = runtimeDirectory
            self.configurationFile = configurationFile
            self.appDirectories = appDirectories
            self.shimFile = shimFile
            self.spawnerFile = spawnerFile
            self.spawnerProcessId = spawnerProcessId
        }
    }

    /// What `Reload` returns.
    public struct ReloadReport: Hashable, Sendable {
        /// The identifiers of all apps that are installed now.
        public var loaded: [String]
        public var failed: [ManifestFault]
        /// What is ignored in manifests that were read now. Their apps are installed.
        public var warnings: [ManifestFault]
        public init(
            loaded: [String] = [], failed: [ManifestFault] = [], warnings: [ManifestFault] = []
        ) {
            self.loaded = loaded
            self.failed = failed
            self.warnings = warnings
        }
    }

    /// An error in a file. Line and column are counted from 1; 0 means the file as a whole.
    public struct ManifestFault: Hashable, Sendable, CustomStringConvertible {
        public var file: String
        public var line: Int
        public var column: Int
        public var message: String
        public init(file: String, line: Int, column: Int, message: String) {
            self.file = file
            self.line = line
            self.column = column
            self.message = message
        }
        public var description: String {
            line == 0 ? "\(file): \(message)" : "\(file):\(line):\(column): \(message)"
        }
    }
}

extension Control.Description: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("processId", processId)
        writer.member("features", features)
        writer.member("degraded", objects: degraded)
        writer.member("surroundings", ifPresent: surroundings)
        if !appDirectories.isEmpty { writer.member("appDirectories", appDirectories) }
        if !desktopDirectories.isEmpty {
            writer.member("desktopDirectories", desktopDirectories)
        }
        if !profileDirectories.isEmpty {
            writer.member("profileDirectories", profileDirectories)
        }
        if !environment.isEmpty { writer.member("environment", environment) }
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(version: "", processId: 0)
        for member in object.members {
            switch member.name {
            case "version": version = try member.text()
            case "processId": processId = try member.integer()
            case "features": features = try member.texts()
            case "appDirectories": appDirectories = try member.optionalTexts() ?? []
            case "desktopDirectories": desktopDirectories = try member.optionalTexts() ?? []
            case "profileDirectories": profileDirectories = try member.optionalTexts() ?? []
            case "environment": environment = try member.optionalTexts() ?? []
            case "degraded":
                degraded = try member.objects(Control.Note.init)
            case "surroundings":
                if member.value != .null {
                    surroundings = try Control.Surroundings(try member.object())
                }
            case _: break
            }
        }
    }
}

extension Control.Surroundings: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("runtimeDirectory", runtimeDirectory)
        writer.member("configurationFile", configurationFile)
        writer.member("appDirectories", appDirectories)
        writer.member("shimFile", shimFile)
        writer.member("spawnerFile", spawnerFile)
        writer.member("spawnerProcessId", ifPresent: spawnerProcessId)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case "runtimeDirectory": runtimeDirectory = try member.text()
            case "configurationFile": configurationFile = try member.text()
            case "appDirectories": appDirectories = try member.texts()
            case "shimFile": shimFile = try member.text()
            case "spawnerFile": spawnerFile = try member.text()
            case "spawnerProcessId": spawnerProcessId = try member.optionalInteger()
            case _: break
            }
        }
    }
}

extension Control.ReloadReport: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("loaded", loaded)
        writer.member("failed", objects: failed)
        writer.member("warnings", objects: warnings)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case "loaded": loaded = try member.texts()
            case "failed":
                failed = try member.objects(Control.ManifestFault.init)
            case "warnings": warnings = try member.objects(Control.ManifestFault.init)
            case _: break
            }
        }
    }
}

extension Control.ManifestFault: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("file", file)
        writer.member("line", line)
        writer.member("column", column)
        writer.member("message", message)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(file: "", line: 0, column: 0, message: "")
        for member in object.members {
            switch member.name {
            case "file": file = try member.text()
            case "line": line = try member.integer()
            case "column": column = try member.integer()
            case "message": message = try member.text()
            case _: break
            }
        }
    }
}
