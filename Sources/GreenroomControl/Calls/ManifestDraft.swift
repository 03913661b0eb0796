public import Varlink

extension Control {
    /// A manifest as it would be installed, with the texts of the files from which it is read.
    public struct ManifestDraft: Hashable, Sendable {
        public struct Source: Hashable, Sendable {
            /// The name that messages give to this source.
            public var file: String
            public var text: String
            public init(file: String, text: String) {
                self.file = file
                self.text = text
            }
        }

        /// The file's name, `ID.app`.
        public var name: String
        /// In the order in which they take effect: the manifest, then its drop-ins.
        public var sources: [Source]

        public init(name: String, sources: [Source]) {
            self.name = name
            self.sources = sources
        }

        /// At most this many in one `Verify`. The daemon serves nobody else while it reads them.
        public static let countLimit = 16
    }
}

extension Control.ManifestDraft {
    static func all(of call: Call) throws(ServiceError) -> [Self] {
        var drafts: [Self]?
        for member in call.parameters.members {
            guard member.name == "manifests" else { throw member.invalid }
            let read = try member.objects(Self.init)
            guard 1...countLimit ~= read.count else { throw member.invalid }
            drafts = read
        }
        guard let drafts else { throw .invalidParameter("manifests") }
        return drafts
    }
}

extension Control.ManifestDraft: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("sources", objects: sources)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(name: "", sources: [])
        for member in object.members {
            switch member.name {
            case "name": name = try member.text()
            case "sources":
                sources = try member.objects(Source.init)
            case _: throw member.invalid
            }
        }
        guard !name.isEmpty else { throw .invalidParameter("name") }
        guard !sources.isEmpty else { throw .invalidParameter("sources") }
    }
}

extension Control.ManifestDraft.Source: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("file", file)
        writer.member("text", text)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(file: "", text: "")
        for member in object.members {
            switch member.name {
            case "file": file = try member.text()
            case "text": text = try member.text()
            case _: throw member.invalid
            }
        }
    }
}
