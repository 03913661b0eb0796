import TestSupport
import Testing

/// What linking the SDK brings into an app.
@Suite struct LinkageTests {
    @Test func `the library links neither Foundation nor libsystemd`() throws {
        let ldd = try #require(findProgram("ldd"))
        let program = try builtProgram("application-kit-probe")
        let request = ChildRequest(ldd, arguments: [ldd, program])
        let libraries = String(decoding: try run(request).output, as: UTF8.self)
        #expect(libraries.contains("libswiftCore") || libraries.contains("libc.so"))
        for name in ["Foundation", "libsystemd", "libicu"] { #expect(!libraries.contains(name)) }
    }
}
