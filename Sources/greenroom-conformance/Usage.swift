/// The command line, as `greenroomctl conformance` passes it on.
struct Usage {
    private(set) var only: [Int] = []
    /// Seconds.
    private(set) var timeout: Int32 = 10
    private(set) var showsOutput = false
    private(set) var list = false
    private(set) var command: [String] = []

    struct Wrong: Error { let words: String }

    init(_ words: ArraySlice<String>, checkCount: Int) throws(Wrong) {
        var rest = words
        loop: while let word = rest.popFirst() {
            switch word {
            case "--":
                command = Array(rest)
                break loop
            case "--list": list = true
            case "--show-output": showsOutput = true
            case "--only":
                let number = rest.popFirst().flatMap { Int($0) } ?? 0
                guard 1...checkCount ~= number else {
                    throw Wrong(words: "There is no check \(number); they are 1 to \(checkCount).")
                }
                only.append(number)
            case "--timeout":
                guard let seconds = rest.popFirst().flatMap({ Int32($0) }), 1...3600 ~= seconds
                else {
                    throw Wrong(words: "--timeout takes 1 to 3600 seconds.")
                }
                timeout = seconds
            default: throw Wrong(words: "Unknown option \(word).")
            }
        }
        guard list || !command.isEmpty else {
            throw Wrong(words: "Name the app's command line after \"--\".")
        }
    }
}
