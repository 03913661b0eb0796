internal import UnitFile

extension AppManifest {
    /// A secret that an app gets at its launch (systemd.exec(5), LoadCredential=, SetCredential=).
    public struct Credential: Hashable, Sendable {
        /// The credential's name, which is also the name of its file for the app.
        public var name: String
        /// `LoadCredential=ID:PATH`: the file that the daemon reads at each launch.
        public var path: String?
        /// `SetCredential=ID:VALUE`: the value if no file is named or the file does not exist.
        public var value: [UInt8]?
    }

    /// At most this many credentials for one app.
    static let credentialLimit = 32

    static func readCredentials(_ reader: inout SectionReader) -> [Credential] {
        var result = reader.list("App", "LoadCredential", atMost: credentialLimit) {
            (word) throws(ValueError) in
            let (name, path) = try halves(word.text)
            return Credential(name: name, path: try Names.path(path))
        }
        let set = reader.fold("App", "SetCredential", []) {
            (all: inout [Credential], value) throws(ValueError) in
            if value.text.isEmpty { return all = [] }
            let (name, text) = try halves(value.text)
            all.append(Credential(name: name, value: try unescaped(text)))
        }
        for credential in set {
            if let index = result.firstIndex(where: { $0.name == credential.name }) {
                result[index].value = credential.value
            } else {
                result.append(credential)
            }
        }
        if result.count > credentialLimit {
            reader.error(
                reader.position(of: "App"), "more than \(credentialLimit) credentials")
        }
        return result
    }

    private static func halves(_ text: String) throws(ValueError) -> (String, String) {
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(halves[0])
        guard halves.count == 2, 1...255 ~= name.utf8.count, name != ".", name != "..",
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") })
        else {
            throw ValueError(
                message: "'\(Names.cut(name))' is not the name of a credential; write NAME:PATH "
                    + "or, for SetCredential=, NAME:VALUE")
        }
        return (name, String(halves[1]))
    }

    /// Resolves the C escapes that systemd.exec(5) allows: \n, \t, \r, \s, \\, \", \xNN.
    private static func unescaped(_ text: String) throws(ValueError) -> [UInt8] {
        var result: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            switch bytes.popFirst() {
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "s"): result.append(0x20)
            case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "\""): result.append(UInt8(ascii: "\""))
            case UInt8(ascii: "x"):
                let digits = String(decoding: bytes.prefix(2), as: UTF8.self)
                guard digits.count == 2, let value = UInt8(digits, radix: 16) else { fallthrough }
                result.append(value)
                bytes = bytes.dropFirst(2)
            default: throw ValueError(message: "there is a \\ that begins no escape; write \\\\")
            }
        }
        return result
    }
}
