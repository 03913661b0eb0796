import Testing

@testable import GreenroomSession

/// What an X server says about scales.
@Suite struct SettingsTests {
    /// A settings manager's property with a text, a number and a colour, and then the number that
    /// counts.
    private func settings(isBigEndian: Bool) -> [UInt8] {
        var bytes: [UInt8] = [isBigEndian ? 1 : 0, 0, 0, 0]
        func number(_ value: UInt32) -> [UInt8] {
            let word = isBigEndian ? value.byteSwapped : value
            return (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        func setting(_ kind: UInt8, _ name: String, _ value: [UInt8]) {
            let length = UInt8(name.utf8.count)
            bytes += [kind, 0] + (isBigEndian ? [0, length] : [length, 0]) + Array(name.utf8)
            while !bytes.count.isMultiple(of: 4) { bytes.append(0) }
            bytes += number(7) + value
        }
        bytes += number(3) + number(4)
        setting(1, "Net/ThemeName", number(5) + Array("Plain".utf8) + [0, 0, 0])
        setting(0, "Net/DoubleClickTime", number(300))
        setting(2, "Color", [1, 2, 3, 4, 5, 6, 7, 8])
        setting(0, "Xft/DPI", number(98_304))
        return bytes
    }

    @Test(arguments: [false, true]) func `are read in both orders of bytes`(isBigEndian: Bool) {
        #expect(XSettingsText.scales(in: settings(isBigEndian: isBigEndian)) == [98_304, 0, 0])
    }

    @Test func `that are cut off or damaged have no more numbers`() {
        let bytes = settings(isBigEndian: false)
        for count in 0..<bytes.count {
            #expect(XSettingsText.scales(in: Array(bytes.prefix(count))) == [0, 0, 0])
        }
        for at in bytes.indices {
            var damaged = bytes
            damaged[at] = 255
            #expect(XSettingsText.scales(in: damaged).count == 3)
        }
    }

    @Test func `of the resource database are those of Xft`() {
        let text = "Other.dpi:\t7\nXft.dpi:\t144\nXft.dpi2: 3\n"
        #expect(XResources.dotsPerInch(in: Array(text.utf8)) == 144)
        #expect(XResources.dotsPerInch(in: Array("Xft.dpi: no".utf8)) == nil)
        for value in ["nan", "inf"] {
            #expect(XResources.dotsPerInch(in: Array("Xft.dpi: \(value)".utf8)) == nil)
        }
        #expect(XResources.dotsPerInch(in: []) == nil)
    }

    @Test func `come from a compositor alone, whose X server may not run yet`() {
        let names = ["WAYLAND_DISPLAY": "/run/wayland", "DISPLAY": ":7", "XAUTHORITY": "/run/x"]
        #expect(
            DisplaySettings.Server.all(of: DisplayNames { names[$0] })
                == [.wayland(path: "/run/wayland")])
        #expect(
            DisplaySettings.Server.all(
                of: DisplayNames { $0 == "WAYLAND_DISPLAY" ? nil : names[$0] })
                == [.x(display: ":7", authorityPath: "/run/x")])
    }
}
