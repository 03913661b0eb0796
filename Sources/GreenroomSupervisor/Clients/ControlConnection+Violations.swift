internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// What ends a connection because its client broke a rule.
extension ControlConnection {
    /// Ends the connection. A client that exceeded a limit gets an error; one that does not speak
    /// Varlink would not understand an error.
    func end(_ violation: ProtocolViolation) {
        switch violation {
        case .messageTooLong(let limit):
            end(.limitExceeded(what: "bytes in one message", limit: limit))
        case .tooManyValues(let limit):
            end(.limitExceeded(what: "values in one message", limit: limit))
        case .tooManyNames(let limit):
            end(.limitExceeded(what: "names in one message", limit: limit))
        case .tooManyDescriptors(let limit):
            end(.limitExceeded(what: "descriptors with one message", limit: limit))
        case .malformedMessage, .notAnObject, .missingMember, .unexpectedMember,
            .contradictoryFlags, .strayDescriptors, .unexpectedReply, .outputOverflow:
            close()
        }
    }
}

extension ControlError {
    /// Too many of the user's descriptors cannot be closed, because whoever serves their files does
    /// not answer.
    static let undisposable = limitExceeded(
        what: "descriptors of one user that are open or cannot be closed "
            + "(the server of a file does not answer)", limit: Disposer.Limit.waitingPerUser)

    static let waitedTooLong = limitExceeded(
        what: "seconds that a message with descriptors may take until it is complete and the "
            + "daemon handles it",
        limit: WaitingLimit.seconds)
}
