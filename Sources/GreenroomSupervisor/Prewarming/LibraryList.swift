internal import GreenroomLifecycle
internal import GreenroomLinux

/// The libraries that prewarms of one build of an app open in one environment.
struct LibraryList: Equatable {
    struct Library: Equatable {
        let path: String
        /// The file that a launch has opened there.
        let file: FileIdentity
    }

    struct Dropped: Equatable {
        let path: String
        let fault: DepthFault
    }

    let subject: LibraryLesson
    private(set) var libraries: [Library]
    /// Libraries that a launch has opened and that are not opened before the pause, and why.
    private(set) var dropped: [Dropped] = []
    /// True if an earlier daemon has learned the list, and nobody has checked since whether the
    /// files are still the same.
    private(set) var isRecalled = false

    /// Files that cannot be found any more are left out.
    init(_ subject: LibraryLesson, _ paths: [String], dropped: [Dropped] = []) {
        self.subject = subject
        self.dropped = dropped
        libraries = paths.compactMap { path in
            FileIdentity(path: path).map { Library(path: path, file: $0) }
        }
    }

    private init(recalled subject: LibraryLesson) {
        self.subject = subject
        libraries = []
        isRecalled = true
    }

    /// Keeps the libraries that have not changed.
    mutating func keep(where isCurrent: (Library) -> Bool) {
        libraries.removeAll { !isCurrent($0) }
        isRecalled = false
    }

    /// The same list with nothing left out: the next launch shows again which libraries it opens.
    var forgiven: LibraryList {
        var list = self
        list.dropped = []
        return list
    }

    /// Leaves out a library from now on.
    mutating func drop(at index: Int, _ fault: DepthFault) {
        guard libraries.indices.contains(index) else { return }
        dropped.append(Dropped(path: libraries.remove(at: index).path, fault: fault))
    }

    // MARK: The form in a file

    /// A list has a line of its own, followed by those of its libraries:
    ///
    ///     list GENERATION ENVIRONMENT
    ///     open DEVICE INODE BYTES MODIFIED CHANGED PATH
    ///     drop FAULT PATH
    var lines: [String] {
        ["list \(subject.generation) \(subject.environmentKey.rawValue)"]
            + libraries.map { library in
                let file = library.file
                return "open \(file.device) \(file.inode) \(file.byteCount) \(file.modified) "
                    + "\(file.changed) \(library.path)"
            } + dropped.map { "drop \($0.fault.rawValue) \($0.path)" }
    }

    /// The lists among the lines. Leaves out lines that make no sense, and libraries above the
    /// limits of a prewarm.
    static func read(_ lines: [Substring], of app: AppIdentifier) -> [LibraryList] {
        var lists: [LibraryList] = []
        var byteCount = 0
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 6)
            if words.count == 3, words[0] == "list", let generation = UInt64(words[1]),
                let key = UInt64(words[2])
            {
                lists.append(
                    LibraryList(
                        recalled: LibraryLesson(
                            app: app, generation: generation, environmentKey: EnvironmentKey(key))))
                byteCount = 0
            } else if let library = Library(words), !lists.isEmpty {
                byteCount += library.path.utf8.count + 1
                guard lists.last!.libraries.count < OpenedLibraries.countLimit,
                    byteCount <= OpenedLibraries.byteLimit
                else { continue }
                lists[lists.count - 1].libraries.append(library)
            } else if let library = Dropped(line), !lists.isEmpty,
                lists.last!.dropped.count < Lifecycle.dropLimit
            {
                lists[lists.count - 1].dropped.append(library)
            }
        }
        return lists.filter { !$0.libraries.isEmpty || !$0.dropped.isEmpty }
    }
}

extension LibraryList.Library {
    fileprivate init?(_ words: [Substring]) {
        guard words.count == 7, words[0] == "open", let device = UInt64(words[1]),
            let inode = UInt64(words[2]), let byteCount = Int64(words[3]),
            let modified = Int64(words[4]), let changed = Int64(words[5]),
            OpenedLibraries.isPath(words[6])
        else { return nil }
        path = String(words[6])
        file = FileIdentity(
            device: device, inode: inode, byteCount: byteCount, modified: modified,
            changed: changed)
    }
}

extension LibraryList.Dropped {
    fileprivate init?(_ line: Substring) {
        let words = line.split(separator: " ", maxSplits: 2)
        guard words.count == 3, words[0] == "drop",
            let fault = UInt8(words[1]).flatMap(DepthFault.init),
            OpenedLibraries.isPath(words[2])
        else { return nil }
        (path, self.fault) = (String(words[2]), fault)
    }
}
