// Options with which an interpreter boots as it would for a launch. Any other option is an
// objection, so that an option that is newer than this list does no harm.

extension Runtime {
    /// Reads the options before the program.
    func readOptions(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        switch self {
        case .python: try Self.readPython(&reader)
        case .node: try Self.readNode(&reader)
        case .ruby: try Self.readRuby(&reader)
        case .perl: try Self.readPerl(&reader)
        case .java: try Self.readJava(&reader)
        case .r: try Self.readR(&reader)
        case .emacs: try Self.readEmacs(&reader)
        }
    }

    /// python3(1). Of the options that are missing here, -I, -E and -S leave the daemon's file out,
    /// -i and -x read the program in another way, and -v and -X importtime print something.
    private static func readPython(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        let plain = "bBOPqRsu"
        while let option = reader.option {
            // The program begins here.
            if option.hasPrefix("-c") || option.hasPrefix("-m") { return }
            let end = option.firstIndex { "WX".contains($0) }
            guard option[..<(end ?? option.endIndex)].dropFirst().allSatisfy(plain.contains) else {
                throw .option(option)
            }
            guard let end, option.index(after: end) == option.endIndex else {
                let value = end.map { option[option.index(after: $0)...] } ?? ""
                if let end, option[end] == "X", !isHarmlessX(value) { throw .option(option) }
                reader.take()
                continue
            }
            let value = try reader.takePair()
            if option[end] == "X", !isHarmlessX(value[...]) { throw .option("-X \(value)") }
        }
    }

    private static func isHarmlessX(_ value: Substring) -> Bool {
        ["utf8", "utf8=0", "utf8=1", "dev", "faulthandler"].contains(value)
            || value.hasPrefix("int_max_str_digits=") || value.hasPrefix("frozen_modules")
    }

    /// node(1)
    private static func readNode(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        let plain: Set<String> = [
            "--enable-source-maps", "--no-warnings", "--no-deprecation", "--trace-deprecation",
            "--throw-deprecation", "--trace-warnings", "--trace-uncaught", "--preserve-symlinks",
            "--expose-gc", "--use-strict",
        ]
        let withValue = [
            "--max-old-space-size=", "--max-semi-space-size=", "--stack-size=",
            "--stack-trace-limit=", "--unhandled-rejections=", "--max-http-header-size=",
        ]
        while let option = reader.option {
            guard plain.contains(option) || withValue.contains(where: { option.hasPrefix($0) })
            else { throw .option(option) }
            reader.take()
        }
    }

    /// ruby(1)
    private static func readRuby(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        let plain: Set<String> = [
            "-w", "-W", "-W0", "-W1", "-W2", "-W:no-deprecated", "-W:no-experimental", "-U",
            "--disable-gems", "--disable=gems", "--enable=frozen-string-literal",
            "--enable-frozen-string-literal", "--yjit", "--jit",
        ]
        let withValue = ["--encoding=", "--external-encoding=", "--internal-encoding=", "-E"]
        while let option = reader.option {
            if option == "-I" {
                let folder = try reader.takePair()
                guard folder.hasPrefix("/") else { throw .relative(folder) }
                continue
            }
            if option.hasPrefix("-I/") || plain.contains(option)
                || option != "-E" && withValue.contains(where: { option.hasPrefix($0) })
            {
                reader.take()
                continue
            }
            throw .option(option)
        }
    }

    /// perlrun(1)
    private static func readPerl(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        while let option = reader.option {
            if option == "-I" {
                let folder = try reader.takePair()
                guard folder.hasPrefix("/") else { throw .relative(folder) }
                continue
            }
            guard ["-w", "-W", "-X"].contains(option) || option.hasPrefix("-I/") else {
                throw .option(option)
            }
            reader.take()
        }
    }

    /// java(1). The virtual machine boots with its class path, so the command must name the program
    /// too.
    private static func readJava(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        while let option = reader.option {
            switch option {
            // The program begins here.
            case "-jar": return
            case "-cp", "-classpath", "--class-path":
                let path = try reader.takePair()
                for entry in path.split(separator: ":", omittingEmptySubsequences: false)
                where !entry.hasPrefix("/") {
                    throw .relative(String(entry))
                }
            case _ where option.hasPrefix("-D") && isPlainProperty(option.dropFirst(2)),
                _ where option.hasPrefix("-Xm") || option.hasPrefix("-Xss"),
                _ where option.hasPrefix("-XX:+Use") || option.hasPrefix("-XX:-Use"),
                "-ea", "-enableassertions", "-da", "-disableassertions", "-server",
                "-XX:TieredStopAtLevel=1", "-Xshare:auto":
                reader.take()
            case _: throw .option(option)
            }
        }
    }

    /// Whether a property has no effect on the boot. Some of Java's own make it run code of the
    /// program's (`java.system.class.loader`), open a port or print something. This knows the others
    /// that are common.
    private static func isPlainProperty(_ assignment: Substring) -> Bool {
        // They say whether the program may set a security manager. Every other value sets one.
        if ["java.security.manager=allow", "java.security.manager=disallow"].contains(assignment) {
            return true
        }
        let name = assignment.prefix { $0 != "=" }
        let harmless: Set<Substring> = [
            "java.awt.headless", "java.io.tmpdir", "java.library.path", "java.locale.providers",
            "java.net.preferIPv4Stack", "java.net.preferIPv6Addresses", "java.rmi.server.hostname",
            "java.security.auth.login.config", "java.security.egd", "java.security.krb5.conf",
            "java.util.concurrent.ForkJoinPool.common.parallelism", "java.util.logging.config.file",
            "java.util.logging.manager",
        ]
        let ownBeginnings = ["java.", "jdk.", "sun.", "com.sun.management", "user.dir"]
        return harmless.contains(name) || !ownBeginnings.contains { name.hasPrefix($0) }
    }

    private static func readR(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        if let option = reader.option { throw .option(option) }
    }

    /// emacs(1). Only a batch run has an end that a launch could wait for. Without -Q, Emacs reads the
    /// site's files at its boot, and prints their names.
    private static func readEmacs(_ reader: inout OptionReader) throws(RuntimeCommand.Objection) {
        var (isBatch, isQuick) = (false, false)
        while let option = reader.option {
            switch option {
            case "-batch", "--batch": isBatch = true
            case "-Q", "-quick", "--quick": isQuick = true
            case "-script" where isQuick, "--script" where isQuick: return
            case _ where isBatch && isQuick: return
            case _ where isBatch || option.hasSuffix("-script"): throw .missing("-Q")
            case _: throw .option(option)
            }
            reader.take()
        }
        if !isBatch { throw .noProgram }
        if !isQuick { throw .missing("-Q") }
    }
}
