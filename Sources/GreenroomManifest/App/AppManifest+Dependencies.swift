public import UnitFile

extension AppManifest {
    /// Refuses apps that wait for each other in a circle, because they could never start. The error
    /// names the whole circle. An unknown app only causes a warning.
    public static func withoutCircles(
        _ manifests: [AppManifest], beside others: [(identifier: String, next: [String])] = []
    ) -> (manifests: [AppManifest], diagnostics: [Diagnostic]) {
        var search = CircleSearch(manifests, others)
        search.run()
        var diagnostics: [Diagnostic] = []
        for manifest in manifests {
            guard let dependencies = manifest.dependencies else { continue }
            func report(_ severity: Diagnostic.Severity, _ other: String, _ message: String) {
                let position = dependencies.positions[other] ?? Position(line: 1, column: 1)
                diagnostics.append(
                    Diagnostic(
                        severity: severity, file: manifest.file, position: position,
                        message: message))
            }
            if let circle = search.circles[manifest.identifier] {
                report(
                    .error, circle.count > 1 ? circle[1] : circle[0],
                    "the apps wait for each other in a circle: "
                        + (circle + [circle[0]]).joined(separator: " -> ")
                        + "; take one of these out of After= or Requires=")
            }
            for other in dependencies.all where !search.isKnown(other) {
                report(.warning, other, "no app \(other) is installed; ignoring it until it is")
            }
        }
        return (manifests.filter { search.circles[$0.identifier] == nil }, diagnostics)
    }
}

extension AppManifest.DependencySettings {
    fileprivate var all: [String] { Array(Set(after + requires + conflicts)).sorted() }
}

/// A depth-first search through After= and Requires=. An app that is found again on the path from
/// itself is in a circle.
private struct CircleSearch {
    private enum Mark { case onTheWay, done }
    private let next: [String: [String]]
    private let known: Set<String>
    private var marks: [String: Mark] = [:]
    private var way: [String] = []
    /// For each app that is in a circle, this circle, beginning with the app.
    private(set) var circles: [String: [String]] = [:]

    init(_ manifests: [AppManifest], _ others: [(identifier: String, next: [String])]) {
        known = Set(manifests.map(\.identifier)).union(others.map(\.identifier))
        var next = Dictionary(
            others.map { ($0.identifier, $0.next) }, uniquingKeysWith: { first, _ in first })
        for manifest in manifests {
            guard let dependencies = manifest.dependencies else { continue }
            next[manifest.identifier] = dependencies.requires + dependencies.after
        }
        self.next = next
    }

    func isKnown(_ app: String) -> Bool { known.contains(app) }

    mutating func run() {
        for app in next.keys.sorted() { visit(app) }
    }

    private mutating func visit(_ app: String) {
        switch marks[app] {
        case .done: return
        case .onTheWay: return note(way[way.firstIndex(of: app)!...])
        case nil: break
        }
        marks[app] = .onTheWay
        way.append(app)
        for other in next[app] ?? [] { visit(other) }
        way.removeLast()
        marks[app] = .done
    }

    private mutating func note(_ circle: ArraySlice<String>) {
        for index in circle.indices where circles[circle[index]] == nil {
            circles[circle[index]] = Array(circle[index...] + circle[..<index])
        }
    }
}
