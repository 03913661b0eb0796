#if DEBUG
    internal import CApplicationKit
    internal import Glibc

    /// Finds methods of a delegate that look like methods of its protocol and are not, because a
    /// type or a label differs. They would never be called, and the compiler says nothing, because
    /// every method of the protocol has a default implementation. Only in debug builds, because it
    /// reads the program's symbol table.
    struct NearMisses {
        /// Demangled names of the class's functions, in full.
        private var functions: [String] = []
        /// The requirements of its protocols, without the protocol's name.
        private var requirements: Set<String> = []
        private var className: String?

        /// Writes what it finds to standard error, a line for each method.
        @MainActor static func warn(of delegate: AnyClass) {
            guard let mangled = _mangledTypeName(delegate) else { return }
            var found = NearMisses()
            unsafe withUnsafeMutablePointer(to: &found) { found in
                unsafe cak_each_function(
                    unsafeBitCast(delegate, to: UnsafeRawPointer.self), "$s" + mangled, found
                ) { context, name in
                    unsafe context!.assumingMemoryBound(to: NearMisses.self).pointee.take(
                        String(cString: name))
                }
            }
            for warning in found.warnings() {
                var line = "warning: \(warning)\n"
                line.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
            }
        }

        /// `protocol witness for MODULE.PROTOCOL.REQUIREMENT in conformance CLASS : …`, or the name
        /// of a function.
        mutating func take(_ name: String) {
            guard let rest = name.without(prefix: "protocol witness for ") else {
                return functions.append(name)
            }
            guard let parts = rest.parted(at: " in conformance "),
                let ends = parts.1.parted(at: " : ")
            else { return }
            className = ends.0
            guard let module = parts.0.parted(at: "."), let member = module.1.parted(at: "."),
                module.0.hasPrefix("ApplicationKit")
            else { return }
            requirements.insert(member.1)
        }

        func warnings() -> [String] {
            guard let className else { return [] }
            let methods = functions.compactMap { $0.without(prefix: className + ".") }
                .filter { Self.isMethod($0) && !requirements.contains($0) }
            let exact = Set(functions.compactMap { $0.without(prefix: className + ".") })
            let missing = requirements.subtracting(exact).filter(Self.isMethod).sorted()
            return methods.sorted().compactMap { method in
                let name = Self.fullName(of: method)
                if let same = missing.first(where: { Self.fullName(of: $0) == name }) {
                    return """
                        \(className).\(name) is never called, because its types differ: it is \
                        \(method), and the delegate's method is \(same)
                        """
                }
                let near = missing.first { Self.isNear(Self.fullName(of: $0), name) }
                return near.map {
                    "\(className).\(name) is never called; is \(Self.fullName(of: $0)) meant?"
                }
            }
        }

        /// False for accessors, initializers and declarations inside functions.
        private static func isMethod(_ name: String) -> Bool {
            let base = name.prefix { $0 != "(" }
            return base.count < name.count && !base.contains(".") && !base.contains(" ")
                && !["init", "__allocating_init"].contains(String(base))
        }

        /// The name with the labels, such as `application(_:open:options:)`.
        private static func fullName(of method: String) -> String {
            var name = String(method.prefix { $0 != "(" }) + "("
            var (depth, label, isLabeled) = (0, "", false)
            var former: Character = " "
            for character in method.dropFirst(name.count - 1) {
                defer { former = character }
                switch character {
                case "(", "[", "<": depth += 1
                case ">" where former == "-": break
                case ")", "]", ">": depth -= 1
                default: break
                }
                let isEnd = depth == 0 || (depth == 1 && character == ",")
                if isEnd && !isLabeled && !label.isEmpty { name += "_:" }
                if depth == 0 { break }
                if isEnd { (label, isLabeled) = ("", false) }
                if isEnd || isLabeled || depth > 1 || character == " " || character == "(" {
                    continue
                }
                if character == ":" { (name, isLabeled) = (name + label + ":", true) }
                label.append(character)
            }
            return name + ")"
        }

        /// Whether the names differ by at most three letters.
        private static func isNear(_ one: String, _ other: String) -> Bool {
            let limit = 3
            let (one, other) = (Array(one.utf8), Array(other.utf8))
            guard abs(one.count - other.count) <= limit, one.count >= 16 else { return false }
            var row = Array(0...other.count)
            for (line, letter) in one.enumerated() {
                var diagonal = row[0]
                row[0] = line + 1
                for column in other.indices {
                    let replaced = diagonal + (letter == other[column] ? 0 : 1)
                    diagonal = row[column + 1]
                    row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
                }
            }
            return row[other.count] <= limit
        }
    }

    extension String {
        fileprivate func without(prefix: String) -> String? {
            hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
        }

        /// The text before and after the first separator; nil if there is none.
        fileprivate func parted(at separator: String) -> (String, String)? {
            var rest = self[...]
            while !rest.isEmpty {
                if rest.hasPrefix(separator) {
                    return (
                        String(self[..<rest.startIndex]), String(rest.dropFirst(separator.count))
                    )
                }
                rest = rest.dropFirst()
            }
            return nil
        }
    }
#endif
