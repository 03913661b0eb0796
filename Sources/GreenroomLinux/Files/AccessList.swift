internal import CGreenroomLinux
internal import Glibc

/// Access control lists (acl(5)) in the kernel's format: an attribute with a version, then 8 bytes
/// per entry.
extension FileDescriptor {
    /// Gives one more user the rights that `permissions` names (4 to read, 1 to execute or pass
    /// through). The owner gets the same rights, and everybody else gets none. `EOPNOTSUPP` if the
    /// file system has no such lists.
    public func share(_ permissions: UInt32, withUser user: UInt32) throws(SystemError) {
        let (owner, named, group, mask, others) = (0x01, 0x02, 0x04, 0x10, 0x20)
        let rights = Int(permissions)
        let entries = [
            (owner, rights, UInt32.max), (named, rights, user), (group, 0, .max),
            (mask, rights, .max), (others, 0, .max),
        ]
        var words: [UInt32] = [2]
        for (tag, rights, qualifier) in entries {
            words += [UInt32(tag | rights << 16).littleEndian, qualifier.littleEndian]
        }
        words[0] = words[0].littleEndian
        try systemCall("fsetxattr") {
            unsafe words.withUnsafeBytes {
                unsafe gr_set_label(
                    rawValue, "system.posix_acl_access", $0.baseAddress!, $0.count)
            }
        }
    }
}
