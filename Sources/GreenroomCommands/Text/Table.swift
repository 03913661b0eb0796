/// A table for humans. Its columns are as wide as their widest cell and two spaces apart. If the
/// terminal is not wide enough, the widest cells lose their middle.
struct Table {
    private struct Cell {
        var text: String
        var style: Style?
    }
    private var rows: [[Cell]]

    init(_ titles: String...) { self.init(titles) }

    init(_ titles: [String]) {
        rows = [titles.map { Cell(text: $0, style: .heading) }]
    }

    mutating func add(_ cells: String...) { add(cells, styles: [:]) }

    /// - Parameter styles: the styles by column, counted from 0.
    mutating func add(_ cells: [String], styles: [Int: Style]) {
        rows.append(
            cells.enumerated().map { Cell(text: $1.harmless, style: styles[$0]) })
    }

    var isEmpty: Bool { rows.count == 1 }

    /// The table as it is written to a file.
    var text: String { text(.plain) }

    func text(_ appearance: Appearance) -> String {
        var widths = [Int](repeating: 0, count: rows[0].count)
        for row in rows {
            for (column, cell) in row.enumerated() {
                widths[column] = max(widths[column], cell.text.cellCount)
            }
        }
        if let columns = appearance.columns { shrink(&widths, to: columns) }
        var text = ""
        for row in rows { text += line(row, widths, appearance) + "\n" }
        return text
    }

    private func line(_ row: [Cell], _ widths: [Int], _ appearance: Appearance) -> String {
        var line = ""
        var padding = 0
        for (cell, width) in zip(row, widths) {
            let text = cell.text.ellipsized(to: width)
            if !text.isEmpty { line += String(repeating: " ", count: padding) }
            padding = (text.isEmpty ? padding : 0) + width + 2 - text.cellCount
            line += appearance.styled(text, cell.style)
        }
        return line
    }

    /// The least width of a column. A terminal that is still too narrow wraps.
    private static let leastWidth = 8

    /// Makes the widest columns equally narrow, so that all columns fit.
    private func shrink(_ widths: inout [Int], to columns: Int) {
        let gaps = 2 * (widths.count - 1)
        func total(_ cap: Int) -> Int { widths.reduce(gaps) { $0 + min($1, cap) } }
        var cap = widths.max() ?? 0
        while cap > Self.leastWidth, total(cap) > columns { cap -= 1 }
        widths = widths.map { min($0, cap) }
    }
}
