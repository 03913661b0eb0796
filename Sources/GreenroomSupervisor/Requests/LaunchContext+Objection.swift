internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux

// Descriptors are checked before the launch. If the app were the first to notice a descriptor of
// the wrong kind, a paused instance would be lost, and the app would seem to have failed.

extension LaunchContext {
    /// Refuses descriptors that cannot be what the call says. Each descriptor that is looked at
    /// costs a system call.
    func checkDescriptors() throws(ControlError) {
        if takesTerminal { try checkTerminal() }
        if let workingDirectory, !workingDirectory.isDirectory {
            throw .refused(
                code: "working_directory",
                reason: "the descriptor of the working directory is not a directory's; pass one "
                    + "that was opened with O_DIRECTORY (O_PATH will do)")
        }
    }

    private func checkTerminal() throws(ControlError) {
        guard
            !standardStreams.contains(where: {
                $0.map { $0.isCharacterDevice && Terminal.isTerminal($0.rawValue) } ?? false
            })
        else { return }
        throw .refused(
            code: "no_terminal",
            reason: "the call asks for a terminal, but no standard descriptor is one; pass "
                + "the far end of a new pty as standard input, output or error, or leave out "
                + "\"terminal\"")
    }
}

extension ControlError {
    /// Why the kernel refuses a descriptor that is a terminal.
    static let foreignTerminal =
        "the terminal among the standard descriptors is another session's; pass the far end of a new "
        + "pty, which belongs to no session yet"
}
