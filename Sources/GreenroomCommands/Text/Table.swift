/// Columns for people: as wide as their widest cell, two spaces apart.
struct Table {
    private var rows: [[String]]

    init(_ titles: String...) { rows = [titles] }

    mutating func add(_ cells: String...) { rows.append(cells) }

    var isEmpty: Bool { rows.count == 1 }

    var text: String {
        var widths = [Int](repeating: 0, count: rows[0].count)
        for row in rows {
            for (column, cell) in row.enumerated() {
                widths[column] = max(widths[column], cell.count)
            }
        }
        var text = ""
        for row in rows {
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                let padding = widths[column] + 2 - cell.count
                line += String(repeating: " ", count: padding)
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}
