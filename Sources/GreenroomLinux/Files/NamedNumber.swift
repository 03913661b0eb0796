/// A number in a text of the kernel that has a name and a number in each line:
/// `MemTotal:       16318484 kB`, `oom_kill 0`.
///
/// Such texts are read while somebody waits for a launch or a thaw. To split /proc/meminfo as a
/// string takes 40 microseconds, which is longer than a thaw; this takes one.
enum NamedNumber {
    /// The number in the first line that begins with the name.
    ///
    /// - Parameter name: the name with the separator that follows it, so that it does not match the
    ///   beginning of a longer name.
    /// - Returns: nil if there is no such line, or it has no number that fits.
    static func first(_ name: String, in text: String) -> UInt64? {
        let (text, name) = (text.utf8Span.span, name.utf8Span.span)
        var line = 0
        while line < text.count {
            var end = line
            while end - line < name.count, end < text.count, text[end] == name[end - line] {
                end += 1
            }
            if end - line == name.count { return number(in: text, at: end) }
            while end < text.count, text[end] != UInt8(ascii: "\n") { end += 1 }
            line = end + 1
        }
        return nil
    }

    private static func number(in text: Span<UInt8>, at start: Int) -> UInt64? {
        var start = start
        while start < text.count, text[start] == UInt8(ascii: " ") { start += 1 }
        var (end, number) = (start, UInt64(0))
        while end < text.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[end] {
            let digit = UInt64(text[end] - UInt8(ascii: "0"))
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(digit)
            if isTooLarge || isLarger { return nil }
            number = sum
            end += 1
        }
        return end > start ? number : nil
    }
}
