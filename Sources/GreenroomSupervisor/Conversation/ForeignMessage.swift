internal import GreenroomAppChannel

/// Messages of an SDK that is newer than this daemon.
enum ForeignMessage {
    /// True for what is well-formed, and of a protocol that knows more.
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
