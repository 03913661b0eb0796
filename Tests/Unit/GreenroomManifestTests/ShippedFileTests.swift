import Glibc
import GreenroomManifest
import TestSupport
import Testing
import UnitFile

/// The files that config/ ships.
@Suite struct ShippedFileTests {
    static let configuration = packageRoot + "/config"

    static func names(in directory: String) -> [String] {
        var names: [String] = []
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    static func bytes(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    @Test func `the shipped manifests are exactly those in the list`() {
        #expect(
            Self.names(in: Self.configuration + "/apps") == [
                "com.git-scm.git.app", "io.greenroom.Echo.app", "io.greenroom.Fetch.app",
                "io.greenroom.Notes.app", "io.greenroom.Reader.app", "io.greenroom.Sums.app",
                "org.debian.passwd.app", "org.ffmpeg.ffmpeg.app",
                "org.inkscape.Inkscape.app", "org.python.python3.app",
            ])
    }

    @Test(arguments: names(in: configuration + "/apps"))
    func `a shipped manifest parses without a diagnostic`(name: String) throws {
        let path = Self.configuration + "/apps/" + name
        let (manifest, diagnostics) = AppManifest.parse(Self.bytes(of: path), file: path)
        #expect(diagnostics.map(\.description) == [])
        #expect(try #require(manifest).identifier + ".app" == name)
    }

    @Test(arguments: names(in: configuration + "/profiles"))
    func `a shipped profile parses, and says what it was tried with or why it forbids`(
        name: String
    ) throws {
        let path = Self.configuration + "/profiles/" + name
        let (read, diagnostics) = Profile.parse(Self.bytes(of: path), file: path)
        #expect(diagnostics.map(\.description) == [])
        let profile = try #require(read)
        switch profile.window {
        case .yes: #expect(profile.tested != nil && profile.programs.count == 1)
        case .never: #expect(name.hasPrefix("never-"))
        case .no: Issue.record("a profile that says nothing")
        case nil: #expect(profile.tested != nil && profile.vouching != nil)
        }
    }

    @Test func `no program may be held by one shipped profile and never by another`() throws {
        let profiles = Profiles(
            Self.names(in: Self.configuration + "/profiles").compactMap {
                let path = Self.configuration + "/profiles/" + $0
                return Profile.parse(Self.bytes(of: path), file: path).profile
            })
        for profile in profiles.all where profile.window == .yes {
            let program = try #require(profile.programs.first)
            #expect(
                profiles.allowing([program], paths: [program], app: profile.identifier) == profile)
        }
    }

    @Test func `the shipped configuration parses and changes no default`() {
        let path = Self.configuration + "/greenroom.conf"
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            Self.bytes(of: path), file: path)
        #expect(diagnostics.map(\.description) == [])
        #expect(configuration == DaemonConfiguration())
    }

    @Test func `the values in the shipped configuration's comments are the defaults`() {
        let path = Self.configuration + "/greenroom.conf"
        let text = String(decoding: Self.bytes(of: path), as: UTF8.self)
        // A setting that is commented out has no blank after its #.
        let settings = text.split(separator: "\n").map { line in
            line.hasPrefix("#") && !line.hasPrefix("# ") ? line.dropFirst() : line
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            settings.joined(separator: "\n"), file: path)
        #expect(diagnostics.map(\.description) == [])
        #expect(configuration == DaemonConfiguration())
        // Each key is there: 41 values and 3 lists.
        #expect(settings.count { $0.contains("=") && !$0.hasPrefix("#") } == 47)
    }
}
