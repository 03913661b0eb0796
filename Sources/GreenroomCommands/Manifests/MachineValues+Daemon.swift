import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux

extension MachineValues {
    /// The system as the daemon that answers sees it; if none answers, as a daemon that is started
    /// here would see it.
    convenience init(of daemon: Control.Description?, user: UInt32?) {
        guard let daemon, !daemon.environment.isEmpty else {
            let variables = Caller.variables.merging(["PATH": Self.serviceSearchPath]) { $1 }
            self.init(
                environment: variables, desktopPaths: SearchPath.desktop(Caller.variables),
                profilePaths: SearchPath.profiles(Caller.variables, isRoot: getuid() == 0))
            return
        }
        self.init(
            environment: SearchPath.variables(of: daemon.environment), user: user ?? getuid(),
            desktopPaths: daemon.desktopDirectories, profilePaths: daemon.profileDirectories)
    }

    /// The PATH that systemd gives to services (systemd.exec(5), "Environment variables in spawned
    /// processes"), not that of a shell.
    private static let serviceSearchPath =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
