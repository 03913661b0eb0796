import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs of R, which Rscript(1) starts, and whose packages the daemon learns from their launches.
/// The packages of these tests are R's own.
@Suite struct PackageLearningTests {
    private static func bench(_ program: String) throws -> RuntimeBench {
        try requireOrSkip(access("/usr/bin/Rscript", X_OK) == 0, "no /usr/bin/Rscript")
        return try RuntimeBench(
            ["/usr/bin/Rscript", "FOLDER/program.R"], files: ["program.R": program],
            prewarmLines: [])
    }

    @Test func `the second launch finds the first one's packages loaded`() throws {
        let bench = try Self.bench(
            """
            library(stats4)
            cat(commandArgs(TRUE), "stats4" %in% .packages(), "\\n")

            """)
        let first = try bench.launch(["a"])
        #expect(first.kind == .prewarmed)
        #expect(first.text == "a TRUE \n")
        let note = try bench.awaitList()
        #expect(note.text.contains("import 1 module "), "\(note)")
        let second = try bench.launch(["b"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "b TRUE \n")
        #expect(try bench.daemon.client().explain(RuntimeBench.app).startedAnewCount ?? 0 == 0)
    }
}
