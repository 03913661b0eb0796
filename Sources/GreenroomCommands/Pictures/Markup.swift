/// Text of HTML and SVG. Whatever came from the daemon goes through `escaped`.
enum Markup {
    /// A text for the page, or for an attribute in quotation marks.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.harmless.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func number(_ value: Double) -> String { Phrase.decimal(value, places: 1) }

    /// A text that is shown while the pointer rests on a shape, and that is read aloud.
    static func tip(_ text: String) -> String { "<title>\(escaped(text))</title>" }

    static func rectangle(
        _ style: String, x: Double, y: Double, width: Double, height: Double, tip: String? = nil
    ) -> String {
        let body = tip.map { ">" + Self.tip($0) + "</rect>" } ?? "/>"
        return "<rect class=\"\(style)\" x=\"\(number(x))\" y=\"\(number(y))\" "
            + "width=\"\(number(width))\" height=\"\(number(height))\"\(body)\n"
    }

    static func line(
        _ style: String, from: (x: Double, y: Double), to: (x: Double, y: Double)
    ) -> String {
        "<line class=\"\(style)\" x1=\"\(number(from.x))\" y1=\"\(number(from.y))\" "
            + "x2=\"\(number(to.x))\" y2=\"\(number(to.y))\"/>\n"
    }

    static func label(
        _ text: String, x: Double, y: Double, anchor: String = "start", style: String = "label"
    ) -> String {
        "<text class=\"\(style)\" x=\"\(number(x))\" y=\"\(number(y))\" "
            + "text-anchor=\"\(anchor)\">\(escaped(text))</text>\n"
    }
}
