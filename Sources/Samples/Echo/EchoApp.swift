internal import ApplicationKit
internal import Glibc

/// Echo: sends back what it receives on a socket that greenroomd opens and hands over
/// (`LISTEN_FDS`, sd_listen_fds(3)). The first connection launches the app in the background. The
/// app has its own event loop, poll(2).
final class EchoApp: ApplicationDelegate {
    func application(
        _ application: Application, handleEventsFor reason: LaunchInfo.Reason,
        options: Application.LaunchOptions
    ) {
        log("resumed for \(reason)")
    }

    func applicationWillTerminate(_ application: Application) {
        log("ends after \(Server.shared.count) connections")
    }
}

@main enum Program {
    @MainActor static func main() {
        let application = ApplicationStart(EchoApp.self)
        application.processEvents()
        let server = Server.shared
        guard server.takeSockets() else {
            log("no socket was handed over: give the app's manifest a [Socket] ListenStream=")
            exit(64)
        }
        log("serves, launched \(application.launchInfo.reason)")
        while true {
            if server.wait(besides: application.channelDescriptor) { application.processEvents() }
        }
    }
}

func log(_ line: String) {
    var line = "echo: \(line)\n"
    line.withUTF8 { _ = unsafe write(2, $0.baseAddress, $0.count) }
}
