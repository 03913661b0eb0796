import AppFolders
import Glibc
import GreenroomControl

/// Programs of Greenroom that nobody calls by hand.
enum HelperProgram {
    /// The program's path: beside this program, or where `make install` puts such programs.
    static func find(_ name: String) throws(Failure) -> String {
        let own = AppFolderChange.target(of: "/proc/self/exe") ?? CommandLine.arguments[0]
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
        let parent = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
        let candidates = [folder, parent + "/lib/greenroom"].map { "\($0)/\(name)" }
        if let path = candidates.first(where: { unsafe access($0, X_OK) == 0 }) { return path }
        throw .control(
            .refused(
                code: "no_helper",
                reason:
                    "\(candidates[1]) is missing; install Greenroom again, with \"make install\" or "
                    + "its package"))
    }
}
