import Testing

@testable import GreenroomLinux

@Suite("Numbers with names in the kernel's texts")
struct NamedNumberTests {
    private static let text = """
        oom 3
        oom_kill 12
        MemTotal:       16318484 kB
        Hugetlb:               0 kB
        largest 18446744073709551615
        larger 18446744073709551616
        none
        word seven
        last 5
        """

    @Test(
        "The number of the line that begins with the name is found",
        arguments: [
            ("oom ", 3), ("oom_kill ", 12), ("MemTotal:", 16_318_484), ("Hugetlb:", 0),
            ("largest ", UInt64.max), ("last ", 5),
        ])
    func found(_ name: String, _ number: UInt64) {
        #expect(NamedNumber.first(name, in: Self.text) == number)
    }

    @Test(
        "A line without a number that fits, and a name that begins no line, have none",
        arguments: ["larger ", "none", "word ", "kill ", "MemFree:", "last 5\n"])
    func notFound(_ name: String) {
        #expect(NamedNumber.first(name, in: Self.text) == nil)
    }

    @Test("An empty text has no number")
    func empty() { #expect(NamedNumber.first("oom ", in: "") == nil) }
}
