/// An app's credentials in one file that nobody can change, not even root: a sealed memfd
/// (memfd_create(2), `F_SEAL_WRITE`). It contains names and values alternately, each as a netstring
/// (https://cr.yp.to/proto/netstrings.txt): `5:token,6:secret,`.
public enum CredentialFile {
    /// The total size of the values is at most this many bytes, as in systemd (systemd.exec(5),
    /// LoadCredential=).
    public static let valueByteLimit = 1 << 20
    /// The file has at most this many bytes, which is more than enough for names of 255 bytes and
    /// the framing.
    public static let byteLimit = valueByteLimit + 65_536

    public static func bytes(of credentials: [(name: String, value: [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(credentials.reduce(0) { $0 + $1.value.count + 300 })
        for credential in credentials {
            append(credential.name.utf8, to: &bytes)
            append(credential.value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes += "\(text.count):".utf8
        bytes += text
        bytes.append(UInt8(ascii: ","))
    }

    /// - Returns: the value of the first credential of that name; nil if there is none.
    /// - Throws: `malformedStrings` if the file is malformed before the end of that credential.
    public static func value(
        of name: String, in bytes: [UInt8]
    ) throws(WireError) -> ArraySlice<UInt8>? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let isIt = try next(&rest).elementsEqual(name.utf8)
            let value = try next(&rest)
            if isIt { return value }
        }
        return nil
    }

    private static func next(_ rest: inout ArraySlice<UInt8>) throws(WireError) -> ArraySlice<UInt8>
    {
        var count = 0
        let colon = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.endIndex
        // (No length has more than seven digits.)
        guard 1...7 ~= colon - rest.startIndex, colon < rest.endIndex,
            rest[colon] == UInt8(ascii: ":")
        else { throw .malformedStrings }
        for digit in rest[..<colon] { count = count * 10 + Int(digit - UInt8(ascii: "0")) }
        let begin = colon + 1
        guard rest.endIndex - begin > count, rest[begin + count] == UInt8(ascii: ",") else {
            throw .malformedStrings
        }
        defer { rest = rest[(begin + count + 1)...] }
        return rest[begin..<begin + count]
    }
}
