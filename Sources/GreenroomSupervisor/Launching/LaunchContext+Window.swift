internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

extension LaunchContext {
    /// Why no instance that is held at its first window can serve the launch; nil if one can. A
    /// held program has already read its arguments, its directory and its descriptors.
    func reasonNotToHold(_ app: InstalledApp) -> ColdReason? {
        let words = app.command.arguments.lazy.map(ByteString.text)
        if !arguments.elementsEqual(words) { return .arguments }
        return inheritsMoreThanPaused || !differencesFromHeld.isEmpty ? .callerState : nil
    }

    /// What the launch brings that no held program can take over.
    var differencesFromHeld: CallerDifferences {
        var found = inheritedDifferences
        if workingDirectory != nil { found.insert(.directory) }
        if let umask, umask != InstalledApp.defaultUmask { found.insert(.umask) }
        if takesTerminal || (0...2).contains(where: { standardStreams[$0] != nil || isClosed($0) })
        {
            found.insert(.streams)
        }
        if !otherDescriptors.isEmpty { found.insert(.descriptors) }
        return found
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
