import Glibc
import GreenroomControl
import GreenroomLinux

extension Caller {
    /// Executes a program in this process's place. One without a path is looked for in PATH
    /// (execvp(3)).
    ///
    /// - Parameters:
    ///   - words: the program's arguments, with its name first.
    ///   - program: the program; nil for the first word.
    ///   - reason: why this program is executed and not an app, for somebody who looks for a fault.
    /// - Returns: the exit code if that is impossible.
    static func execute(
        _ words: [ByteString], at program: String? = nil, because reason: String? = nil,
        _ console: any Console
    ) -> Int32 {
        let program = program ?? words[0].shown
        if let reason, unsafe getenv("GREENROOM_DEBUG") != nil {
            console.complain("\(reason): executing \(program)")
        }
        var pointers = unsafe words.map { unsafe $0.copiedCString } + [nil]
        unsafe execvp(program, &pointers)
        let error = SystemError(code: errno, call: "execve", subject: program)
        console.complain(error.description)
        return error.code == ENOENT ? 127 : 126
    }
}
