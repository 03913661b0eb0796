internal import GreenroomAppChannel

/// Messages of an SDK that is newer than this daemon.
enum ForeignMessage {
    /// True if the error comes from a well-formed message of a newer version of the protocol.
    static func caused(_ error: any Error) -> Bool {
        switch error as? WireError {
        case .unknownType, .unknownValue: true
        case .truncated, .wrongMagic, .unsupportedVersion, .unknownFlags, .unusedFieldSet,
            .wrongLength, .wrongDescriptorCount, .tooManyDescriptors, .unknownRole,
            .duplicateRole, .malformedStrings, .tooManyStringBytes, .noArguments, .invalidUmask,
            .unknownPauseReason, .stringContainsNUL, nil:
            false
        }
    }
}
