import GreenroomAppChannel
import Testing

@Suite struct `The file of an app's credentials` {
    private static let credentials: [(name: String, value: [UInt8])] = [
        ("token", Array("secret".utf8)), ("empty", []), ("bytes", [0, 0xFF, 0x2C, 0x3A, 0x0A]),
    ]

    @Test func `names and values are written as netstrings`() {
        let bytes = CredentialFile.bytes(of: Array(Self.credentials.prefix(2)))
        #expect(String(decoding: bytes, as: UTF8.self) == "5:token,6:secret,5:empty,0:,")
    }

    @Test func `a credential is found by its name, and by no other`() throws {
        let bytes = CredentialFile.bytes(of: Self.credentials)
        for (name, value) in Self.credentials {
            #expect(try CredentialFile.value(of: name, in: bytes).map(Array.init) == value)
        }
        // A value such as "secret" is not found as a name.
        for name in ["", "secret", "toke", "tokens"] {
            #expect(try CredentialFile.value(of: name, in: bytes) == nil)
        }
        #expect(try CredentialFile.value(of: "token", in: []) == nil)
    }

    @Test func `the file's size limit is enough for the largest allowed credentials`() {
        let names = (0..<32).map { String(repeating: "n", count: 253) + "\($0 + 10)" }
        var credentials = names.map { (name: $0, value: [UInt8](repeating: 1, count: 0)) }
        credentials[0].value = [UInt8](repeating: 1, count: CredentialFile.valueByteLimit)
        #expect(CredentialFile.bytes(of: credentials).count <= CredentialFile.byteLimit)
    }

    @Test(arguments: [
        "5:token", "5:token,", "5:token,6:secret", "5:token,7:secret,", "5:token;6:secret,",
        ":,0:,",
        "token", "-1:,0:,", "99999999999999999999:x,0:,", "05", "5", "1:a,99999999:",
    ])
    func `a file that is cut off or of another format is refused`(text: String) {
        #expect(throws: WireError.malformedStrings) {
            try CredentialFile.value(of: "other", in: Array(text.utf8))
        }
    }
}
