/// A rectangle of pixels.
struct Pixels: Hashable, Sendable {
    var width: Int
    var height: Int
    /// 0xAARRGGBB, row by row; not multiplied by the alpha.
    var values: [UInt32]

    init(width: Int, height: Int, _ value: UInt32) {
        (self.width, self.height) = (width, height)
        values = Array(repeating: value, count: width * height)
    }

    /// Draws `other` over these pixels, each of its pixels as a square with sides of `scale` pixels.
    /// Whatever does not fit is cut off.
    mutating func draw(_ other: Pixels, x: Int, y: Int, scale: Int = 1) {
        let (right, bottom) = (other.width * scale, other.height * scale)
        for row in max(0, -y)..<max(max(0, -y), min(bottom, height - y)) {
            let start = row / scale * other.width
            for column in max(0, -x)..<max(max(0, -x), min(right, width - x)) {
                let at = (y + row) * width + x + column
                values[at] = Self.blend(other.values[start + column / scale], over: values[at])
            }
        }
    }

    private static func blend(_ upper: UInt32, over lower: UInt32) -> UInt32 {
        let alpha = upper >> 24
        if alpha == 255 { return upper }
        if alpha == 0 { return lower }
        var result: UInt32 = 0xff00_0000
        for shift: UInt32 in [0, 8, 16] {
            let (a, b) = (upper >> shift & 255, lower >> shift & 255)
            result |= ((a * alpha + b * (255 - alpha) + 127) / 255) << shift
        }
        return result
    }

    // MARK: Portable Arbitrary Map

    /// In pixels, for each side.
    static let iconSideLimit = 1024
    /// The pixels of the largest icon, and its header.
    static let fileByteLimit = iconSideLimit * iconSideLimit * 4 + headerByteLimit
    /// More than any header needs, which has a few lines.
    private static let headerByteLimit = 4096

    /// A picture in the PAM format (pam(5) of Netpbm), in colour with or without transparency: the
    /// simplest format that has both, and one that every converter writes.
    init(portableMap bytes: [UInt8]) throws(ScreenDescription.Fault) {
        func fault(_ text: String) -> ScreenDescription.Fault {
            .init(
                description: "\(text); make the icon by "
                    + "\"ffmpeg -i ICON -pix_fmt rgba ICON.pam\"")
        }
        var rest = bytes[...]
        guard rest.starts(with: Array("P7\n".utf8)) else { throw fault("not a PAM picture") }
        rest.removeFirst(3)
        var numbers: [String: Int] = [:]
        while true {
            guard let end = rest.prefix(Self.headerByteLimit).firstIndex(of: UInt8(ascii: "\n"))
            else { throw fault("the header does not end") }
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            guard end < Self.headerByteLimit else { throw fault("the header does not end") }
            if line == "ENDHDR" { break }
            let words = line.split(separator: " ")
            if words.count == 2, let number = Int(words[1]) { numbers[String(words[0])] = number }
        }
        guard let width = numbers["WIDTH"], let height = numbers["HEIGHT"],
            (1...Self.iconSideLimit).contains(width), (1...Self.iconSideLimit).contains(height)
        else { throw fault("the sides are not 1 to \(Self.iconSideLimit) pixels") }
        guard let depth = numbers["DEPTH"], [3, 4].contains(depth), numbers["MAXVAL"] == 255 else {
            throw fault("not in colour, with 8 bits for each")
        }
        guard rest.count >= width * height * depth else { throw fault("there are too few pixels") }
        (self.width, self.height) = (width, height)
        values = []
        values.reserveCapacity(width * height)
        var at = rest.startIndex
        for _ in 0..<width * height {
            let color =
                UInt32(rest[at]) << 16 | UInt32(rest[at + 1]) << 8 | UInt32(rest[at + 2])
            values.append((depth == 4 ? UInt32(rest[at + 3]) : 255) << 24 | color)
            at += depth
        }
    }
}

extension Pixels {
    /// A line of text in the built-in font, each dot of which has `scale` pixels on a side.
    init(text: String, color: UInt32, scale: Int) {
        var columns: [UInt8] = []
        for character in text.unicodeScalars { columns += DotFont.columns(of: character) + [0] }
        self.init(
            width: max(1, columns.count * scale), height: DotFont.height * scale, color & 0xff_ffff)
        for (x, column) in columns.enumerated() {
            for y in 0..<DotFont.height where column >> UInt8(y) & 1 == 1 {
                for row in 0..<scale {
                    let start = (y * scale + row) * width + x * scale
                    for at in start..<start + scale { values[at] = 0xff00_0000 | color }
                }
            }
        }
    }
}

extension ScreenDescription {
    private static let textScale = 3
    /// The distance between the icon and the name.
    private static let gap = 24

    /// The icon above the name. Each pixel of a part becomes a square with sides of its `scale`.
    private func parts(scale: Int) -> [(pixels: Pixels, scale: Int)] {
        let text = name.isEmpty ? nil : Pixels(text: name, color: textColor, scale: Self.textScale)
        let icon =
            if let fineIcon, scale.isMultiple(of: 2) { (fineIcon, scale / 2) } else {
                icon.map { ($0, scale) }
            }
        return [icon, text.map { ($0, scale) }].compactMap(\.self)
    }

    /// The size that is just large enough for the icon and the name.
    ///
    /// - Parameter scale: the number of pixels for one of the description.
    func contentSize(scale: Int = 1) -> Size {
        let parts = parts(scale: scale)
        let gaps = Self.gap * scale * max(0, parts.count - 1)
        return Size(
            width: max(1, parts.map { $0.pixels.width * $0.scale }.max() ?? 1),
            height: max(1, parts.map { $0.pixels.height * $0.scale }.reduce(gaps, +)))
    }

    /// The icon above the name, in the middle of a rectangle of the background colour.
    func picture(width: Int, height: Int, scale: Int = 1) -> Pixels {
        var result = Pixels(width: width, height: height, 0xff00_0000 | color)
        var y = (height - contentSize(scale: scale).height) / 2
        for part in parts(scale: scale) {
            let x = (width - part.pixels.width * part.scale) / 2
            result.draw(part.pixels, x: x, y: y, scale: part.scale)
            y += part.pixels.height * part.scale + Self.gap * scale
        }
        return result
    }
}
