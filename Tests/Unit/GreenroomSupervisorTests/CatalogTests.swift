import Glibc
import Testing

@testable import GreenroomSupervisor
import Systemd

struct CatalogTests {
    @Test func `the message catalog explains every kind of message, and no other`() throws {
        let path = "systemd/greenroom.catalog"
        let file = try #require(fopen(path, "r"), "run from the top of the sources")
        defer { fclose(file) }
        var explained: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            guard text.hasPrefix("-- ") else { continue }
            explained.append(String(text.dropFirst(3).dropLast()))
        }
        let known = MessageIdentifier.all.map(\.hexadecimal)
        #expect(explained.sorted() == known.sorted())
        #expect(Set(known).count == known.count)
        #expect(known.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }
}
