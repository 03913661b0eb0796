import TestSupport
import Testing

@testable import GreenroomSession

/// Files of launch screens and their icons, right and wrong.
@Suite struct ScreenDescriptionTests {
    private static let header = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n"
    private static let pixels: [UInt8] = [255, 0, 0, 255, 0, 0, 255, 0]

    private func read(
        _ text: String, icon: [UInt8] = []
    ) throws(ScreenDescription.Fault) -> ScreenDescription {
        try ScreenDescription(Array(text.utf8), file: "a.screen") {
            (_) throws(ScreenDescription.Fault) in icon
        }
    }

    private func complaint(_ text: String, icon: [UInt8] = []) -> String? {
        do throws(ScreenDescription.Fault) {
            _ = try read(text, icon: icon)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `a description has a name, an icon, colours and a size`() throws {
        let screen = try read(
            """
            [LaunchScreen]
            Name=Notes
            Icon=notes.pam
            Color=#1d3557
            TextColor=#Ff0000
            Size=480x320
            """, icon: Array(Self.header.utf8) + Self.pixels)
        #expect(screen.name == "Notes" && screen.color == 0x1d3557)
        #expect(screen.textColor == 0xff0000 && screen.size == .init(width: 480, height: 320))
        #expect(screen.icon?.values == [0xffff_0000, 0x0000_00ff])
        // What is transparent shows the colour.
        let icon = screen.content.width / 2
        #expect(screen.content.values[icon - 1..<icon + 1] == [0xffff_0000, 0xff1d_3557])
        #expect(try read("[LaunchScreen]\n") == ScreenDescription())
    }

    @Test(arguments: [
        ("[Other]\nName=x\n", "there is no [LaunchScreen]"),
        ("\u{89}PNG\r\n\u{1A}\n", "a.screen:1: "),
        ("[LaunchScreen]\nColor=red\n", "a.screen:2: Color=: not a colour; write #RRGGBB"),
        ("[LaunchScreen]\nColor=#12345\n", "not a colour"),
        ("[LaunchScreen]\nColor=#+12345\n", "not a colour"),
        ("[LaunchScreen]\nSize=480\n", "not a size; write WIDTHxHEIGHT"),
        ("[LaunchScreen]\nSize=0x10\n", "not a size"),
        ("[LaunchScreen]\nSize=4097x1\n", "not a size"),
        ("[LaunchScreen]\nSize=99999999999999999999x1\n", "not a size"),
    ])
    func `a wrong description says what is wrong`(text: String, words: String) {
        #expect(complaint(text)?.contains(words) == true, "\(complaint(text) ?? "accepted")")
    }

    @Test(arguments: [
        ("P6\n2 1\n255\n", "not a PAM picture"), ("P7\n", "the header does not end"),
        ("P7\nENDHDR\n", "the sides are not"),
        ("P7\nWIDTH 1025\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n", "the sides are not"),
        ("P7\nWIDTH -1\nHEIGHT -1\nDEPTH 4\nMAXVAL 255\nENDHDR\n", "the sides are not"),
        ("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\n", "not in colour"),
        ("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 65535\nENDHDR\n", "not in colour"),
        ("P7\nWIDTH 2\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nENDHDR\n", "too few pixels"),
    ])
    func `a wrong icon says what is wrong`(header: String, words: String) {
        let text = complaint("[LaunchScreen]\nIcon=a.pam\n", icon: Array(header.utf8) + Self.pixels)
        #expect(text?.contains(words) == true, "\(text ?? "accepted")")
        #expect(text?.contains("ffmpeg") == true)
    }

    @Test func `a header does not go on for ever`() {
        let text = complaint(
            "[LaunchScreen]\nIcon=a.pam\n",
            icon: Array("P7\n".utf8) + Array(repeating: 10, count: 5000))
        #expect(text?.contains("the header does not end") == true)
    }

    @Test func `no icon or description ends the program`() {
        var generator = SeededGenerator(seed: 42)
        let text = "[LaunchScreen]\nName=a\nIcon=b\nColor=#123456\nSize=4x4\n"
        for _ in 0..<2000 {
            var icon = Array(Self.header.utf8) + Self.pixels
            var description = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let byte = UInt8.random(in: 0...255, using: &generator)
                icon[Int.random(in: 0..<icon.count, using: &generator)] = byte
                description[Int.random(in: 0..<description.count, using: &generator)] = byte
            }
            icon.removeLast(Int.random(in: 0...4, using: &generator))
            let screen = try? ScreenDescription(description, file: "") {
                (_) throws(ScreenDescription.Fault) in icon
            }
            _ = screen?.picture(width: 3, height: 3)
        }
    }

    @Test func `a name of any letters is drawn no wider than its limit`() throws {
        let marks = String(repeating: "\u{301}", count: 30_000)
        #expect(try read("[LaunchScreen]\nName=a\(marks)\n").content.width <= 64 * 6 * 3)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var name = "x"
            for _ in 0..<Int.random(in: 1...200, using: &generator) {
                // Letters, combining marks, joiners and emoji.
                let ranges: [ClosedRange<UInt32>] = [
                    0x21...0x7e, 0xe0...0xff, 0x300...0x36f, 0x200b...0x200d, 0x1f300...0x1f64f,
                ]
                let range = ranges.randomElement(using: &generator)!
                name.unicodeScalars.append(
                    Unicode.Scalar(UInt32.random(in: range, using: &generator))!)
            }
            guard let screen = try? read("[LaunchScreen]\nName=\(name)\n") else { continue }
            #expect(screen.name.unicodeScalars.count <= 64)
            #expect(screen.content.width <= 64 * 6 * 3)
        }
    }

    @Test func `a picture smaller than its content is cut`() {
        var screen = ScreenDescription()
        (screen.name, screen.color) = ("Wide", 0x102030)
        screen.icon = Pixels(width: 200, height: 200, 0xffff_ffff)
        let picture = screen.picture(width: 10, height: 10)
        #expect(picture.values == Array(repeating: 0xffff_ffff, count: 100))
        #expect(screen.picture(width: 1, height: 1).values.count == 1)
    }

    @Test func `each letter of ASCII has dots, and others are a frame`() {
        let frame = DotFont.columns(of: "\u{E9}")
        for code in UInt8(33)..<127 {
            let columns = DotFont.columns(of: Unicode.Scalar(code))
            #expect(columns != frame && columns.count == 5 && columns.contains { $0 != 0 })
        }
    }
}
