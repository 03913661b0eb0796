import GreenroomSupervisor
import Testing

struct OptionsTests {
    private func parse(
        _ arguments: [String], environment: [String: String] = [:], isRoot: Bool = true
    ) -> Options.Outcome {
        Options.parse(
            arguments, environment: environment, isRoot: isRoot,
            executable: "/usr/lib/greenroom/greenroomd")
    }

    @Test func `a daemon of root uses /run and reads the system's manifests`() throws {
        guard case .run(let options) = parse([]) else { return #expect(Bool(false)) }
        #expect(options.runtimeDirectory == "/run/greenroom")
        #expect(options.appDirectories.first == "/etc/greenroom/apps")
        #expect(options.spawnerPath == "/usr/lib/greenroom/greenroom-spawner")
        #expect(options.shimPath == "/usr/lib/greenroom/libgreenroom-prewarm.so")
        #expect(!options.isConfigurationRequired)
    }

    @Test func `an ordinary user's own manifests come before the system's`() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/me"]
        guard case .run(let options) = parse([], environment: environment, isRoot: false) else {
            return #expect(Bool(false))
        }
        #expect(options.runtimeDirectory == "/run/user/7/greenroom")
        #expect(options.appDirectories[0] == "/home/me/.config/greenroom/apps")
        #expect(options.configurationFile == "/home/me/.config/greenroom/greenroom.conf")
    }

    /// The spawner keeps the supervisor's memory there, in a file named `state`.
    @Test func `a runtime directory given by an option gets a state directory of its own`() throws {
        for isRoot in [true, false] {
            guard case .run(let options) = parse(["--runtime-directory", "/r"], isRoot: isRoot)
            else { return #expect(Bool(false)) }
            #expect(options.stateDirectory == "/r/persistent")
            #expect(options.cacheDirectory == "/r/cache")
        }
    }

    @Test func `desktop entries make apps for a user, but for root only on request`() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/me"]
        guard case .run(let own) = parse([], environment: environment, isRoot: false),
            case .run(let system) = parse([]), case .run(let named) = parse(["--apps", "/a"]),
            case .run(let asked) = parse(["--apps", "/a", "--desktop", "/d"])
        else { return #expect(Bool(false)) }
        #expect(own.makesDesktopApps)
        #expect(
            own.desktopDirectories == [
                "/home/me/.local/share/applications", "/usr/local/share/applications",
                "/usr/share/applications",
            ])
        #expect(!system.makesDesktopApps && system.desktopDirectories.count == 2)
        #expect(named.desktopDirectories == [] && !named.makesDesktopApps)
        #expect(asked.desktopDirectories == ["/d"] && asked.makesDesktopApps)
    }

    @Test func `the system's daemon is root's, with the usual runtime directory`() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/7"]
        guard case .run(let system) = parse([]),
            case .run(let other) = parse(["--runtime-directory", "/r"]),
            case .run(let own) = parse([], environment: environment, isRoot: false)
        else { return #expect(Bool(false)) }
        #expect(system.isSystem && !other.isSystem && !own.isSystem)
    }

    @Test func `a value follows its option or an equals sign`() {
        guard
            case .run(let options) = parse([
                "--apps", "/a", "--apps=/b", "--config=/c", "--runtime-directory", "/r",
                "--shim", "/s", "--spawner=/p",
            ])
        else { return #expect(Bool(false)) }
        #expect(options.appDirectories == ["/a", "/b"])
        #expect(options.configurationFile == "/c" && options.isConfigurationRequired)
        #expect(options.runtimeDirectory == "/r")
        #expect(options.shimPath == "/s" && options.spawnerPath == "/p")
    }

    @Test func `wrong usage names the argument and points to the help`() {
        #expect(
            parse(["--frob"])
                == .usage("greenroomd: unknown argument “--frob”; see greenroomd --help"))
        #expect(
            parse(["--apps"]) == .usage("greenroomd: --apps needs a value; see greenroomd --help"))
        #expect(
            parse([], isRoot: false)
                == .usage(
                    "greenroomd: no XDG_RUNTIME_DIR in the environment; give --runtime-directory DIR"
                ))
    }
}
