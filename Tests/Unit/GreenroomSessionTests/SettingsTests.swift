import Testing

@testable import GreenroomSession

/// What an X server says about scales.
@Suite struct SettingsTests {
    /// A settings manager's property with two texts, a number and a colour, and then the number that
    /// counts.
    private func settings(
        isBigEndian: Bool = false, last: String = "Xft/DPI", is value: UInt32 = 98_304
    ) -> [UInt8] {
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
        bytes += number(3) + number(5)
        setting(1, "Net/ThemeName", number(5) + Array("Plain".utf8) + [0, 0, 0])
        setting(1, "Gtk/FontName", number(7) + Array("Sans 10".utf8) + [0])
        setting(0, "Net/DoubleClickTime", number(300))
        setting(2, "Color", [1, 2, 3, 4, 5, 6, 7, 8])
        setting(0, last, number(value))
        return bytes
    }

    @Test(arguments: [false, true]) func `are read in both orders of bytes`(isBigEndian: Bool) {
        #expect(
            XSettingsText.appearance(in: settings(isBigEndian: isBigEndian))
                == Appearance(scales: [98_304, 0, 0], names: ["Plain", "Sans 10", ""]))
    }

    @Test func `that are cut off or damaged have no more numbers`() {
        let bytes = settings()
        for count in 0..<bytes.count {
            #expect(XSettingsText.appearance(in: Array(bytes.prefix(count))).scales == [0, 0, 0])
        }
        for at in bytes.indices {
            var damaged = bytes
            damaged[at] = 255
            #expect(XSettingsText.appearance(in: damaged).scales.count == 3)
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

    @Test(
        arguments: [
            (nil, nil, 1), ("96", nil, 1), ("140", nil, 1), ("144", nil, 2), ("192", nil, 2),
            ("1e300", nil, 4),
            ("-5", nil, 1), ("96", ("Xft/DPI", 196_608), 2), ("192", ("Xft/DPI", 98_304), 1),
            ("96", ("Gdk/WindowScalingFactor", 2), 2), ("192", ("Gdk/WindowScalingFactor", 1), 2),
            (nil, ("Gdk/WindowScalingFactor", 4711), 4),
        ] as [(String?, (String, UInt32)?, Int)])
    func `a picture is scaled by whole numbers`(
        resource: String?, setting: (String, UInt32)?, scale: Int
    ) {
        let resources = Array((resource.map { "Xft.dpi:\t\($0)\n" } ?? "").utf8)
        let bytes = setting.map { settings(last: $0.0, is: $0.1) } ?? []
        #expect(XScale.whole(resources: resources, settings: bytes) == scale)
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
