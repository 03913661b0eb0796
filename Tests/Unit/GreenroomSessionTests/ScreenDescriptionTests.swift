import TestSupport
import Testing

@testable import GreenroomSession

/// Files of launch screens and their icons, right and wrong.
@Suite struct ScreenDescriptionTests {
    private static let header = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n"
    private static let pixels: [UInt8] = [255, 0, 0, 255, 0, 0, 255, 0]

    private func read(
        _ text: String, icon: [UInt8] = [], fineIcon: [UInt8]? = nil
    ) throws(ScreenDescription.Fault) -> ScreenDescription {
        try ScreenDescription(Array(text.utf8), file: "a.screen") {
            (name) throws(ScreenDescription.Fault) in name.contains("@2x") ? fineIcon : icon
        }
    }

    private func picture(of screen: ScreenDescription, scale: Int = 1) -> Pixels {
        let size = screen.contentSize(scale: scale)
        return screen.picture(width: size.width, height: size.height, scale: scale)
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
        // A transparent pixel shows the background colour.
        let icon = screen.contentSize().width / 2
        #expect(picture(of: screen).values[icon - 1..<icon + 1] == [0xffff_0000, 0xff1d_3557])
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
                (name) throws(ScreenDescription.Fault) in name.contains("@2x") ? nil : icon
            }
            _ = screen?.picture(width: 3, height: 3)
        }
    }

    @Test func `a name of any letters is drawn no wider than its limit`() throws {
        let marks = String(repeating: "\u{301}", count: 30_000)
        #expect(try read("[LaunchScreen]\nName=a\(marks)\n").contentSize().width <= 64 * 6 * 3)
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
            #expect(screen.contentSize().width <= 64 * 6 * 3)
        }
    }

    @Test func `a scaled picture has squares for pixels`() throws {
        var screen = ScreenDescription()
        (screen.name, screen.textColor) = ("Notes", 0x10_2030)
        screen.icon = Pixels(width: 4, height: 5, 0xff01_0203)
        let (plain, scaled) = (picture(of: screen), picture(of: screen, scale: 3))
        #expect(scaled.width == plain.width * 3 && scaled.height == plain.height * 3)
        for y in 0..<scaled.height {
            for x in 0..<scaled.width {
                let pixel = plain.values[y / 3 * plain.width + x / 3]
                #expect(scaled.values[y * scaled.width + x] == pixel)
            }
        }
    }

    @Test(
        arguments: [(1, 0xff01_0203), (2, 0xff04_0506), (3, 0xff01_0203), (4, 0xff04_0506)]
            as [(Int, UInt32)])
    func `a finer icon is used where its pixels fit`(scale: Int, color: UInt32) throws {
        var screen = ScreenDescription()
        screen.icon = Pixels(width: 4, height: 4, 0xff01_0203)
        screen.fineIcon = Pixels(width: 8, height: 8, 0xff04_0506)
        let values = picture(of: screen, scale: scale).values
        #expect(values == Array(repeating: color, count: 16 * scale * scale))
    }

    @Test func `a finer icon lies beside the icon, and has twice its sides`() throws {
        let text = "[LaunchScreen]\nIcon=icons.d/a.pam\n"
        let fine = Array("P7\nWIDTH 4\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nENDHDR\n".utf8)
        let icon = Array(Self.header.utf8) + Self.pixels
        let pixels = Array(repeating: Self.pixels, count: 4).joined()
        #expect(try read(text, icon: icon, fineIcon: fine + pixels).fineIcon?.width == 4)
        #expect(try read(text, icon: icon).fineIcon == nil)
        do throws(ScreenDescription.Fault) {
            _ = try read(text, icon: icon, fineIcon: icon)
            Issue.record("it is accepted")
        } catch {
            #expect("\(error)".contains("icons.d/a@2x.pam does not have twice the sides"))
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
