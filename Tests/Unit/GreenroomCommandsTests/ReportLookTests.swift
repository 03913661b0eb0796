import Glibc
import GreenroomControl
import TestSupport
import Testing

@testable import GreenroomCommands

/// The report as a browser shows it, in both of the reader's colour schemes. With KEEP_PICTURES=FOLDER
/// the pictures stay there, to be looked at.
@Suite struct ReportLookTests {
    /// A week of three apps, with a launch every few hours.
    private static var page: String {
        var launches: [Control.LaunchRecord] = []
        var pauses: [Control.PauseRecord] = []
        for hours in stride(from: Int64(166), through: 2, by: -3) {
            let app = ["org.example.editor", "org.example.player", "org.example.terminal"][
                Int(hours % 7 % 3)]
            let kind: Control.LaunchKind =
                hours % 5 == 0 ? .cold : hours % 29 == 0 ? .startedAnew : .prewarmed
            launches.append(
                PictureTests.launch(
                    app, kind, hoursAgo: hours,
                    ready: kind == .prewarmed ? 18_000 + hours * 100 : 240_000 + hours * 900))
            pauses.append(
                PictureTests.pause(app, kind == .cold ? nil : kind, hoursAgo: hours + 1))
        }
        return ReportPage(
            TimeSpan(from: PictureTests.now - 168 * PictureTests.hour, to: PictureTests.now),
            launches, pauses, paused: [PictureTests.pause("org.example.editor", nil, hoursAgo: 1)]
        ).html
    }

    /// Reads a picture without a library: the least that tells whether it shows anything. It prints
    /// the size, the colour of the corner, and how many pixels have each of the colours.
    private static let reader = """
        import struct, sys, zlib
        data = open(sys.argv[1], "rb").read()
        width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
        assert depth == 8 and kind in (2, 6), (depth, kind)
        size = 3 if kind == 2 else 4
        place, packed = 8, b""
        while place < len(data):
            length, name = struct.unpack(">I4s", data[place:place + 8])
            if name == b"IDAT":
                packed += data[place + 8:place + 8 + length]
            place += 12 + length
        raw, row, pixels = zlib.decompress(packed), bytearray(width * size), {}
        for y in range(height):
            start = y * (width * size + 1)
            how, line = raw[start], bytearray(raw[start + 1:start + 1 + width * size])
            for x in range(width * size):
                left = line[x - size] if x >= size else 0
                up, corner = row[x], row[x - size] if x >= size else 0
                if how == 1: line[x] = line[x] + left & 255
                elif how == 2: line[x] = line[x] + up & 255
                elif how == 3: line[x] = line[x] + (left + up) // 2 & 255
                elif how == 4:
                    guess = left + up - corner
                    by = (abs(guess - left), abs(guess - up), abs(guess - corner))
                    line[x] = line[x] + (left, up, corner)[by.index(min(by))] & 255
            for x in range(0, width * size, size):
                colour = line[x:x + 3].hex()
                pixels[colour] = pixels.get(colour, 0) + 1
            if y == 0: first = line[:3].hex()
            row = line
        print(width, height, first, *(pixels.get(colour, 0) for colour in sys.argv[2:]))
        """

    struct Scheme: Sendable, CustomTestStringConvertible {
        let name: String
        /// What `--blink-settings=preferredColorScheme=` calls it.
        let number: Int
        /// The page; then cards, prewarmed and cold launches, and bars.
        let page: String
        let colours: [String]
        var testDescription: String { name }
    }

    @Test(
        arguments: [
            Scheme(
                name: "light", number: 1, page: "f4f3ee",
                colours: ["fcfcfb", "2a78d6", "d9531e", "b7d3f6"]),
            Scheme(
                name: "dark", number: 0, page: "0d0d0d",
                colours: ["1a1a19", "5a9ff0", "f0763f", "1c4a85"]),
        ])
    func `a browser shows the pictures in the reader's colours`(scheme: Scheme) throws {
        let browser = findProgram("chromium", "chromium-browser", "google-chrome")
        try requireOrSkip(browser != nil, "there is no Chromium, which looks at the report")
        let folder = try TemporaryDirectory()
        try folder.write(Self.page, to: "report.html")
        let kept = getenv("KEEP_PICTURES").map { String(cString: $0) }
        let picture = "\(kept ?? folder.path)/\(scheme.name).png"
        let (exit, output) = try TestSupport.run(
            ChildRequest(
                browser!,
                arguments: [
                    browser!, "--headless", "--no-sandbox", "--disable-gpu",
                    "--disable-dev-shm-usage", "--user-data-dir=\(folder.path)/profile",
                    "--blink-settings=preferredColorScheme=\(scheme.number)",
                    "--window-size=1100,1500", "--hide-scrollbars", "--screenshot=\(picture)",
                    "file://\(folder.path)/report.html",
                ], environment: ["HOME=\(folder.path)", "PATH=/usr/bin:/bin"]),
            mergingErrors: true)
        try #require(exit == .status(0), "\(String(decoding: output, as: UTF8.self))")
        let python = try #require(findProgram("python3"))
        let read = try TestSupport.run(
            ChildRequest(
                python, arguments: [python, "-c", Self.reader, picture] + scheme.colours),
            mergingErrors: true)
        let text = String(decoding: read.output, as: UTF8.self)
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        try #require(words.count == 3 + scheme.colours.count, "\(text)")
        #expect(words[..<3] == ["1100", "1500", scheme.page])
        let counts = words[3...].compactMap { Int($0) }
        // The cards fill most of the page; dots, lines and bars are small.
        #expect(counts[0] > 500_000)
        #expect(counts.dropFirst().allSatisfy { $0 > 100 }, "\(counts)")
    }
}
