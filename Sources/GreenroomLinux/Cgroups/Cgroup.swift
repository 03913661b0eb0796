internal import CGreenroomLinux
public import Glibc

/// A cgroup of the v2 hierarchy, identified by an open descriptor of its directory (cgroups(7),
/// Documentation/admin-guide/cgroup-v2).
///
/// The descriptor stays valid when a namespace hides the path. Once the cgroup is removed, calls
/// fail with `ENODEV`; the descriptor never comes to mean another cgroup of the same name.
public struct Cgroup: Sendable {
    /// An O_PATH descriptor of the directory, as ``SpawnRequest/cgroup`` wants it.
    public let directory: FileDescriptor

    public init(directory: FileDescriptor) { self.directory = directory }

    public init(path: String) throws(SystemError) {
        directory = try FileDescriptor.open(path, Self.directoryFlags)
    }

    /// Whether this is the cgroup at `path`, as /proc/PID/cgroup names it.
    public func isAt(_ path: String) -> Bool {
        guard
            let mount = try? CgroupLocation.mountPoint(
                mountinfo: try SmallFile.text(of: "/proc/self/mountinfo"))
        else { return false }
        var (own, named) = (Glibc.stat(), Glibc.stat())
        return unsafe fstat(directory.rawValue, &own) == 0 && stat(mount + path, &named) == 0
            && own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// Opens an existing cgroup below this one.
    public func child(_ name: String) throws(SystemError) -> Cgroup {
        Cgroup(directory: try directory.open(name, Self.directoryFlags))
    }

    /// Makes a cgroup below this one (mkdirat); `EEXIST` if it exists.
    public func createChild(_ name: String) throws(SystemError) -> Cgroup {
        try systemCall("mkdir", on: name) { unsafe mkdirat(directory.rawValue, name, 0o755) }
        return try child(name)
    }

    /// Removes a cgroup below this one (unlinkat).
    ///
    /// - Returns: false if that cgroup has processes or child cgroups (`EBUSY`); true also if it
    ///   did not exist.
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

    /// Removes a cgroup below this one together with its child cgroups: root, or a container's
    /// manager, may have made some. Removes nothing while it has processes.
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

    /// The names of the cgroups directly below this one.
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

    /// At most this many levels of child cgroups are read or removed. systemd in a container makes
    /// five.
    private static let levelLimit = 16

    /// Stops every process in this cgroup (cgroup.freeze). Returns before they have stopped: see
    /// ``isFrozen()``. Do not wait for that with poll(2) on cgroup.events, which reports at most
    /// once in 10 ms.
    public func freeze() throws(SystemError) { try write("cgroup.freeze", "1") }

    /// Lets the processes run again (cgroup.freeze).
    public func thaw() throws(SystemError) { try write("cgroup.freeze", "0") }

    /// Sends SIGKILL to every process in this cgroup and below (cgroup.kill), including frozen ones
    /// and those that fork in the meantime. Needs Linux 5.14; `ENOENT` before.
    public func kill() throws(SystemError) { try write("cgroup.kill", "1") }

    /// Whether every process in this cgroup has stopped.
    public func isFrozen() throws(SystemError) -> Bool { try events().frozen }

    /// Whether this cgroup, or one below it, has a process that has not ended. A zombie does not
    /// count.
    public func isPopulated() throws(SystemError) -> Bool { try events().populated }

    /// The processes directly in this cgroup, without those of another pid namespace.
    public func processes() throws(SystemError) -> [pid_t] {
        try read("cgroup.procs").split(separator: "\n").compactMap { pid_t($0) }.filter { $0 > 0 }
    }

    /// The processes in this cgroup and below, without those of another pid namespace. Child
    /// cgroups that are removed in the meantime count as empty.
    public func allProcesses() throws(SystemError) -> [pid_t] {
        try allProcesses(levels: Self.levelLimit)
    }

    private func allProcesses(levels: Int) throws(SystemError) -> [pid_t] {
        var found = try processes()
        guard levels > 0 else { return found }
        for name in try children() {
            found += (try? child(name).allProcesses(levels: levels - 1)) ?? []
        }
        return found
    }

    /// Moves a process, 0 for this one, into this cgroup. May take 10 ms: clone into the cgroup
    /// instead.
    public func add(_ pid: pid_t) throws(SystemError) { try write("cgroup.procs", "\(pid)") }

    /// The controllers that can be enabled for child cgroups.
    public func controllers() throws(SystemError) -> [String] {
        try read("cgroup.controllers").split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    /// Enables controllers for child cgroups; `EBUSY` while processes are directly in this cgroup.
    public func enable(_ controllers: [String]) throws(SystemError) {
        if controllers.isEmpty { return }
        try write("cgroup.subtree_control", controllers.map { "+" + $0 }.joined(separator: " "))
    }

    /// Reads a file of this cgroup, such as `memory.current`; `ENOENT` without its controller.
    public func read(_ file: String) throws(SystemError) -> String {
        try directory.open(file, O_RDONLY).readText()
    }

    /// Writes a file of this cgroup, such as `cpu.weight`.
    public func write(_ file: String, _ value: String) throws(SystemError) {
        do {
            try directory.open(file, O_WRONLY).writeText(value)
        } catch {
            throw SystemError(code: error.code, call: error.call, subject: file)
        }
    }

    private func events() throws(SystemError) -> (populated: Bool, frozen: Bool) {
        try CgroupEvents(of: self).read()
    }

    // MARK: Labels

    /// Writes a text into an attribute of the cgroup (fsetxattr), where others can read it. The
    /// text is removed with the cgroup. `EOPNOTSUPP` before Linux 5.7; `EBADF` for a cgroup opened
    /// by ``init(path:)``, whose descriptor is O_PATH.
    public func label(_ text: String) throws(SystemError) {
        // Swift gives no address for an empty string, so a NUL byte is appended.
        var text = text + "\0"
        try systemCall("fsetxattr") {
            text.withUTF8 {
                unsafe gr_set_label(
                    directory.rawValue, Self.labelName, $0.baseAddress!, $0.count - 1)
            }
        }
    }

    /// The text that ``label(_:)`` wrote (fgetxattr); nil if there is none.
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

    private static let directoryFlags = FileDescriptor.pathOnly | O_DIRECTORY
}
