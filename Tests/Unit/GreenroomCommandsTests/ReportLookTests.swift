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

    /// Reads a picture without a library. It prints the size and the colour of the corner, and then
    /// a line for each card, from the top. For each colour, the line has the number of its pixels,
    /// and the first and the last column with that colour. A card is where the column 40 pixels
    /// from the right edge does not have the page's colour: there, a card has only its background.
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
        raw, row, cards, card = zlib.decompress(packed), bytearray(width * size), [], None
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
            if y == 0: first = line[:3]
            edge = (width - 40) * size
            if line[edge:edge + 3] == first: card = None
            else:
                if card is None:
                    card = {}
                    cards.append(card)
                for x in range(width):
                    colour = bytes(line[x * size:x * size + 3])
                    seen = card.get(colour)
                    if seen is None: card[colour] = [1, x, x]
                    else:
                        seen[0] += 1
                        if x < seen[1]: seen[1] = x
                        if x > seen[2]: seen[2] = x
            row = line
        print(width, height, first.hex())
        for card in cards:
            words = []
            for wanted in map(bytes.fromhex, sys.argv[2:]):
                # What is half transparent may be rounded otherwise.
                some = [seen for colour, seen in card.items()
                        if all(abs(a - b) <= 1 for a, b in zip(colour, wanted))]
                words += [sum(seen[0] for seen in some), min((seen[1] for seen in some), default=-1),
                          max((seen[2] for seen in some), default=-1)]
            print(*words)
        """

    struct Scheme: Sendable, CustomTestStringConvertible {
        let name: String
        /// The scheme's number in `--blink-settings=preferredColorScheme=`.
        let number: Int
        let page: String
        /// The colours in the order of `Colour`.
        let colours: [String]
        var testDescription: String { name }
    }

    enum Colour: Int { case card, prewarmed, cold, anew, warm, memory, ink }

    private static let light = Scheme(
        name: "light", number: 1, page: "f4f3ee",
        colours: ["fcfcfb", "2a78d6", "d9531e", "c98500", "b7d3f6", "ade1ce", "0b0b0b"])
    private static let dark = Scheme(
        name: "dark", number: 0, page: "0d0d0d",
        colours: ["1a1a19", "5a9ff0", "f0763f", "e0a52e", "1c4a85", "1a4837", "ffffff"])

    /// The pictures in their order on the page, each with its card and the colours that it shows
    /// over the whole week.
    private static let charts: [(name: String, card: Int, colours: [Colour])] = [
        ("launches", 1, [.prewarmed, .cold]), ("warmth", 2, [.warm, .prewarmed, .cold]),
        ("memory", 3, [.memory]),
    ]

    // MARK: Tests

    @Test(arguments: [light, dark])
    func `a browser shows every picture in the reader's colours`(scheme: Scheme) throws {
        let kept = getenv("KEEP_PICTURES").map { String(cString: $0) }
        let (cards, text) = try look(at: Self.page, scheme, in: kept)
        #expect(cards.count == 5, "\(text)")
        #expect(cards.map { $0[.card].count }.reduce(0, +) > 500_000, "\(text)")
        #expect(cards[0][.ink].count > 100, "no figures: \(text)")
        #expect(Self.missing(in: cards) == [], "\(text)")
        // One launch of the week was started anew.
        #expect(cards[1][.anew].count > 20, "\(text)")
        #expect(cards[4][.ink].count > 100, "no table: \(text)")
    }

    /// Shows that the test above notices an empty picture.
    @Test(arguments: [0, 1, 2])
    func `a picture that is empty is missed`(number: Int) throws {
        var page = Self.page
        let picture = page.ranges(of: "<svg ")[number].upperBound
        let start = try #require(page[picture...].firstIndex(of: ">"))
        let end = try #require(page[picture...].firstRange(of: "</svg>")).lowerBound
        page.removeSubrange(page.index(after: start)..<end)
        let (cards, text) = try look(at: page, Self.light)
        #expect(Self.missing(in: cards) == [Self.charts[number].name], "\(text)")
    }

    @Test func `a browser's document has every shape`() throws {
        let dom = try browse(Self.page, ["--dump-dom"])
        let charts = try dom.ranges(of: "<svg ").map { start in
            let end = try #require(dom[start.upperBound...].firstRange(of: "</svg>"))
            return dom[start.upperBound..<end.lowerBound]
        }
        try #require(charts.count == 3, "\(dom)")
        func count(_ chart: Int, _ text: String) -> Int { charts[chart].ranges(of: text).count }
        for chart in 0..<3 { #expect(count(chart, "role=\"img\" aria-label=\"") == 1) }
        // 55 launches, each with a paused instance before it, and one that is paused now.
        #expect(count(0, "<circle ") == 55)
        #expect(count(1, "<rect class=\"warm\"") == 56 && count(1, "<rect ") == 56 + 55)
        // A line goes up and down for each instance.
        #expect(count(2, "<path class=\"memory\"") == 1 && count(2, "L") >= 56 * 4)
        // One axis has the names of seven days; the other has powers of ten, apps, or sizes.
        for chart in 0..<3 { #expect(count(chart, "<text ") >= 6 + 3, "\(charts[chart])") }
    }

    // MARK: Looking

    /// Where a card has a colour, and how often.
    struct Shade {
        let count: Int
        let columns: ClosedRange<Int>
    }

    struct Card {
        let shades: [Shade]
        subscript(colour: Colour) -> Shade { shades[colour.rawValue] }
    }

    /// The pictures that lack one of their colours, or have it only in a few places.
    private static func missing(in cards: [Card]) -> [String] {
        charts.filter { chart in
            guard cards.indices.contains(chart.card) else { return true }
            return !chart.colours.allSatisfy {
                let shade = cards[chart.card][$0]
                return shade.count > 100 && shade.columns.count > 600
            }
        }.map(\.name)
    }

    /// - Parameter kept: the folder in which the picture stays.
    private func look(
        at page: String, _ scheme: Scheme, in kept: String? = nil
    ) throws -> ([Card], String) {
        let folder = try TemporaryDirectory()
        let picture = "\(kept ?? folder.path)/\(scheme.name).png"
        _ = try browse(
            page,
            [
                "--blink-settings=preferredColorScheme=\(scheme.number)",
                "--window-size=1100,1500", "--hide-scrollbars", "--screenshot=\(picture)",
            ])
        let python = try #require(findProgram("python3"))
        let read = try TestSupport.run(
            ChildRequest(
                python, arguments: [python, "-c", Self.reader, picture] + scheme.colours),
            mergingErrors: true)
        let text = String(decoding: read.output, as: UTF8.self)
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        try #require(lines.first == ["1100", "1500", Substring(scheme.page)], "\(text)")
        let cards = try lines.dropFirst().map { line in
            let numbers = line.compactMap { Int($0) }
            try #require(numbers.count == 3 * scheme.colours.count, "\(text)")
            return Card(
                shades: stride(from: 0, to: numbers.count, by: 3).map {
                    Shade(count: numbers[$0], columns: numbers[$0 + 1]...numbers[$0 + 2])
                })
        }
        return (cards, text)
    }

    private func browse(_ page: String, _ options: [String]) throws -> String {
        let browser = findProgram("chromium", "chromium-browser", "google-chrome")
        try requireOrSkip(browser != nil, "there is no Chromium, which looks at the report")
        let folder = try TemporaryDirectory()
        try folder.write(page, to: "report.html")
        let (exit, output) = try TestSupport.run(
            ChildRequest(
                browser!,
                arguments: [
                    browser!, "--headless", "--no-sandbox", "--disable-gpu",
                    "--disable-dev-shm-usage", "--log-level=3",
                    "--user-data-dir=\(folder.path)/profile",
                ] + options + ["file://\(folder.path)/report.html"],
                environment: ["HOME=\(folder.path)", "PATH=/usr/bin:/bin"]))
        let text = String(decoding: output, as: UTF8.self)
        try #require(exit == .status(0), "\(text)")
        return text
    }
}
