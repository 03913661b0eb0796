internal import UnitFile

/// The name of a manifest's file (systemd.unit(5)): `name.app`, the template `name@.app`, or
/// `name@instance`, which need not have a file.
public struct ManifestName: Hashable, Sendable {
    /// The part before the `@`, or the whole name.
    public var prefix: String
    /// The part after the `@`, still escaped; empty for a template, nil for a name without `@`.
    public var instance: String?

    /// - Parameter identifier: the name without suffix. It may itself end in `.app`.
    public init(_ identifier: String) {
        guard let at = identifier.utf8.firstIndex(of: UInt8(ascii: "@")) else {
            prefix = identifier
            return
        }
        prefix = String(identifier[..<at])
        instance = String(identifier[identifier.utf8.index(after: at)...])
    }

    /// - Parameter file: a path, or its last component.
    public init(file: String) {
        let bytes = file.utf8
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map(bytes.index(after:))
        let name = file[(start ?? file.startIndex)...]
        let suffix = name.hasSuffix(AppManifest.fileSuffix) ? AppManifest.fileSuffix.utf8.count : 0
        self.init(String(name.utf8.dropLast(suffix)) ?? String(name))
    }

    /// The name of a desktop entry, in which neither `@` nor the suffix has a meaning.
    public init(verbatim identifier: String) { prefix = identifier }

    /// Whether this is a template, which defines apps but is not itself an app.
    public var isTemplate: Bool { instance == "" }

    /// Whether this is an app that a template defines.
    public var isInstance: Bool { instance != nil && instance != "" }

    /// The name without the suffix.
    public var identifier: String { instance.map { "\(prefix)@\($0)" } ?? prefix }

    public var file: String { identifier + AppManifest.fileSuffix }

    /// The file of the template that defines this instance.
    public var templateFile: String? {
        isInstance ? "\(prefix)@" + AppManifest.fileSuffix : nil
    }

    /// The folders of drop-ins, the template's first, so that an instance's own take precedence.
    public var dropInFolders: [String] {
        (templateFile.map { [$0 + ".d"] } ?? []) + [file + ".d"]
    }

    /// Unescapes a name as `systemd-escape(1) --unescape` does: `-` means `/`, and `\xHH` means a
    /// byte.
    public static func unescaped(_ text: String) -> String {
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            let isEscape =
                bytes[index...].starts(with: #"\x"#.utf8) && index + 4 <= bytes.count
                && bytes[index + 2] != UInt8(ascii: "+")
            if isEscape,
                let byte = UInt8(
                    String(decoding: bytes[index + 2..<index + 4], as: UTF8.self), radix: 16),
                byte != 0
            {
                result.append(byte)
                index += 4
            } else {
                result.append(
                    bytes[index] == UInt8(ascii: "-") ? UInt8(ascii: "/") : bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Checks a name: reverse-DNS, and for an instance the characters that systemd allows after the
    /// `@`.
    static func identifier(_ text: String) throws(ValueError) -> String {
        let name = ManifestName(text)
        guard let instance = name.instance else { return try Names.identifier(text) }
        _ = try Names.identifier(name.prefix)
        let isValid =
            text.utf8.count <= AppManifest.Limit.identifierBytes
            && instance.utf8.allSatisfy { byte in
                Names.isWordByte(byte) || #"-.:\@"#.utf8.contains(byte)
            }
        guard isValid else {
            throw ValueError(
                message: "'\(Names.cut(instance))' is not the name of an instance: letters, digits "
                    + #"and any of :-_.\@, as systemd-escape writes them"#)
        }
        return text
    }

    /// Whether an app, a template or an instance may have this name.
    public static func isValid(_ text: String) -> Bool {
        (try? identifier(text)) != nil
    }
}
