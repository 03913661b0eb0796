/// Copies settings. Other processes read them, because a file system may not answer, and a signal must
/// end the measurement all the same.
enum SettingsCopy {
    static let byteLimit = 64 << 20
    static let fileLimit = 10_000
    /// How deep a file may be below the home, in which settings are at the second level.
    static let depthLimit = FilesBelow.depthLimit - 2

    /// Prints the depth and the size of each file.
    private static let counting = """
        find -L "$@" \\( -type f -printf '%d %s\\n' -o -printf '%d 0\\n' \\) && echo end
        """
    /// Links are replaced by copies, because the trial would change their targets. A link whose target
    /// is missing is left out, and makes cp fail. The copy is whole all the same if it has as many
    /// files, of the same sizes. A folder that may not be written to, such as one of a store of
    /// packages, could not be removed at the end.
    private static let copying = """
        sizes() { find -L "$@" -type f -printf '%s\n' | sort; }
        to=$1; shift
        cp -RL --preserve=mode,timestamps -- "$@" "$to"
        status=$?
        find "$to" -type d ! -perm -u=w -exec chmod u+w {} +
        { [ $status = 0 ] || [ "$(sizes "$@")" = "$(sizes "$to")" ]; } && echo end
        """
    /// In bytes, for the lines of as many files as there may be.
    private static let outputLimit = 1 << 20

    /// - Parameters:
    ///   - paths: absolute.
    ///   - folder: empty.
    static func make(
        of paths: [String], in folder: String, _ clock: SampleClock
    ) throws(Failure) {
        guard !paths.isEmpty else { return }
        guard let lines = try output(of: counting, paths, clock), isSmall(lines) else {
            throw WindowProgram.refusal(
                "its settings cannot be read, or a copy of them would be larger than 64 MB or "
                    + "\(fileLimit) files, or deeper than \(depthLimit) folders, or one of them has a "
                    + "link to a folder above it: \(paths.joined(separator: ", ")); move what is large "
                    + "out of there, or set XDG_CONFIG_HOME to a folder without it")
        }
        guard try output(of: copying, [folder + "/"] + paths, clock) != nil else {
            throw WindowProgram.refusal(
                "its settings cannot be copied: \(paths.joined(separator: ", "))")
        }
    }

    /// - Returns: nil if the script has failed, or has printed too much.
    private static func output(
        of script: String, _ words: [String], _ clock: SampleClock
    ) throws(Failure) -> [Substring]? {
        let bytes = try MeasuredServer.output(
            ["/bin/sh", "-c", script, "sh"] + words, clock: clock, atMost: outputLimit)
        let text = String(decoding: bytes, as: UTF8.self)
        guard text == "end\n" || text.hasSuffix("\nend\n") else { return nil }
        return text.split(separator: "\n").dropLast()
    }

    private static func isSmall(_ lines: [Substring]) -> Bool {
        var byteCount = 0
        for line in lines {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 2, numbers[0] <= depthLimit else { return false }
            byteCount += numbers[1]
        }
        return lines.count <= fileLimit && byteCount <= byteLimit
    }
}
