/// An interpreter whose processes can pause after their boot, before they look at their program: at
/// that point, a file of the daemon's (`Sources/Runtimes`) runs in them and waits for a launch.
enum Runtime: String, CaseIterable, Hashable, Sendable {
    case python, node, ruby, perl, java, r, emacs

    /// The interpreter that an executable is, by the last part of its real path.
    init?(executable path: String) {
        let parts = path.split(separator: "/")
        guard let name = parts.last else { return nil }
        switch name {
        case "node", "nodejs": self = .node
        case "java": self = .java
        case "R" where parts.suffix(3).elementsEqual(["bin", "exec", "R"]): self = .r
        case "emacs": self = .emacs
        case _ where name.hasPrefix("emacs-"): self = .emacs
        case _ where Self.isVersion(name.dropFirst(6), of: "python", name, atLeast: 3):
            self = .python
        case _ where Self.isVersion(name.dropFirst(4), of: "ruby", name, atLeast: 0): self = .ruby
        case _ where Self.isVersion(name.dropFirst(4), of: "perl", name, atLeast: 0): self = .perl
        case _: return nil
        }
    }

    /// Whether the name is that of a program followed by nothing or by a version: `ruby`,
    /// `python3.11`, `perl5.36.0`.
    private static func isVersion(
        _ version: Substring, of program: String, _ name: Substring, atLeast major: Int
    ) -> Bool {
        guard name.hasPrefix(program) else { return false }
        guard !version.isEmpty else { return major == 0 }
        let numbers = version.split(separator: ".", omittingEmptySubsequences: false)
        guard numbers.allSatisfy({ UInt32($0) != nil }), let first = Int(numbers[0]) else {
            return false
        }
        return first >= major
    }

    /// The name for people.
    var title: String {
        switch self {
        case .python: "Python"
        case .node: "Node.js"
        case .ruby: "Ruby"
        case .perl: "Perl"
        case .java: "Java"
        case .r: "R"
        case .emacs: "Emacs"
        }
    }

    /// Whether the booted interpreter has descriptors open from 3 on, where a launch's would come.
    var opensDescriptors: Bool { self != .python }

    /// Whether the interpreter raises its soft limit on open files to the hard one when it boots.
    /// It would do so for every launch, whatever limit the launch's caller has.
    var raisesOpenFileLimit: Bool {
        switch self {
        case .node, .java: true
        case .python, .ruby, .perl, .r, .emacs: false
        }
    }

    /// The number of bytes to which the interpreter raises a lower soft limit on the size of the
    /// stack when it boots (Emacs: for its regular expressions). If a version uses another number,
    /// an instance has another limit than its launch, which is then cold.
    var leastStackLimit: UInt64? { self == .emacs ? 10_022_912 : nil }
}
