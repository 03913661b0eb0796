import Glibc
import GreenroomControl

/// Thrown if this process must become greenroomctl. The error has no reason, because greenroomctl
/// meets the same problem and reports it.
struct HandOver: Error {
    /// The launch that may have been made, with the app's full identifier.
    private let run: AttachedRun?
    /// Whether the daemon has answered with an error, so that it has not done what it was asked.
    let isRefusal: Bool

    init(_ run: AttachedRun? = nil, isRefusal: Bool = false) {
        self.run = run
        self.isRefusal = isRefusal
    }

    /// Executes greenroomctl, which is in the same folder as this program.
    ///
    /// - Parameter words: this process's command line.
    /// - Returns: the exit code if that is impossible.
    func execute(_ words: [ByteString]) -> CInt {
        if let path = unsafe realpath("/proc/self/exe", nil) {
            let own = unsafe ByteString(cString: path).bytes
            let folder = own.prefix((own.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)
            let client = ByteString(bytes: Array(folder) + Array("greenroomctl".utf8))
            var pointers = unsafe arguments(words).map { unsafe $0.copiedCString } + [nil]
            if let program = unsafe client.copiedCString {
                unsafe execve(program, &pointers, environ)
            }
        }
        let complaint =
            "greenroom-run: greenroomctl, which must be in the same folder, cannot be executed\n"
        var text = Array(complaint.utf8)
        _ = unsafe write(2, &text, text.count)
        return 125
    }

    private func arguments(_ words: [ByteString]) -> [ByteString] {
        guard let run, let begun = run.begun else {
            return LinkedRun(words) != nil ? words : ["greenroomctl", "run"] + words.dropFirst()
        }
        var words: [ByteString] = [
            "greenroomctl", "run", .text(run.app), .text(BegunLaunch.option), .text(begun.word),
        ]
        for variable in run.environment { words += ["--env", variable] }
        if let socket = run.socket { words += ["--socket", .text(socket)] }
        if !run.isAttached {
            words.append(.text(AttachedRun.launchOption))
        } else if run.terminalUse == .never {
            words.append("--pipe")
        }
        return words + ["--"] + run.arguments
    }
}
