/// Writes a byte when its delegate is reached, to measure what linking ApplicationKit costs an app.
import ApplicationKit
import Glibc

@main final class KitApp: ApplicationDelegate {
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        var byte: UInt8 = 1
        write(1, &byte, 1)
        exit(0)
    }
}
