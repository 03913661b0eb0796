internal import CGreenroomLinux
public import Glibc

/// A cgroup of the v2 hierarchy by its directory (cgroups(7), Documentation/admin-guide/cgroup-v2).
///
/// The directory stays valid when it is renamed from view (namespaces), and a removed cgroup gives
/// `ENODEV`, never another one of the same name.
public struct Cgroup: Sendable {
    /// An O_PATH descriptor of the directory: what ``SpawnRequest/cgroup`` wants.
    public let directory: FileDescriptor

    public init(directory: FileDescriptor) { self.directory = directory }

    public init(path: String) throws(SystemError) {
        directory = try FileDescriptor.open(path, Self.directoryFlags)
    }

    /// Whether it is the cgroup that /proc/PID/cgroup calls by this path.
    public func isAt(_ path: String) -> Bool {
        guard
            let mount = try? CgroupLocation.mountPoint(
                mountinfo: try SmallFile.text(of: "/proc/self/mountinfo"))
        else { return false }
        var (own, named) = (Glibc.stat(), Glibc.stat())
        return unsafe fstat(directory.rawValue, &own) == 0 && stat(mount + path, &named) == 0
            && own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// A cgroup below this one that exists.
    public func child(_ name: String) throws(SystemError) -> Cgroup {
        Cgroup(directory: try directory.open(name, Self.directoryFlags))
    }

    /// Makes a cgroup below this one (mkdirat); one that exists is `EEXIST`.
    public func createChild(_ name: String) throws(SystemError) -> Cgroup {
        try systemCall("mkdir", on: name) { unsafe mkdirat(directory.rawValue, name, 0o755) }
        return try child(name)
    }

    /// Removes a cgroup below this one (unlinkat).
    ///
    /// - Returns: false while it has processes or cgroups of its own (`EBUSY`); true also where it
    ///   was gone already.
    @discardableResult
    public func removeChild(_ name: String) throws(SystemError) -> Bool {
        do {
            try systemCall("rmdir", on: name) {
                unsafe unlinkat(directory.rawValue, name, AT_REMOVEDIR)
            }
        } catch {
            if error.code == ENOENT { return true }
            if error.code == EBUSY { return false }
            throw error
        }
        return true
    }

    /// Removes a cgroup below this one with those that it has itself: whoever may write to it (root,
    /// a container's manager) may have made some. Nothing is removed while it has processes.
    ///
    /// - Returns: as ``removeChild(_:)``.
    @discardableResult
    public func removeTree(_ name: String) throws(SystemError) -> Bool {
        try removeTree(name, levels: Self.levelLimit)
    }

    private func removeTree(_ name: String, levels: Int) throws(SystemError) -> Bool {
        if try removeChild(name) { return true }
        guard levels > 0 else { return false }
        let cgroup = try child(name)
        guard try !cgroup.isPopulated() else { return false }
        for inner in try cgroup.children() { _ = try cgroup.removeTree(inner, levels: levels - 1) }
        return try removeChild(name)
    }

    /// The cgroups directly in it.
    public func children() throws(SystemError) -> [String] {
        let list = try directory.open(".", O_RDONLY | O_DIRECTORY)
        guard let stream = unsafe fdopendir(list.rawValue) else {
            throw SystemError(code: errno, call: "fdopendir")
        }
        _ = list.release()
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            guard unsafe entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// How deep a cgroup is looked into that is to be removed: systemd in a container makes five.
    private static let levelLimit = 16

    /// Stops every process in it. Returns before they have stopped: see ``isFrozen()``. Do not wait
    /// for that by poll(2) on cgroup.events, which tells once in 10 ms.
    public func freeze() throws(SystemError) { try write("cgroup.freeze", "1") }

    /// Lets them go on (cgroup.freeze).
    public func thaw() throws(SystemError) { try write("cgroup.freeze", "0") }

    /// SIGKILL to every process in it and below, at once and also to those that fork meanwhile; also
    /// when it is frozen. Linux 5.14; `ENOENT` before.
    public func kill() throws(SystemError) { try write("cgroup.kill", "1") }

    /// Every process in it has stopped.
    public func isFrozen() throws(SystemError) -> Bool { try events().frozen }

    /// There is a process in it or below that has not ended (a zombie does not count).
    public func isPopulated() throws(SystemError) -> Bool { try events().populated }

    /// Processes directly in it. Those of another pid namespace are left out.
    public func processes() throws(SystemError) -> [pid_t] {
        try read("cgroup.procs").split(separator: "\n").compactMap { pid_t($0) }.filter { $0 > 0 }
    }

    /// Moves a process, 0 for this one, into it. May take 10 ms: clone into it instead.
    public func add(_ pid: pid_t) throws(SystemError) { try write("cgroup.procs", "\(pid)") }

    /// Controllers that its children could use.
    public func controllers() throws(SystemError) -> [String] {
        try read("cgroup.controllers").split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    /// Enables controllers for its children; fails with `EBUSY` while processes are directly in it.
    public func enable(_ controllers: [String]) throws(SystemError) {
        if controllers.isEmpty { return }
        try write("cgroup.subtree_control", controllers.map { "+" + $0 }.joined(separator: " "))
    }

    /// One file of it as text, such as `memory.current`; `ENOENT` without the controller.
    public func read(_ file: String) throws(SystemError) -> String {
        try directory.open(file, O_RDONLY).readText()
    }

    /// Writes one file of it, such as `cpu.weight`.
    public func write(_ file: String, _ value: String) throws(SystemError) {
        do {
            try directory.open(file, O_WRONLY).writeText(value)
        } catch {
            throw SystemError(code: error.code, call: error.call, subject: file)
        }
    }

    private func events() throws(SystemError) -> (populated: Bool, frozen: Bool) {
        // Looked at after every exit: a search of text takes ten times as long as the rest.
        var (populated, frozen) = (false, false)
        for line in try read("cgroup.events").utf8.split(separator: UInt8(ascii: "\n")) {
            if line.elementsEqual("populated 1".utf8) { populated = true }
            if line.elementsEqual("frozen 1".utf8) { frozen = true }
        }
        return (populated, frozen)
    }

    // MARK: Labels

    /// Writes what others are to know of it into an attribute (fsetxattr), which goes with it.
    /// `EOPNOTSUPP` before Linux 5.7; `EBADF` for one that was opened by ``init(path:)``, which only
    /// leads to it.
    public func label(_ text: String) throws(SystemError) {
        // Of an empty one Swift has no address.
        var text = text + "\0"
        try systemCall("fsetxattr") {
            text.withUTF8 {
                unsafe gr_set_label(
                    directory.rawValue, Self.labelName, $0.baseAddress!, $0.count - 1)
            }
        }
    }

    /// What ``label(_:)`` wrote (fgetxattr); nil if nobody did.
    public var label: String? {
        guard let list = try? directory.open(".", O_RDONLY | O_DIRECTORY) else { return nil }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = unsafe gr_read_label(
                list.rawValue, Self.labelName, buffer.baseAddress!, buffer.count)
            return count < 0
                ? nil : unsafe String(decoding: buffer.prefix(Int(count)), as: UTF8.self)
        }
    }

    /// Makes a cgroup below this one that can be labelled.
    public func createLabelledChild(_ name: String) throws(SystemError) -> Cgroup {
        try systemCall("mkdir", on: name) { unsafe mkdirat(directory.rawValue, name, 0o755) }
        return Cgroup(directory: try directory.open(name, O_RDONLY | O_DIRECTORY))
    }

    private static let labelName = "user.greenroom.instance"

    private static let directoryFlags = O_PATH_VALUE | O_DIRECTORY
}

/// O_PATH, which Swift's Glibc module does not show; the same on x86-64 and aarch64.
private let O_PATH_VALUE: CInt = 0o10000000
