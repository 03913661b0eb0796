internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

extension LaunchContext {
    /// Why no instance that is held at its first window can serve the launch; nil if one can. A
    /// held program has already read its arguments, its directory and its descriptors.
    func reasonNotToHold(_ app: InstalledApp) -> ColdReason? {
        let words = app.command.arguments.lazy.map(ByteString.text)
        if !arguments.elementsEqual(words) { return .arguments }
        let bringsDescriptors =
            standardStreams.contains { $0 != nil } || !otherDescriptors.isEmpty || takesTerminal
        let bringsState =
            inheritsMoreThanPaused || (0...2).contains { isClosed($0) }
            || umask.map { $0 != InstalledApp.defaultUmask } ?? false
        return bringsDescriptors || bringsState || workingDirectory != nil ? .callerState : nil
    }

    /// Leaves out the caller's directory if all held instances have started in it.
    ///
    /// - Parameter places: where each has started, as far as that is known.
    mutating func leaveOutDirectory(ofHeld places: [FilePlace?]) {
        guard !places.isEmpty, let place = workingDirectory?.place,
            places.allSatisfy({ $0 == place })
        else { return }
        workingDirectory = nil
    }
}
