import GreenroomControl

extension ExaminedMachine {
    /// Checks the library that is preloaded into prewarmed programs: that it exists, can be loaded,
    /// and is for this machine.
    func shimFindings() -> [Finding] {
        let code = "shim"
        let name = "libgreenroom-prewarm.so"
        guard let file = shimFile, let bytes = bytes(of: file) else {
            return [
                .failure(
                    code, "\(shimFile ?? name) is missing: no program can be prewarmed",
                    "install it beside greenroomd (make install), or name it with greenroomd --shim"
                )
            ]
        }
        guard let machine = Self.machine(of: bytes) else {
            return [
                .failure(code, "\(file) is not an ELF library", "install it again (make install)")
            ]
        }
        if let own = self.bytes(of: program).flatMap(Self.machine), own != machine {
            return [
                .failure(
                    code, "\(file) is for another processor than greenroomctl",
                    "build and install Greenroom on this architecture")
            ]
        }
        if let hidden = unreadable(file) {
            return [
                .failure(
                    code,
                    "\(hidden) is not open to everybody, so apps of other users cannot load "
                        + "\(file)",
                    "chmod a+rX \(hidden)")
            ]
        }
        // Loads the library as for every prewarmed program. Without a channel, the library does
        // nothing.
        if let (status, output) = run(["env", "LD_PRELOAD=\(file)", "/bin/true"]),
            status != 0 || !output.isEmpty
        {
            return [
                .failure(
                    code, "\(file) does not load: \(output.trimmed)",
                    "build and install Greenroom again on this machine")
            ]
        }
        return [.good(code, "\(file) loads")]
    }

    /// The path that the daemon names, or the path at which the library would be installed.
    var shimFile: String? {
        if let file = surroundings?.shimFile { return file }
        return libraryDirectories.map { $0 + "/libgreenroom-prewarm.so" }
            .first { status(of: $0)?.kind == .file }
    }

    /// The directories that may have greenroomd and its files, this program's own first.
    var libraryDirectories: [String] {
        let own = program.directory
        return [
            own, own.directory + "/lib/greenroom", "/usr/local/lib/greenroom", "/usr/lib/greenroom",
        ]
    }

    /// The machine of an ELF file (e_machine in elf(5)).
    static func machine(of bytes: [UInt8]) -> UInt16? {
        guard bytes.count > 20, bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { return nil }
        return UInt16(bytes[18]) | UInt16(bytes[19]) << 8
    }

    /// The file, or a directory on the way to it, if not everybody may read it. Does not matter to
    /// the daemon of an ordinary user, which serves only that user.
    private func unreadable(_ file: String) -> String? {
        guard isSystem || user == 0 else { return nil }
        if let mode = status(of: file)?.mode, mode & 0o004 == 0 { return file }
        var directory = file.directory
        while directory != "/" {
            if let mode = status(of: directory)?.mode, mode & 0o001 == 0 { return directory }
            directory = directory.directory
        }
        return nil
    }
}
