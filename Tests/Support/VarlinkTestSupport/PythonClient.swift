import Glibc
import TestSupport

/// The `varlink` package of PyPI, in its own virtual environment.
public enum PythonClient {
    /// The interpreter that has the package. Installs it if necessary.
    public static let interpreter: String? = {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let directory = "/\(root)/.build/python-varlink"
        let python = directory + "/bin/python"
        if shell("\(python) -c 'import varlink'").status == 0 { return python }
        let made = shell(
            "python3 -m venv \(directory) && \(directory)/bin/pip install -q varlink==31.0.0")
        return made.status == 0 ? python : nil
    }()

    /// Runs a program that may `import varlink`.
    public static func run(
        _ program: String, arguments: [String]
    ) -> (status: Int32, output: String) {
        let words = [interpreter ?? "python3", "-c", program] + arguments
        return shell(words.map(quote).joined(separator: " "))
    }

    /// For `.enabled(if:)`: prints the reason if the package is missing. With REQUIRE_ALL=1 the
    /// answer is always true, so that the test fails instead.
    public static var isThere: Bool {
        let requiresAll = getenv("REQUIRE_ALL").map { String(cString: $0) } == "1"
        if interpreter != nil || requiresAll { return true }
        print("skipped: no Python package varlink, and it could not be installed")
        return false
    }

    private static func quote(_ word: String) -> String {
        "'"
            + word.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "'\\''") + "'"
    }

    /// Runs a shell command, which inherits no descriptor of other tests; the output is standard output
    /// and standard error together.
    public static func shell(_ command: String) -> (status: Int32, output: String) {
        let request = ChildRequest(
            "/bin/sh", arguments: ["sh", "-c", "{ \(command)\n}"],
            environment: inheritedEnvironment())
        do {
            let (exit, output) = try TestSupport.run(request, mergingErrors: true)
            let text = String(decoding: output, as: UTF8.self)
            guard case .status(let status) = exit else { return (0, text) }
            return (status, text)
        } catch {
            return (-1, "\(error)")
        }
    }
}
