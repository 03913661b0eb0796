public import Varlink

extension Control {
    /// What a desktop entry says about an app, except how to start it.
    public struct DesktopFacts: Hashable, Sendable {
        public struct Action: Hashable, Sendable {
            public var identifier: String
            public var name: String
            public init(identifier: String, name: String) {
                self.identifier = identifier
                self.name = name
            }
        }
        public var file: String
        /// Whether menus show the app.
        public var isShown = true
        public var isTerminal = false
        public var isDBusActivatable = false
        public var icon: String?
        public var startupWMClass: String?
        public var actions: [Action] = []
        public init(file: String) { self.file = file }
    }
}

extension Control.DesktopFacts: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("file", file)
        writer.member("shown", isShown)
        writer.member("terminal", isTerminal)
        writer.member("dbusActivatable", isDBusActivatable)
        writer.member("icon", ifPresent: icon)
        writer.member("startupWMClass", ifPresent: startupWMClass)
        writer.member("actions", objects: actions)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(file: "")
        for member in object.members {
            switch member.name {
            case "file": file = try member.text()
            case "shown": isShown = try member.bool()
            case "terminal": isTerminal = try member.bool()
            case "dbusActivatable": isDBusActivatable = try member.bool()
            case "icon": icon = try member.optionalText()
            case "startupWMClass": startupWMClass = try member.optionalText()
            case "actions":
                actions = try member.objects(Action.init)
            case _: break
            }
        }
    }
}

extension Control.DesktopFacts.Action: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("identifier", identifier)
        writer.member("name", name)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(identifier: "", name: "")
        for member in object.members {
            switch member.name {
            case "identifier": identifier = try member.text()
            case "name": name = try member.text()
            case _: break
            }
        }
    }
}
