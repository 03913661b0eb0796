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

    /// Leaves out the caller's directory if it is the one in which a held instance has started.
    mutating func leaveOutStartDirectory(of app: InstalledApp) {
        guard let directory = workingDirectory,
            let own = try? PathOwners.folder(at: app.command.startDirectory),
            own.isSameFile(as: directory)
        else { return }
        workingDirectory = nil
    }
}
