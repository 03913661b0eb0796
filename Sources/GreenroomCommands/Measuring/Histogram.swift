/// A distribution as one line of text: the darker a cell, the more values fall into its range.
struct Histogram {
    private static let marks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private let from: Double
    private let to: Double
    private let width: Int

    /// - Parameters:
    ///   - values: the values of all lines, from which the common scale is made. The scale is
    ///     logarithmic, because the times of different ways to start differ by factors.
    init(of values: [UInt64], width: Int) {
        self.width = width
        from = Self.place(values.min() ?? 1)
        to = max(Self.place(values.max() ?? 1), from + 0.01)
    }

    func line(_ values: [UInt64]) -> String {
        var counts = [Int](repeating: 0, count: width)
        for value in values {
            let cell = Int((Self.place(value) - from) / (to - from) * Double(width))
            counts[min(width - 1, max(0, cell))] += 1
        }
        let most = max(1, counts.max() ?? 1)
        return String(
            counts.map { count in
                count == 0
                    ? Self.marks[0]
                    : Self.marks[max(1, count * (Self.marks.count - 1) / most)]
            })
    }

    /// The logarithm to base 2, linear between powers of 2: no C library's function is needed, and
    /// the eye sees no difference.
    private static func place(_ value: UInt64) -> Double {
        let value = max(1, value)
        let exponent = 63 - value.leadingZeroBitCount
        return Double(exponent) + Double(value) / Double(UInt64(1) << UInt64(exponent)) - 1
    }
}
