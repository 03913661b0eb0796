internal import UnitFile

/// The kernel's names that `[Sandbox]` may use, with their numbers (capabilities(7), socket(2),
/// errno(3), clone(2)), which are the same on x86-64 and aarch64.
enum SandboxWords {
    /// In the order of their numbers.
    private static let capabilities = """
        CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP \
        LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER \
        SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE \
        SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP \
        MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF \
        CHECKPOINT_RESTORE
        """

    /// The bits of `CAP_…` words.
    static func capabilities(_ words: [Word]) throws(ValueError) -> UInt64 {
        let names = capabilities.split(separator: " ")
        var bits: UInt64 = 0
        for word in words {
            let upper = word.text.uppercased()
            guard upper.hasPrefix("CAP_"),
                let number = names.firstIndex(of: upper.dropFirst(4))
            else {
                throw ValueError(
                    offset: word.offset,
                    message: "'\(Names.cut(word.text))' is not a capability"
                        + suggestion(for: upper, among: names.map { "CAP_" + $0 }))
            }
            bits |= 1 << number
        }
        return bits
    }

    private static let families =
        [
            "AF_UNIX": 1, "AF_LOCAL": 1, "AF_INET": 2, "AF_AX25": 3, "AF_IPX": 4, "AF_APPLETALK": 5,
            "AF_X25": 9, "AF_INET6": 10, "AF_KEY": 15, "AF_NETLINK": 16, "AF_PACKET": 17,
            "AF_RDS": 21, "AF_PPPOX": 24, "AF_LLC": 26, "AF_IB": 27, "AF_MPLS": 28, "AF_CAN": 29,
            "AF_TIPC": 30, "AF_BLUETOOTH": 31, "AF_IUCV": 32, "AF_RXRPC": 33, "AF_ISDN": 34,
            "AF_PHONET": 35, "AF_IEEE802154": 36, "AF_CAIF": 37, "AF_ALG": 38, "AF_NFC": 39,
            "AF_VSOCK": 40, "AF_KCM": 41, "AF_QIPCRTR": 42, "AF_SMC": 43, "AF_XDP": 44,
        ] as [String: Int32]

    static func family(_ word: Word) throws(ValueError) -> Int32 {
        guard let number = families[word.text] else {
            throw ValueError(
                offset: word.offset,
                message: "'\(Names.cut(word.text))' is not an address family"
                    + suggestion(for: word.text, among: families.keys.sorted()))
        }
        return number
    }

    static let namespaces =
        [
            "cgroup": 0x0200_0000, "ipc": 0x0800_0000, "mnt": 0x0002_0000, "net": 0x4000_0000,
            "pid": 0x2000_0000, "time": 0x0000_0080, "user": 0x1000_0000, "uts": 0x0400_0000,
        ] as [String: UInt64]
    static let everyNamespace = namespaces.values.reduce(0, |)

    static func namespaces(_ words: [Word]) throws(ValueError) -> UInt64 {
        var bits: UInt64 = 0
        for word in words {
            guard let bit = namespaces[word.text] else {
                throw ValueError(
                    offset: word.offset,
                    message: "'\(Names.cut(word.text))' is not a namespace; there are "
                        + namespaces.keys.sorted().joined(separator: ", "))
            }
            bits |= bit
        }
        return bits
    }

    /// In the order of their numbers, from 1.
    private static let errors = """
        EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES \
        EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY \
        ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLOCK ENAMETOOLONG \
        ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG \
        EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR \
        ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP \
        EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX \
        ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE \
        ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT ENOTSUP EPFNOSUPPORT EAFNOSUPPORT \
        EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET \
        ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN \
        EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO \
        EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED \
        EOWNERDEAD ENOTRECOVERABLE ERFKILL -
        """

    /// Reads an error's name, such as `EPERM`, or its number.
    static func errorNumber(_ text: Substring, at offset: Int = 0) throws(ValueError) -> Int32 {
        if let number = Int32(text), (1...4095).contains(number) { return number }
        let names = errors.split(separator: " ")
        guard let index = names.firstIndex(of: text), text != "-" else {
            throw ValueError(
                offset: offset,
                message: "'\(Names.cut(String(text)))' is not an error such as EPERM, nor kill")
        }
        return Int32(index + 1)
    }
}
