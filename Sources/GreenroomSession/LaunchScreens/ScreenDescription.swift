internal import Glibc
internal import GreenroomLinux
internal import UnitFile

/// The contents of a launch screen's file, in the syntax of systemd's units.
///
///     [LaunchScreen]
///     Name=Calculator
///     Icon=calculator.pam
///     Color=#1d3557
///     TextColor=#ffffff
///     Size=480x320
struct ScreenDescription: Hashable, Sendable {
    var name = ""
    var icon: Pixels?
    /// The icon for displays with twice the pixels.
    var fineIcon: Pixels?
    /// 0xRRGGBB.
    var color: UInt32 = 0x20_2020
    var textColor: UInt32 = 0xff_ffff
    /// Nil means the part of the display that the panels leave free.
    var size: Size?

    struct Size: Hashable, Sendable {
        var width: Int
        var height: Int
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let section = "LaunchScreen"
    private static let keys = ["Name", "Icon", "Color", "TextColor", "Size"]
    /// In bytes. A description has a few lines.
    private static let byteLimit = 64 << 10
    /// At most this many characters (Unicode scalars, each of which is drawn) fit into a line on a
    /// small display.
    private static let nameLimit = 64
    /// In pixels, for each side. Most displays are smaller.
    static let sideLimit = 4096

    init() {}

    init(file path: String) throws(Fault) {
        let bytes = try Self.bytes(of: path, atMost: Self.byteLimit)
        try self.init(bytes, file: path) { (icon) throws(Fault) in
            let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
            let iconPath = icon.hasPrefix("/") ? icon : folder + "/" + icon
            if unsafe access(iconPath, F_OK) != 0, errno == ENOENT { return nil }
            return try Self.bytes(of: iconPath, atMost: Pixels.fileByteLimit)
        }
    }

    /// - Parameter icon: reads the icon's file; nil if it is not there.
    init(
        _ bytes: [UInt8], file: String, icon: (String) throws(Fault) -> [UInt8]?
    ) throws(Fault) {
        let (unit, diagnostics) = UnitFile.parse(bytes, file: file)
        if let first = diagnostics.first {
            throw Fault(
                description: "\(file):\(first.position.line): \(first.message); write it as in "
                    + "greenroom-launchscreen(1)")
        }
        guard unit.sections.contains(where: { $0.name == Self.section }) else {
            throw Fault(
                description: "\(file): there is no [\(Self.section)], so another shell's screen; "
                    + "greenroom-launchscreen(1) has the keys")
        }
        for key in Self.keys {
            guard let value = unit.last(Self.section, key) else { continue }
            do throws(Fault) { try set(key, value.text, icon) } catch {
                throw Fault(
                    description: "\(file):\(value.position.line): \(key)=: \(error.description)")
            }
        }
    }

    private mutating func set(
        _ key: String, _ text: String, _ readIcon: (String) throws(Fault) -> [UInt8]?
    ) throws(Fault) {
        switch key {
        case "Name":
            name = String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.nameLimit)))
        case "Icon": try setIcon(text, readIcon)
        case "Color": color = try Self.color(text)
        case "TextColor": textColor = try Self.color(text)
        case _: size = try Self.size(text)
        }
    }

    private mutating func setIcon(
        _ name: String, _ read: (String) throws(Fault) -> [UInt8]?
    ) throws(Fault) {
        guard let bytes = try read(name) else { throw Fault(description: "there is no \(name)") }
        let icon = try Pixels(portableMap: bytes)
        self.icon = icon
        let fineName = Self.fineName(of: name)
        guard let bytes = try read(fineName) else { return }
        let fineIcon = try Pixels(portableMap: bytes)
        guard fineIcon.width == icon.width * 2, fineIcon.height == icon.height * 2 else {
            throw Fault(description: "\(fineName) does not have twice the sides of \(name)")
        }
        self.fineIcon = fineIcon
    }

    /// `@2x` before the end of the name, as on Apple's systems.
    private static func fineName(of name: String) -> String {
        let end = name.lastIndex(of: ".") ?? name.endIndex
        return name[..<end] + "@2x" + name[end...]
    }

    private static func color(_ text: String) throws(Fault) -> UInt32 {
        guard text.utf8.count == 7, text.first == "#",
            text.dropFirst().utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let color = UInt32(text.dropFirst(), radix: 16)
        else { throw Fault(description: "not a colour; write #RRGGBB") }
        return color
    }

    private static func size(_ text: String) throws(Fault) -> Size {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1],
            (1...sideLimit).contains(width), (1...sideLimit).contains(height)
        else {
            throw Fault(
                description: "not a size; write WIDTHxHEIGHT in pixels, at most \(sideLimit) each")
        }
        return Size(width: width, height: height)
    }

    /// The file may have been replaced since the daemon looked at it, so this must not wait for a
    /// FIFO.
    private static func bytes(of path: String, atMost limit: Int) throws(Fault) -> [UInt8] {
        let file: FileDescriptor
        do throws(SystemError) {
            file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        } catch {
            throw Fault(description: "\(error)")
        }
        var status = stat()
        guard unsafe fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Fault(description: "\(path) is not a file")
        }
        guard status.st_size <= limit else {
            throw Fault(description: "\(path) has more than \(limit) bytes")
        }
        do throws(SystemError) { return try file.readBytes(atMost: limit) } catch {
            throw Fault(description: "\(error)")
        }
    }
}
