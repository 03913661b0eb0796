import GreenroomLinux
import Testing

struct StringBlockTests {
    @Test func `a block returns its strings, including empty ones`() throws {
        let block = try #require(StringBlock(["a", "", "ö=1"]))
        #expect(block.count == 3)
        #expect(block.bytes == Array("a\0\0ö=1\0".utf8))
        #expect(block.strings == ["a", "", "ö=1"])
        #expect(StringBlock().strings == [])
    }

    @Test func `bytes are a block only if every string has a terminator`() {
        #expect(StringBlock(terminated: Array("a\0b\0".utf8), count: 2)?.strings == ["a", "b"])
        #expect(StringBlock(terminated: [], count: 0)?.count == 0)
        #expect(StringBlock(terminated: Array("a\0b".utf8), count: 1) == nil)
        #expect(StringBlock(terminated: Array("a\0b\0".utf8), count: 1) == nil)
        #expect(StringBlock(terminated: Array("a\0".utf8), count: 2) == nil)
        #expect(StringBlock(terminated: [], count: 1) == nil)
    }
}
