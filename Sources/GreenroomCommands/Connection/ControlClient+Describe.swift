import Glibc
import GreenroomControl
import GreenroomLinux

extension ControlClient {
    /// How long the daemon may take to describe itself. It needs less than a millisecond.
    static let patience: CInt = 5000

    /// Describes the daemon, for callers that go on if it does not answer.
    ///
    /// - Parameter patience: in milliseconds.
    func describe(patience: CInt = patience) -> Result<Control.Description, Failure> {
        Result { () throws(Failure) in
            try send(.describe)
            while true {
                if case .described(let description)? = try bufferedReply(to: .describe) {
                    return description
                }
                do throws(SystemError) {
                    guard try PollEntry.wait(for: descriptor, POLLIN, milliseconds: patience) else {
                        throw SystemError(code: ETIMEDOUT, call: "poll")
                    }
                } catch {
                    throw .system(error)
                }
                try receive()
            }
        }
    }
}
